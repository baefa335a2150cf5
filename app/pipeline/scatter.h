// SPDX-License-Identifier: Apache-2.0
// Predicted against measured seconds of kernels: what a cost model is judged by.
#pragma once

#include "core/plan/backend.h"

#include <span>
#include <string>
#include <vector>

namespace fuselage::app {

/// One kernel.
struct ScatterPoint {
    std::string name, kind;
    double predicted = 0, measured = 0; ///< seconds
};

struct ScatterSummary {
    double total = 1;                     ///< sum of predictions over sum of measurements
    double medianError = 0;               ///< of |predicted / measured - 1|
    double low = 1, median = 1, high = 1; ///< 10th, 50th, 90th percentile of predicted / measured
    double tau = 0; ///< Kendall's rank correlation, ties count for neither side
};

ScatterSummary summarise(const std::vector<ScatterPoint>& points);

/// Seconds of each step of an executable: the fastest of all runs within `seconds`, at least three.
/// The fastest, since what shares the machine only ever adds.
Result<std::vector<double>> fastestSteps(Executable& executable, std::span<const Tensor> inputs,
                                         double seconds, Progress& progress);

} // namespace fuselage::app
