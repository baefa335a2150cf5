// SPDX-License-Identifier: Apache-2.0
// Timing of two executables side by side in one run, within a budget.
#pragma once

#include "core/plan/backend.h"
#include "core/plan/statistics.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

struct MeasureOptions {
    double seconds = 3; ///< for all of it: warm-up, rounds of both sides, single steps
    uint32_t maxRounds = 200;
};

struct MeasuredSide {
    std::vector<double> totals;                   ///< seconds of each round
    bool byDevice = false;                        ///< totals are of the device's own clock
    std::vector<std::vector<double>> stepSeconds; ///< per step, one per round
    std::string stepNote;                         ///< how steps were timed; may be empty
    /// Per step, empty where the backend does not time single steps.
    std::vector<std::optional<IsolatedTimes>> isolated;
};

struct Measured {
    MeasuredSide before, after;
    std::optional<double> othersBusy; ///< cores that other processes used meanwhile
    std::vector<std::string> notes;   ///< what the budget had no room for
};

/// Seconds of one run, by the device's own clock where there is one.
struct RunSeconds {
    double seconds = 0;
    bool byDevice = false;
};

Result<RunSeconds> timeRun(Executable& executable, std::span<const Tensor> inputs,
                           Progress& progress);

/// One warm-up of each, two where they are short, then rounds before, after,
/// before, after ..., then rounds in which both sides are timed step by step, then steps by
/// themselves where the backend can. Nothing begins that would not end within the budget, as far as
/// earlier rounds tell; what is left out is noted. Only the warm-up is always made: where there is
/// room for nothing else, it is the measurement. Totals are timed without the per-step clock, by
/// the device's own clock where there is one. Where timing of steps fails, the totals stay and the
/// note says why.
Result<Measured> measure(Executable& before, Executable& after, std::span<const Tensor> inputs,
                         const MeasureOptions& options, Progress& progress);

} // namespace fuselage::app
