// SPDX-License-Identifier: Apache-2.0
// The convolution that stages its picture once: what its tiles move and multiply on an H200,
// counted. Mistakes in its text: mutants_test.cpp.
#include "gpu/kernels/conv_halo.h"
#include "tests/shim/suite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace {

using namespace fuselage;
using namespace fuselage::gpu_suite;

/// With wgmma_* a tile of results fetches its picture nine times, and the weights: 116 to 173 MB of
/// these sizes.
TEST(Halo, fetchesThePictureOfResnetLittleMoreThanOnceOnAnH200) {
    auto profile = deviceProfile("h200");
    ASSERT_TRUE(profile);
    const struct {
        int64_t channels, width;
        double most, clocks; ///< bytes; of a multiprocessor
    } sizes[] = {
        {64, 56, 40e6, 22e3}, {128, 28, 50e6, 20e3}, {256, 14, 60e6, 23e3}, {512, 7, 90e6, 33e3}};
    Case source;
    source.constants = "in1";
    source.capability = 90;
    source.placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    for (const auto& [channels, width, most, clocks] : sizes) {
        SCOPED_TRACE(channels);
        source.bodies = {fmt::format("(float16[32,{0},{1},{1}] x, float16[{0},{0},3,3] w) => "
                                     "(float16[32,{0},{1},{1}] y) "
                                     "{{ y = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) }}",
                                     channels, width)};
        Prepared prepared = prepare(source);
        ASSERT_TRUE(prepared.program);
        prepared.request.profile = &*profile;
        auto spec = gpu::convSpec(prepared.request);
        ASSERT_TRUE(std::holds_alternative<gpu::ConvSpec>(spec));
        auto made = gpu::haloShape(std::get<gpu::ConvSpec>(spec));
        ASSERT_TRUE(std::holds_alternative<gpu::HaloShape>(made));
        const auto& shape = std::get<gpu::HaloShape>(made);
        EXPECT_LT(shape.copiedBytes(), most);
        EXPECT_LT(gpu::haloClocks(shape, 132), clocks);
        EXPECT_LE(shape.residents * shape.sharedBytes(), 227 << 10);
    }
}

} // namespace
