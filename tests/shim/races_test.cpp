// SPDX-License-Identifier: Apache-2.0
// The race check of the shim: races are found and both places named, what is ordered passes.
#include "tests/shim/racy_kernels.h"
#include "tests/shim/simt_launch.h"

#include <gtest/gtest.h>

namespace {

/// How a kernel ended in two blocks of 64 threads.
std::string endOf(void (*kernel)(void* const*), bool earlyCopies = false) {
    int out[64] = {};
    alignas(16) int words[4] = {7, 7, 7, 7};
    void* const arguments[] = {out, words};
    return simt::tryRun({"racy kernel", kernel, arguments, {2, 1, 1}, {64, 1, 1}, 512, earlyCopies})
        .message;
}

void expectRace(const std::string& message, const std::string& first, const std::string& second) {
    EXPECT_NE(message.find("a race in shared memory"), std::string::npos) << message;
    EXPECT_NE(message.find(first), std::string::npos) << message;
    EXPECT_NE(message.find(second), std::string::npos) << message;
}

TEST(Races, barriersOrderThreads) {
    EXPECT_EQ(endOf(racy::neighbourAfterBarrier), "");
}

TEST(Races, syncWarpOrdersLanes) {
    EXPECT_EQ(endOf(racy::laneAfterSyncWarp), "");
}

TEST(Races, neighboursMayWriteTheHalvesOfAWord) {
    EXPECT_EQ(endOf(racy::halvesOfAWord), "");
}

TEST(Races, aReadWithoutABarrierIsFound) {
    expectRace(endOf(racy::neighbourWithoutBarrier), "writes at", "reads at");
}

TEST(Races, bothPlacesAreNamedWithTheirLines) {
    if (std::system("addr2line --version >/dev/null 2>&1") != 0)
        GTEST_SKIP() << "addr2line is not installed";
    const std::string message = endOf(racy::neighbourWithoutBarrier);
    EXPECT_NE(message.find("`shared[threadIdx.x] = static_cast<int>(threadIdx.x);`"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("= shared[(threadIdx.x + 1) % blockDim.x];`"), std::string::npos)
        << message;
}

TEST(Races, aShuffleOrdersNothing) {
    expectRace(endOf(racy::laneAfterAShuffle), "writes at", "reads at");
}

TEST(Races, syncWarpDoesNotOrderOtherWarps) {
    expectRace(endOf(racy::otherWarpAfterSyncWarp), "writes at", "reads at");
}

TEST(Races, aWriteAfterAnotherThreadsReadIsFound) {
    expectRace(endOf(racy::overwrittenWhileRead), "reads at", "writes at");
}

TEST(Races, twoWritersAreFound) {
    expectRace(endOf(racy::twoWriters), "writes at", "writes at");
}

TEST(Races, aCopyMustBeWaitedForBeforeItsTargetIsRead) {
    for (const bool early : {false, true})
        expectRace(endOf(racy::copyReadBeforeItsWait, early), "copies asynchronously at",
                   "reads at");
}

TEST(Races, aBarrierMustFollowTheWaitForACopy) {
    for (const bool early : {false, true})
        expectRace(endOf(racy::copyReadWithoutBarrier, early), "writes at", "reads at");
}

} // namespace
