// SPDX-License-Identifier: Apache-2.0
#include "core/plan/statistics.h"

#include <algorithm>
#include <random>

namespace fuselage {

namespace {

constexpr int bootstrapRounds = 1000;

double quantile(const std::vector<double>& sorted, double q) {
    double position = q * static_cast<double>(sorted.size() - 1);
    auto below = static_cast<size_t>(position);
    size_t above = std::min(below + 1, sorted.size() - 1);
    double weight = position - static_cast<double>(below);
    return sorted[below] * (1 - weight) + sorted[above] * weight;
}

double medianOf(std::vector<double> values) {
    return quantileOf(std::move(values), 0.5);
}

/// The median of a sample drawn with replacement; the seed is fixed, so reports are reproducible.
double resampledMedian(const std::vector<double>& values, std::mt19937_64& random) {
    std::uniform_int_distribution<size_t> pick(0, values.size() - 1);
    std::vector<double> drawn(values.size());
    for (double& value : drawn)
        value = values[pick(random)];
    return medianOf(std::move(drawn));
}

} // namespace

double quantileOf(std::vector<double> values, double q) {
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    return quantile(values, q);
}

TimingSummary summarise(std::vector<double> seconds) {
    if (seconds.empty())
        return {};
    std::sort(seconds.begin(), seconds.end());
    TimingSummary out;
    out.samples = static_cast<uint32_t>(seconds.size());
    out.median = quantile(seconds, 0.5);
    out.p10 = quantile(seconds, 0.1);
    out.p90 = quantile(seconds, 0.9);
    std::mt19937_64 random(1);
    std::vector<double> medians(bootstrapRounds);
    for (double& median : medians)
        median = resampledMedian(seconds, random);
    std::sort(medians.begin(), medians.end());
    out.low = quantile(medians, 0.025);
    out.high = quantile(medians, 0.975);
    return out;
}

RatioSummary compareTimings(const std::vector<double>& before, const std::vector<double>& after) {
    if (before.empty() || after.empty())
        return {};
    std::mt19937_64 random(1);
    std::vector<double> ratios(bootstrapRounds);
    for (double& ratio : ratios)
        ratio = resampledMedian(after, random) / resampledMedian(before, random);
    std::sort(ratios.begin(), ratios.end());
    return {medianOf(after) / medianOf(before), quantile(ratios, 0.025), quantile(ratios, 0.975)};
}

} // namespace fuselage
