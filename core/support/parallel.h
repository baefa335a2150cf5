// SPDX-License-Identifier: Apache-2.0
// A fixed pool of threads and one way to use it: split a range in chunks.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace fuselage {

/// Threads that wait for ranges to work on. One pool serves one backend instance.
class ThreadPool {
public:
    /// `threads` includes the calling thread; 0 asks the machine.
    explicit ThreadPool(int threads = 0);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const;

    /// Calls body(begin, end) over [0, count) in pieces of at least `grain`; returns when all are
    /// done. Exceptions must not leave body. Not reentrant from inside body.
    void forRange(size_t count, size_t grain, const std::function<void(size_t, size_t)>& body);

private:
    struct State;
    std::unique_ptr<State> m_state;
};

/// Hardware threads available to this process, at least 1.
int machineThreads();

} // namespace fuselage
