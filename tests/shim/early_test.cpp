// SPDX-License-Identifier: Apache-2.0
// Early launches in the shim: a kernel that touches what kernels before it may write, or ends,
// without having waited for them, is stopped; so is a generated text whose wait is taken out.
#include "tests/shim/early_kernels.h"
#include "tests/shim/simt_launch.h"

#include <gtest/gtest.h>

namespace {

constexpr size_t threads = 128;

struct Ended {
    std::string message;
    std::vector<int> out;
    int closed = 0; ///< how often the gate was closed
};

/// Two blocks of 64 threads; a[1] is 1, 2, ... and a[2] 1000, 2000, ...
Ended runOf(void (*kernel)(void* const*), bool early = true, bool earlyCopies = false) {
    simt::GuardedMemory written(threads * 4), read(threads * 4), constants(threads * 4);
    for (int i = 0; i < static_cast<int>(threads); ++i) {
        reinterpret_cast<int*>(read.data())[i] = i + 1;
        reinterpret_cast<int*>(constants.data())[i] = 1000 * (i + 1);
    }
    void* const arguments[] = {written.data(), read.data(), constants.data()};
    simt::Launch launch{"early kernel", kernel, arguments, {2, 1, 1}, {64, 1, 1}, 256, earlyCopies};
    Ended out;
    if (early)
        launch.gate = [&](bool open) {
            written.setOpen(open);
            read.setOpen(open);
            out.closed += open ? 0 : 1;
        };
    out.message = simt::tryRun(launch).message;
    const auto* from = reinterpret_cast<const int*>(written.data()); // open, however it ended
    out.out.assign(from, from + threads);
    return out;
}

void expectSum(const Ended& run) {
    EXPECT_EQ(run.message, "");
    for (int i = 0; i < static_cast<int>(threads); ++i)
        EXPECT_EQ(run.out[static_cast<size_t>(i)], 1001 * (i + 1));
}

void expectTouched(const Ended& run) {
    EXPECT_NE(run.message.find("is touched without having waited for them"), std::string::npos)
        << run.message;
}

void expectNoWait(const Ended& run) {
    EXPECT_NE(run.message.find("ends without having waited"), std::string::npos) << run.message;
}

TEST(EarlyLaunch, aKernelThatWaitsFirstIsRight) {
    const Ended run = runOf(early::waitsFirst);
    expectSum(run);
    EXPECT_EQ(run.closed, 2); // once a block
}

TEST(EarlyLaunch, constantsMayBeReadBefore) {
    expectSum(runOf(early::readsConstantsBefore));
}

TEST(EarlyLaunch, threadsMayMeetBefore) {
    expectSum(runOf(early::meetsBefore));
}

TEST(EarlyLaunch, aKernelWithoutTheWaitIsFound) {
    expectNoWait(runOf(early::neverWaits));
}

TEST(EarlyLaunch, aThreadThatLeavesWithoutTheWaitIsFound) {
    const Ended run = runOf(early::oneThreadLeaves);
    expectNoWait(run);
    EXPECT_NE(run.message.find("block 1 thread 63"), std::string::npos) << run.message;
}

TEST(EarlyLaunch, aReadBeforeTheWaitIsFound) {
    expectTouched(runOf(early::readsBefore));
}

TEST(EarlyLaunch, aWriteBeforeTheWaitIsFound) {
    expectTouched(runOf(early::writesBefore));
}

TEST(EarlyLaunch, oneThreadIsEnough) {
    const Ended run = runOf(early::lastThreadReadsBefore);
    expectTouched(run);
    EXPECT_NE(run.message.find("block 1 thread 63"), std::string::npos) << run.message;
}

TEST(EarlyLaunch, theLineIsNamed) {
    if (std::system("addr2line --version >/dev/null 2>&1") != 0)
        GTEST_SKIP() << "addr2line is not installed";
    const std::string message = runOf(early::readsBefore).message;
    EXPECT_NE(message.find("`const int value = *mine(a, 1);`"), std::string::npos) << message;
}

TEST(EarlyLaunch, aCopyThatIsDoneBeforeTheWaitIsFound) {
    expectTouched(runOf(early::copiesBefore, true, true));
}

TEST(EarlyLaunch, aTicketBeforeTheWaitIsFound) {
    expectTouched(runOf(early::takesATicketBefore));
}

TEST(EarlyLaunch, whatIsNotLaunchedEarlyHasNothingToWaitFor) {
    for (auto* kernel : {early::waitsFirst, early::readsBefore, early::writesBefore})
        expectSum(runOf(kernel, false));
    EXPECT_EQ(runOf(early::neverWaits, false).message, "");
}

} // namespace
