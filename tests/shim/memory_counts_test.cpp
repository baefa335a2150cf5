// SPDX-License-Identifier: Apache-2.0
// The counting of memory traffic against figures that are known by hand.
#include "tests/shim/counted_kernels.h"
#include "tests/shim/memory_counts.h"
#include "tests/shim/simt_launch.h"

#include <gtest/gtest.h>

namespace {

simt::counts::Counts countsOf(void (*kernel)(void* const*), uint32_t blocks = 1) {
    alignas(128) static std::byte memory[8192];
    void* const arguments[] = {memory};
    simt::counts::begin({{memory, sizeof memory}});
    const simt::Outcome outcome =
        simt::tryRun({"counted kernel", kernel, arguments, {blocks, 1, 1}, {32, 1, 1}, 8192});
    EXPECT_TRUE(outcome.ok()) << outcome.message;
    return simt::counts::end();
}

TEST(MemoryCounts, lanesSideBySideAreOneRequestWithoutASectorTooMany) {
    const auto reads = countsOf(counted::sideBySide, 2).reads[0];
    EXPECT_EQ(reads.requests, 2U);
    EXPECT_EQ(reads.wide, 2U);
    EXPECT_EQ(reads.asked, 1024U);
    EXPECT_EQ(reads.sectors, 32U);
    EXPECT_EQ(reads.ideal, 32U);
    EXPECT_EQ(reads.distinct, 32U);
}

TEST(MemoryCounts, aByteOfEachSectorMovesAllSectors) {
    const auto writes = countsOf(counted::oneByte).writes[0];
    EXPECT_EQ(writes.requests, 1U);
    EXPECT_EQ(writes.wide, 0U);
    EXPECT_EQ(writes.asked, 32U);
    EXPECT_EQ(writes.sectors, 32U);
    EXPECT_EQ(writes.ideal, 1U);
}

TEST(MemoryCounts, gapsAreMovedToo) {
    const auto reads = countsOf(counted::everyOther).reads[0];
    EXPECT_EQ(reads.ideal, 4U);
    EXPECT_EQ(reads.sectors, 8U);
}

TEST(MemoryCounts, whatBlocksReadAgainIsDistinctOnce) {
    const auto reads = countsOf(counted::broadcast, 3).reads[0];
    EXPECT_EQ(reads.sectors, 3U);
    EXPECT_EQ(reads.ofBlocks, 3U);
    EXPECT_EQ(reads.distinct, 1U);
}

TEST(MemoryCounts, aLaneThatSkipsARoundIsNotPairedWithItsNextOne) {
    const auto reads = countsOf(counted::guardedRounds).reads[0];
    EXPECT_EQ(reads.requests, 2U);
    EXPECT_EQ(reads.sectors, 8U);
}

TEST(MemoryCounts, wordsOfOneBankTakeAWavefrontEach) {
    const auto writes = countsOf(counted::columns).sharedWrites;
    EXPECT_EQ(writes.requests, 1U);
    EXPECT_EQ(writes.wavefronts, 32U);
    EXPECT_EQ(writes.ideal, 1U);
    EXPECT_EQ(countsOf(counted::paddedColumns).sharedWrites.wavefronts, 1U);
}

TEST(MemoryCounts, sixteenBytesALaneAreFourWavefronts) {
    const auto reads = countsOf(counted::vectors).sharedReads;
    EXPECT_EQ(reads.requests, 1U);
    EXPECT_EQ(reads.wavefronts, 4U);
    EXPECT_EQ(reads.ideal, 4U);
}

TEST(MemoryCounts, rowsOfAMatrixInTheSameBanksConflict) {
    EXPECT_EQ(countsOf(counted::matrixRows).matrixReads.wavefronts, 32U);
    const auto swizzled = countsOf(counted::matrixRowsSwizzled);
    EXPECT_EQ(swizzled.matrixReads.requests, 1U);
    EXPECT_EQ(swizzled.matrixReads.wavefronts, 4U);
    EXPECT_EQ(swizzled.sharedReads.requests, 0U) << "the emulation's own reads are not counted";
}

TEST(MemoryCounts, copiesReadWhatLiesInsideAndWriteAll) {
    const auto counts = countsOf(counted::copies);
    EXPECT_EQ(counts.reads[0].asked, 256U);
    EXPECT_EQ(counts.reads[0].wide, 1U);
    EXPECT_EQ(counts.sharedWrites.requests, 1U);
    EXPECT_EQ(counts.sharedWrites.wavefronts, 4U);
}

TEST(MemoryCounts, nothingIsCountedUnlessAsked) {
    countsOf(counted::broadcast);
    EXPECT_FALSE(simt::counts::counting);
}

} // namespace
