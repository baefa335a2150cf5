// SPDX-License-Identifier: Apache-2.0
// What a match gains, from the cost model: the plan of the nodes that it touches against the plan
// of what the rule makes of them; and what rules may know of the device. The bridge between
// core/rewrite, which does not see costs, and core/plan.
#pragma once

#include "core/cost/cost.h"
#include "core/plan/plan.h"
#include "core/rewrite/engine.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace fuselage::app {

/// The nodes that a match touches, as graphs with static shapes: as they are, and as the rule makes
/// them. Inputs of a fused side are alike.
struct GainSides {
    std::shared_ptr<const Graph> before, after;
    /// Of PlanOptions; an input that constants alone decide further up.
    std::set<std::string> fixedInputs = {};
};

struct MeasuredGain {
    double seconds = 0, error = 0; ///< before minus after; what runs differ by
};

/// `key` is the same for matches that are alike. None where they cannot run.
using GainMeasurer =
    std::function<std::optional<MeasuredGain>(const std::string& key, const GainSides& sides)>;

/// How matches are timed.
struct GainMeasuring {
    GainMeasurer measurer;   ///< none: nothing is
    bool whereClose = false; ///< every match that its prediction cannot judge, not only those of
                             ///< rules with `gate measured`
};

/// How both forms of a match are planned: as the whole model then is.
struct MatchPlanning {
    Precision precision = Precision::Fp32;
    bool strict = false;
    std::map<std::string, NumericClass> allowed = {}; ///< by rule, see PlanRequest
};

/// Gains of matches that are alike, for runs with one profile, one set of sizes, one way to plan
/// and one way to measure.
using KnownGains = std::unordered_map<std::string, Gain>;

/// With `gain` and `device` of this profile, which must outlive them. Both forms of a match are
/// planned as the fused model is, but for work that is moved between steps (PlanForm::recompute,
/// groupSmall): the whole plan decides that. Symbolic dimensions count as `dims` says, others as 1.
/// A body in several kernels gains what those save. Nodes that stay for readers outside are in both
/// plans: what a fused node computes again beside them, it pays. Of few nodes on a processor the
/// whole graph is planned, with the orders of memory that its plan will have; in larger ones the
/// steps around a match choose these with it.
EngineOptions engineOptions(const DeviceProfile& profile, std::map<std::string, int64_t> dims,
                            const MatchPlanning& planning, GainMeasuring measuring = {},
                            std::shared_ptr<KnownGains> known = {});

} // namespace fuselage::app
