// SPDX-License-Identifier: Apache-2.0
// What the depthwise kernel of ConvNeXt issues, counted in its loops: a bound, not a measurement.
#include "gpu/kernels/depthwise.h"
#include "tests/shim/suite.h"

#include <gtest/gtest.h>

namespace {

using namespace fuselage;

gpu_suite::Prepared convnextCase() {
    for (const gpu_suite::Case& source : gpu_suite::cases())
        if (source.name == "depthwise_convnext")
            return gpu_suite::prepare(source);
    return {};
}

TEST(Depthwise, sevenBySevenIssuesForLessThanTwentyFiveMicrosecondsOnAnH200) {
    gpu_suite::Prepared prepared = convnextCase();
    ASSERT_TRUE(prepared.program);
    auto profile = deviceProfile("h200");
    ASSERT_TRUE(profile);
    prepared.request.profile = &*profile;
    auto spec = gpu::convSpec(prepared.request);
    ASSERT_TRUE(std::holds_alternative<gpu::ConvSpec>(spec));
    auto shape = gpu::depthwiseShape(std::get<gpu::ConvSpec>(spec));
    ASSERT_TRUE(std::holds_alternative<gpu::DepthwiseShape>(shape));
    const double each = std::get<gpu::DepthwiseShape>(shape).instructionsPerResult;
    const double results = 32.0 * 96 * 56 * 56;
    // Nine of ten issue slots, as the time model of core/cost takes them.
    const double seconds =
        results * each / (profile->units * profile->lanesPerUnit * profile->clock * 0.9);
    EXPECT_GT(each, 49) << "49 multiply-adds are a part of it";
    EXPECT_LT(seconds, 25e-6) << each << " lane instructions a result";
    const double bytes = 2 * (2 * results + 96 * 50);
    EXPECT_LT(results * each / bytes, 19) << "lane instructions a byte";
}

TEST(Depthwise, aWiderPatchReadsEachElementFewerTimes) {
    gpu_suite::Prepared prepared = convnextCase();
    ASSERT_TRUE(prepared.program);
    auto made = gpu::convSpec(prepared.request);
    const auto& spec = std::get<gpu::ConvSpec>(made);
    gpu::DepthwiseShape narrow{2, 1, 1, 48, 5, true, 0, 0}, wide{2, 8, 2, 48, 5, true, 0, 0};
    EXPECT_GT(gpu::depthwiseInstructions(spec, narrow), 2 * gpu::depthwiseInstructions(spec, wide));
    EXPECT_EQ(gpu::depthwiseColumns(spec, 8).size(), 14U);
}

} // namespace
