// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/pages.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace fuselage::cpu {

namespace {

constexpr size_t hugeBytes = size_t{2} << 20;
constexpr size_t leastChunk = size_t{64} << 10, mostChunk = size_t{16} << 20;
constexpr size_t smallPage = 4096;

size_t roundUp(size_t bytes, size_t to) {
    return (bytes + to - 1) / to * to;
}

/// Alignment and what is known to be held, for as long as the memory lives.
struct Release {
    size_t alignment;
    std::shared_ptr<HeldMemory> held;

    void operator()(const std::byte* memory) const {
        ::operator delete(const_cast<std::byte*>(memory), std::align_val_t(alignment));
    }
};

std::shared_ptr<std::byte> allocated(size_t size) {
    const bool isHuge = size >= hugeBytes;
    const size_t alignment = isHuge ? hugeBytes : smallPage;
    auto* memory = static_cast<std::byte*>(::operator new(size, std::align_val_t(alignment)));
    std::shared_ptr<std::byte> out(
        memory, Release{alignment, std::make_shared<HeldMemory>(static_cast<int64_t>(size))});
    if (isHuge)
        (void)madvise(memory, size, MADV_HUGEPAGE); // a wish: without it the memory works as well
    return out;
}

/// To whole pages of the kind that so much gets.
size_t wholePages(size_t bytes) {
    return roundUp(bytes, bytes >= hugeBytes ? hugeBytes : smallPage);
}

} // namespace

SharedPages::Filled SharedPages::once(Filled made, size_t bytes) {
    const std::lock_guard lock(m_mutex);
    const auto [first, last] = m_known.equal_range(bytes);
    for (auto known = first; known != last;) {
        const Filled other = known->second.lock();
        if (!other) {
            known = m_known.erase(known);
            continue;
        }
        if (std::memcmp(other.get(), made.get(), bytes) == 0)
            return other;
        ++known;
    }
    m_known.emplace(bytes, made);
    return made;
}

/// Small plans stay small, since a loop may keep one for each iteration: as much again as there is,
/// and whole huge pages from the first one on that would be full.
void Pages::grow(size_t least) {
    const size_t size = wholePages(std::max(least, std::clamp(m_total, leastChunk, mostChunk)));
    const std::shared_ptr<std::byte> chunk = allocated(size);
    m_next = chunk.get();
    m_chunks.push_back(chunk);
    m_total += size;
    m_left = size;
}

std::byte* Pages::take(size_t bytes) {
    const size_t rounded = roundUp(std::max<size_t>(bytes, 1), 64);
    if (rounded > m_left)
        grow(rounded);
    std::byte* out = m_next;
    m_next += rounded;
    m_left -= rounded;
    return out;
}

const std::byte* Pages::filled(size_t bytes, const std::function<void(std::byte*)>& fill) {
    if (!m_shared || bytes == 0) {
        std::byte* out = take(bytes);
        fill(out);
        return out;
    }
    std::shared_ptr<std::byte> made = allocated(wholePages(bytes));
    fill(made.get());
    m_chunks.push_back(m_shared->once(std::move(made), bytes));
    return m_chunks.back().get();
}

} // namespace fuselage::cpu
