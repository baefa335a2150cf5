// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/scatter.h"

#include "core/plan/statistics.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace fuselage::app {

namespace {

double kendallTau(const std::vector<ScatterPoint>& points) {
    int64_t agree = 0, differ = 0;
    for (size_t i = 0; i < points.size(); ++i)
        for (size_t j = i + 1; j < points.size(); ++j) {
            const double product = (points[i].predicted - points[j].predicted) *
                                   (points[i].measured - points[j].measured);
            agree += product > 0;
            differ += product < 0;
        }
    return agree + differ == 0
               ? 0
               : static_cast<double>(agree - differ) / static_cast<double>(agree + differ);
}

} // namespace

ScatterSummary summarise(const std::vector<ScatterPoint>& points) {
    double predicted = 0, measured = 0;
    std::vector<double> errors, ratios;
    for (const ScatterPoint& point : points) {
        predicted += point.predicted;
        measured += point.measured;
        if (point.measured > 0) {
            ratios.push_back(point.predicted / point.measured);
            errors.push_back(std::abs(ratios.back() - 1));
        }
    }
    return {measured > 0 ? predicted / measured : 0,
            quantileOf(std::move(errors), 0.5),
            quantileOf(ratios, 0.1),
            quantileOf(ratios, 0.5),
            quantileOf(ratios, 0.9),
            kendallTau(points)};
}

Result<std::vector<double>> fastestSteps(Executable& executable, std::span<const Tensor> inputs,
                                         double seconds, Progress& progress) {
    constexpr int leastRuns = 3;
    const auto start = std::chrono::steady_clock::now();
    std::vector<double> best;
    for (int run = 0;; ++run) {
        const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start;
        if (run >= leastRuns && since.count() > seconds)
            return best;
        if (progress.cancelled())
            return cancelledFailure("measuring");
        auto ran = executable.run(inputs, {.stepSeconds = true}, progress);
        if (!ran)
            return failure(ran.error());
        const std::vector<double>& taken = ran->stepSeconds;
        best.resize(taken.size(), taken.empty() ? 0 : std::numeric_limits<double>::infinity());
        for (size_t i = 0; i < taken.size(); ++i)
            best[i] = std::min(best[i], taken[i]);
    }
}

} // namespace fuselage::app
