// SPDX-License-Identifier: Apache-2.0
// Timing of two executables side by side in one run.
#pragma once

#include "core/plan/backend.h"
#include "core/plan/statistics.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

struct MeasureOptions {
    double seconds = 3; ///< budget for both sides together
    uint32_t minRounds = 7;
    uint32_t maxRounds = 200;
};

struct MeasuredSide {
    std::vector<double> totals;                   ///< seconds of each round
    std::vector<std::vector<double>> stepSeconds; ///< per step, one per round
    std::string stepNote;                         ///< how steps were timed; may be empty
    /// Per step, empty where the backend does not time single steps.
    std::vector<std::optional<IsolatedTimes>> isolated;
};

struct Measured {
    MeasuredSide before, after;
    std::optional<double> othersBusy; ///< cores that other processes used meanwhile
};

/// One warm-up of each, then rounds before, after, before, after ... until the budget is spent.
/// Totals are timed without the per-step clock, by the device's own clock where there is one; a few
/// more rounds collect step times. Where those fail, the totals stay and the note says why.
Result<Measured> measure(Executable& before, Executable& after, std::span<const Tensor> inputs,
                         const MeasureOptions& options, Progress& progress);

} // namespace fuselage::app
