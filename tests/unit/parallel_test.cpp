// SPDX-License-Identifier: Apache-2.0
#include "core/support/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

using namespace fuselage;

/// What the others work on is the caller's: it may not leave before they are done.
TEST(ThreadPool, AnExceptionOfTheCallerWaitsForTheOthers) {
    ThreadPool pool(4);
    const std::thread::id caller = std::this_thread::get_id();
    for (int round = 0; round < 200; ++round) {
        std::atomic<int> running = 0, begun = 0;
        std::atomic<bool> isCallerIn = false;
        const auto body = [&](size_t, size_t) {
            ++running;
            if (std::this_thread::get_id() == caller) {
                isCallerIn = true;
                while (begun == 0)
                    std::this_thread::yield();
                --running;
                throw std::runtime_error("mine");
            }
            ++begun;
            while (!isCallerIn)
                std::this_thread::yield();
            for (int i = 0; i < 100; ++i)
                std::this_thread::yield();
            --running;
        };
        EXPECT_THROW(pool.forRange(1000, 1, body), std::runtime_error);
        EXPECT_EQ(running, 0);
        std::atomic<size_t> sum = 0;
        pool.forRange(1000, 1, [&](size_t begin, size_t end) { sum += end - begin; });
        EXPECT_EQ(sum, 1000U);
    }
}
