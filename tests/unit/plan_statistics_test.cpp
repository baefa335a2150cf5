// SPDX-License-Identifier: Apache-2.0
// Timing statistics: medians with intervals, ratios that say when nothing can be said.
#include "core/plan/statistics.h"

#include <gtest/gtest.h>

using namespace fuselage;

TEST(Statistics, SummaryIsTheMedianWithItsSpread) {
    TimingSummary s = summarise({5, 1, 3, 2, 4});
    EXPECT_DOUBLE_EQ(s.median, 3);
    EXPECT_LT(s.p10, s.p90);
    EXPECT_LE(s.low, s.median);
    EXPECT_GE(s.high, s.median);
    EXPECT_EQ(s.samples, 5U);
}

TEST(Statistics, NoSamplesGiveZeroSamplesNotATime) {
    EXPECT_EQ(summarise({}).samples, 0U);
}

TEST(Statistics, ARealDifferenceExcludesOne) {
    std::vector<double> before(20), after(20);
    for (size_t i = 0; i < 20; ++i) {
        before[i] = 1.0 + 0.001 * static_cast<double>(i);
        after[i] = 0.5 + 0.001 * static_cast<double>(i);
    }
    RatioSummary ratio = compareTimings(before, after);
    EXPECT_NEAR(ratio.ratio, 0.5, 0.01);
    EXPECT_LT(ratio.high, 1);
}

TEST(Statistics, EqualSamplesIncludeOne) {
    std::vector<double> samples{1.0, 1.1, 0.9, 1.05, 0.95, 1.02};
    RatioSummary ratio = compareTimings(samples, samples);
    EXPECT_LE(ratio.low, 1);
    EXPECT_GE(ratio.high, 1);
}
