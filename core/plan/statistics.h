// SPDX-License-Identifier: Apache-2.0
// Statistics of repeated timings: median with spread, and comparisons by interval. Absolute times
// on a shared machine are noise, so nothing here reports a mean.
#pragma once

#include <cstdint>
#include <vector>

namespace fuselage {

/// Order statistics of seconds; all zero when there are no samples.
struct TimingSummary {
    double median = 0;
    double p10 = 0, p90 = 0;
    double low = 0, high = 0; ///< 95 % bootstrap interval of the median
    uint32_t samples = 0;
    std::vector<double> kept = {}; ///< the samples in their order, where someone keeps them
};

TimingSummary summarise(std::vector<double> seconds);

/// The q-quantile (0.5: the median) without an interval; 0 when there are no values.
double quantileOf(std::vector<double> values, double q);

/// Ratio of medians after/before with its 95 % bootstrap interval; samples must be from
/// interleaved rounds of one run.
struct RatioSummary {
    double ratio = 0;
    double low = 0, high = 0;
};

RatioSummary compareTimings(const std::vector<double>& before, const std::vector<double>& after);

} // namespace fuselage
