// SPDX-License-Identifier: Apache-2.0
// Blocks on a multiprocessor, against the tables that NVIDIA publishes for its occupancy figures.
#include "gpu/runtime/occupancy.h"

#include <gtest/gtest.h>

namespace {

using namespace fuselage;
using namespace fuselage::gpu;

Occupancy of(const char* device, uint32_t capability, uint32_t threads, uint32_t registers,
             uint32_t shared) {
    auto profile = deviceProfile(device);
    EXPECT_TRUE(profile) << device;
    KernelText kernel;
    kernel.block = {threads, 1, 1};
    kernel.sharedBytes = shared;
    CompiledKernel compiled;
    compiled.registers = registers;
    return occupancyOf(kernel, compiled, smLimits(*profile, capability));
}

TEST(GpuOccupancy, ThreadsLimitSmallKernels) {
    EXPECT_EQ(of("h200", 90, 256, 32, 0).blocks, 8U);
    EXPECT_DOUBLE_EQ(of("h200", 90, 256, 32, 0).share, 1);
    EXPECT_EQ(of("t4", 75, 256, 32, 0).blocks, 4U);
}

TEST(GpuOccupancy, RegistersComeInPiecesOfAWarp) {
    // 33 registers take 40: 12 warps of a quarter of the file, 6 blocks of 8 warps.
    EXPECT_EQ(of("h200", 90, 256, 33, 0).blocks, 6U);
    EXPECT_DOUBLE_EQ(of("h200", 90, 256, 33, 0).share, 0.75);
    EXPECT_EQ(of("h200", 90, 256, 128, 0).blocks, 2U);
    EXPECT_EQ(of("h200", 90, 256, 255, 0).blocks, 1U);
    EXPECT_EQ(of("h200", 90, 512, 255, 0).blocks, 0U) << "it cannot be launched";
}

TEST(GpuOccupancy, SharedMemoryHoldsAPieceOfTheSystemInEachBlock) {
    // 228 KiB: twice 113 KiB with one of the system each.
    EXPECT_EQ(of("h200", 90, 128, 32, 113 << 10).blocks, 2U);
    EXPECT_EQ(of("h200", 90, 128, 32, (113 << 10) + 1).blocks, 1U);
    EXPECT_EQ(of("t4", 75, 128, 32, 32 << 10).blocks, 2U) << "none before sm_80";
}

TEST(GpuOccupancy, NumbersOfBlocksAreLimitedToo) {
    EXPECT_EQ(of("h200", 90, 32, 16, 0).blocks, 32U);
    EXPECT_EQ(of("l4", 89, 32, 16, 0).blocks, 24U);
    EXPECT_EQ(of("a10", 86, 32, 16, 0).blocks, 16U);
    EXPECT_DOUBLE_EQ(of("h200", 90, 32, 16, 0).share, 0.5);
}

TEST(GpuOccupancy, AProfileThatDoesNotSayGivesNone) {
    EXPECT_EQ(of("cpu", 90, 256, 32, 0).blocks, 0U);
}

} // namespace
