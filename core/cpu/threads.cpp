// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/threads.h"

#include "core/support/parallel.h"

#include <algorithm>
#include <new>
#include <omp.h>
#include <sys/mman.h>

namespace fuselage::cpu {

namespace {

constexpr size_t hugePageBytes = size_t{2} << 20;

} // namespace

void Scratch::Free::operator()(std::byte* memory) const {
    ::operator delete(memory, std::align_val_t(hugePageBytes));
}

std::byte* Scratch::reserve(size_t bytes) {
    if (bytes > m_size) {
        m_memory.reset();
        m_size = 0;
        if (bytes >= hugePageBytes) // a part of a huge page would lie in small ones
            bytes = (bytes + hugePageBytes - 1) / hugePageBytes * hugePageBytes;
        auto* memory =
            static_cast<std::byte*>(::operator new(bytes, std::align_val_t(hugePageBytes)));
        m_memory.reset(memory);
        if (bytes >= hugePageBytes)
            (void)madvise(memory, bytes, MADV_HUGEPAGE); // a wish: without it the memory works, too
        m_size = bytes;
    }
    return m_memory.get();
}

Threads::Threads(int threads, std::shared_ptr<SharedPages> shared)
    : m_scratch(static_cast<size_t>(threads > 0 ? threads : machineThreads())),
      m_pages(std::move(shared)) {}

void Threads::activate() const {
    omp_set_num_threads(count());
}

Threads::Alone::Alone(const Threads& threads, bool wanted)
    : m_threads(wanted && threads.count() > 1 ? &threads : nullptr) {
    if (m_threads)
        omp_set_num_threads(1);
}

Threads::Alone::~Alone() {
    if (m_threads)
        m_threads->activate();
}

void Threads::forRange(size_t count, size_t grain, const Body& body) const {
    if (count == 0)
        return;
    if (omp_in_parallel()) // a loop within a loop: this worker does all of it
        return body(m_scratch.size() == 1 ? 0 : static_cast<size_t>(omp_get_thread_num()), 0,
                    count);
    size_t workers = std::min(m_scratch.size(), count / std::max<size_t>(grain, 1));
    if (workers <= 1) {
        body(0, 0, count);
        return;
    }
#pragma omp parallel num_threads(static_cast <int>(workers))
    {
        // The runtime may give fewer threads than asked for, so each takes every n-th part.
        auto self = static_cast<size_t>(omp_get_thread_num());
        auto team = static_cast<size_t>(omp_get_num_threads());
        for (size_t part = self; part < workers; part += team)
            body(self, count * part / workers, count * (part + 1) / workers);
    }
}

} // namespace fuselage::cpu
