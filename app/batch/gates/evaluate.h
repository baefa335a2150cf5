// SPDX-License-Identifier: Apache-2.0
// What gates say of a run: exact metrics by their numbers, measured ones by intervals, never across
// devices, and only after fresh processes agree, where there can be some.
#pragma once

#include "app/batch/gates/gate.h"
#include "app/batch/gates/metric.h"
#include "app/report/run_report.h"
#include "core/support/function_ref.h"

#include <string>
#include <vector>

namespace fuselage::batch {

enum class Change : uint8_t { Same, Faster, Slower, Ambiguous };

const char* nameOf(Change change);

/// Of a metric for which more is worse, unless it says otherwise. Slower or Faster: the intervals
/// are apart, the medians differ by more than `relative` and by more than `absolute`. Same: the
/// whole interval of the change lies within the limits. Else Ambiguous.
Change compareTimes(const MetricValue& base, const MetricValue& now, double relative,
                    double absolute);

/// What is known of one model from before.
struct Baseline {
    app::Report report;
    std::vector<double> history; ///< earlier medians of e2e_us, for the noise floor
    /// Of a model of this name and another structure: shown, and no judge. Gates on what changed
    /// fail with Policy::Fail, else they warn at most.
    bool isOfOtherStructure = false;
};

enum class Policy : uint8_t { Fail, Lenient, Create }; ///< when a model has no baseline

struct Judging {
    std::vector<Gate> gates;
    Policy policy = Policy::Fail;
    /// The baseline of a model; empty: there is none.
    FunctionRef<std::optional<Baseline>(const app::ModelRun& model)> baseline;
    /// The model in a fresh process; empty: cannot be had.
    FunctionRef<std::optional<app::Report>(const app::ModelRun& model)> again;
    /// Nothing can run again. Instead of fresh processes the whole interval of the change, above
    /// the limits, confirms that a time is slower.
    bool finished = false;
    std::string noBaseline = "there is no baseline"; ///< what rows say of a model without one
};

/// The value lies between `min` and `max`, as far as the gate has them; what is no number does not.
bool isWithinBounds(const Gate& gate, double value);

/// Appends the rows of all gates, and their reasons: "gate:ID", "expect:ID", "time:ID". Gates of
/// a file on models that did not run and on what was not measured are skipped; conditions on those
/// fail.
void judge(const Judging& judging, app::RunReport& run);

/// Three standard deviations of what was measured before, relative to their median; 0 with fewer
/// than three.
double noiseFloor(const std::vector<double>& history);

/// "" when times of both were measured on the same device; else what differs.
std::string deviceDifference(const app::Report& base, const app::Report& now);

} // namespace fuselage::batch
