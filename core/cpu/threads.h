// SPDX-License-Identifier: Apache-2.0
// Parallel loops of the cpu backend, run by OpenMP because oneDNN is: two pools whose threads both
// spin would fight for the cores. Inside such a loop oneDNN primitives run on one thread.
#pragma once

#include "core/cpu/pages.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace fuselage::cpu {

/// 64-byte aligned memory that only grows; contents do not survive growth.
class Scratch {
public:
    std::byte* reserve(size_t bytes);

private:
    struct Free {
        void operator()(std::byte* memory) const;
    };

    std::unique_ptr<std::byte, Free> m_memory;
    size_t m_size = 0;
};

class Threads {
public:
    /// 0 takes all of the machine.
    explicit Threads(int threads, std::shared_ptr<SharedPages> shared = nullptr);

    int count() const { return static_cast<int>(m_scratch.size()); }

    /// Makes this thread's OpenMP regions (oneDNN's too) use count() threads.
    void activate() const;

    /// While it lives, and where it is wanted, oneDNN prepares and runs primitives on one thread.
    class Alone {
    public:
        explicit Alone(const Threads& threads, bool wanted = true);
        ~Alone();
        Alone(const Alone&) = delete;
        Alone& operator=(const Alone&) = delete;

    private:
        const Threads* m_threads; ///< null: not wanted
    };

    using Body = std::function<void(size_t worker, size_t begin, size_t end)>;
    /// Calls body over contiguous parts of [0, count), at most one a worker, none smaller than
    /// `grain` unless it is the only one. Within another body: one call, by the same worker; where
    /// count() is 1 it is worker 0, whoever calls, since such threads belong to one caller.
    void forRange(size_t count, size_t grain, const Body& body) const;

    /// Memory of one worker, for use within one call of a body.
    Scratch& scratch(size_t worker) { return m_scratch[worker]; }

    /// Memory of the thread that runs the plan, for use within one step.
    Scratch& stepScratch() { return m_stepScratch; }

    /// For what a kernel hands to another one of the same step.
    Scratch& handedScratch() { return m_handedScratch; }

    /// For what a pointwise kernel computes before its tiles.
    Scratch& partScratch() { return m_partScratch; }

    /// Memory of what is prepared: packed weights, the arena.
    Pages& pages() { return m_pages; }

private:
    std::vector<Scratch> m_scratch;
    Scratch m_stepScratch, m_handedScratch, m_partScratch;
    Pages m_pages;
};

} // namespace fuselage::cpu
