// SPDX-License-Identifier: Apache-2.0
#include "core/support/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <sched.h>
#include <thread>
#include <vector>

namespace fuselage {

struct ThreadPool::State {
    std::vector<std::thread> workers;
    std::mutex mutex;
    std::condition_variable wake;
    std::condition_variable finished;
    const std::function<void(size_t, size_t)>* body = nullptr;
    std::atomic<size_t> next{0};
    size_t count = 0;
    size_t piece = 1;
    size_t generation = 0;
    int busy = 0;
    bool stopping = false;

    void work() {
        for (;;) {
            size_t begin = next.fetch_add(piece);
            if (begin >= count)
                return;
            (*body)(begin, std::min(begin + piece, count));
        }
    }

    void loop() {
        size_t seen = 0;
        std::unique_lock lock(mutex);
        for (;;) {
            wake.wait(lock, [&] { return stopping || generation != seen; });
            if (stopping)
                return;
            seen = generation;
            lock.unlock();
            work();
            lock.lock();
            if (--busy == 0)
                finished.notify_one();
        }
    }
};

ThreadPool::ThreadPool(int threads) : m_state(std::make_unique<State>()) {
    int total = threads > 0 ? threads : machineThreads();
    for (int i = 1; i < total; ++i)
        m_state->workers.emplace_back([this] { m_state->loop(); });
}

ThreadPool::~ThreadPool() {
    {
        std::lock_guard lock(m_state->mutex);
        m_state->stopping = true;
    }
    m_state->wake.notify_all();
    for (std::thread& worker : m_state->workers)
        worker.join();
}

int ThreadPool::threads() const {
    return static_cast<int>(m_state->workers.size()) + 1;
}

void ThreadPool::forRange(size_t count, size_t grain,
                          const std::function<void(size_t, size_t)>& body) {
    if (count == 0)
        return;
    grain = std::max<size_t>(grain, 1);
    if (m_state->workers.empty() || count <= grain) {
        body(0, count);
        return;
    }
    State& state = *m_state;
    {
        std::lock_guard lock(state.mutex);
        auto pieces = static_cast<size_t>(threads()) * 4;
        state.body = &body;
        state.count = count;
        state.piece = std::max(grain, (count + pieces - 1) / pieces);
        state.next.store(0);
        state.busy = static_cast<int>(state.workers.size());
        ++state.generation;
    }
    state.wake.notify_all();
    std::exception_ptr
        thrown; // e.g. std::bad_alloc; the others still use body and what it refers to
    try {
        state.work();
    } catch (...) {
        thrown = std::current_exception();
        state.next.store(count);
    }
    std::unique_lock lock(state.mutex);
    state.finished.wait(lock, [&] { return state.busy == 0; });
    if (thrown)
        std::rethrow_exception(thrown);
}

int machineThreads() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return std::max(1, CPU_COUNT(&set));
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

} // namespace fuselage
