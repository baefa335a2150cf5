// SPDX-License-Identifier: Apache-2.0
// From a graph with static shapes to its Plan, and what a person or a backend says about that.
#pragma once

#include "core/plan/plan.h"

#include <map>
#include <memory>
#include <string>

namespace fuselage {

class Backend;

struct PlanOptions {
    const DeviceProfile* profile = nullptr; ///< required
    const Backend* backend = nullptr;       ///< null: plan for prediction only
    bool reuseMemory = true;
    /// Transpose, Slice, Split and Concat as views; false: one kernel each.
    bool stridedViews = true;
    /// Cheap work with several readers is done again in each, and Casts by what makes or reads
    /// their operand, where that is predicted to be faster.
    bool recompute = false;
    /// Products of one operand become one, and on a GPU small independent steps share a launch,
    /// where the cost model says that it pays. Not in strict plans or without strided views.
    bool groupSmall = false;
    /// Steps run for a few images at a time where the backend can and the cost model says that it
    /// pays; false: each step for the whole batch.
    bool sweeps = false;
    /// Tf32 lets contractions round float32 operands, except where a rule asks for exact or wider.
    /// 16-bit precisions are recorded; the graph must have been converted
    /// (core/passes/precision.h).
    Precision precision = Precision::Fp32;
    bool strict = false; ///< every step is exact (N0)
    /// Worst class of each rule by name; reassociated where absent.
    std::map<std::string, NumericClass> allowed = {};
};

/// Orders, lowers, splits what does not lower, decides views, layouts and buffers. Every shape of
/// the graph must be static (bindAllDimensions). Error "plan.dynamic" names the first value that is
/// not.
Result<std::shared_ptr<const Plan>> makePlan(std::shared_ptr<const Graph> graph,
                                             const PlanOptions& options, Progress& progress);

} // namespace fuselage
