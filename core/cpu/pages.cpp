// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/pages.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace fuselage::cpu {

namespace {

constexpr size_t pageBytes = size_t{2} << 20;
constexpr size_t chunkBytes = size_t{16} << 20;

size_t roundUp(size_t bytes, size_t to) {
    return (bytes + to - 1) / to * to;
}

} // namespace

void Pages::Free::operator()(std::byte* memory) const {
    ::operator delete(memory, std::align_val_t(pageBytes));
}

std::byte* Pages::take(size_t bytes) {
    size_t rounded = roundUp(std::max<size_t>(bytes, 1), 64);
    if (rounded > m_left) {
        // Small plans stay small: the first chunk is as large as what is asked for.
        size_t size = roundUp(rounded, pageBytes);
        if (!m_chunks.empty())
            size = std::max(size, chunkBytes);
        auto* memory = static_cast<std::byte*>(::operator new(size, std::align_val_t(pageBytes)));
        m_chunks.emplace_back(memory);
        m_held.emplace_back(static_cast<int64_t>(size));
        (void)madvise(memory, size, MADV_HUGEPAGE); // a wish: without it the memory works as well
        m_next = memory;
        m_left = size;
    }
    std::byte* out = m_next;
    m_next += rounded;
    m_left -= rounded;
    return out;
}

} // namespace fuselage::cpu
