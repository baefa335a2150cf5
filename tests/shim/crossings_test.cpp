// SPDX-License-Identifier: Apache-2.0
// The check of what blocks pass to each other: each step that orders them is needed, and all of
// them are enough.
#include "tests/shim/crossing_kernels.h"
#include "tests/shim/simt_launch.h"

#include <gtest/gtest.h>

#include <numeric>

namespace {

struct Memory {
    int out[64] = {}, passed[192] = {};
    unsigned ticket = 0;
};

/// How a kernel ended in blocks of 64 threads.
std::string endOf(void (*kernel)(void* const*), Memory& memory, unsigned blocks, bool lastFirst) {
    void* const arguments[] = {memory.out, memory.passed, &memory.ticket};
    simt::Launch launch{"crossing kernel", kernel, arguments, {blocks, 1, 1}, {64, 1, 1}, 512};
    launch.lastBlockFirst = lastFirst;
    launch.passed = memory.passed;
    launch.passedBytes = sizeof memory.passed;
    return simt::tryRun(launch).message;
}

TEST(Crossings, theLastBlockSeesAllInOneOrderWhoeverIsLast) {
    for (const bool lastFirst : {false, true}) {
        Memory memory;
        EXPECT_EQ(endOf(crossing::lastBlockAddsAll, memory, 3, lastFirst), "");
        for (const int sum : memory.out)
            EXPECT_EQ(sum, 123);
        EXPECT_EQ(memory.ticket, 0U); // for another launch
        EXPECT_EQ(endOf(crossing::lastBlockAddsAll, memory, 3, !lastFirst), "");
        EXPECT_EQ(std::accumulate(memory.out, memory.out + 64, 0), 64 * 123123);
    }
}

TEST(Crossings, eachMissingStepIsFound) {
    for (auto* kernel :
         {crossing::readWithoutTicket, crossing::ticketBeforeTheWrite, crossing::ticketWithoutFence,
          crossing::ticketWithoutBarrier, crossing::readWithoutFence, crossing::readWithoutBarrier,
          crossing::overwriteOfAnotherBlocks})
        for (const bool lastFirst : {false, true}) {
            Memory memory;
            const std::string message = endOf(kernel, memory, 2, lastFirst);
            EXPECT_NE(message.find("a race between blocks"), std::string::npos) << message;
            EXPECT_NE(message.find("of another one writes at"), std::string::npos) << message;
        }
}

} // namespace
