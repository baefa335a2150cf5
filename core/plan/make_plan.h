// SPDX-License-Identifier: Apache-2.0
// From a graph with static shapes to its Plan, and what a person or a backend says about that.
#pragma once

#include "core/graph/run_shapes.h"
#include "core/plan/plan.h"

#include <map>
#include <memory>
#include <set>
#include <string>

namespace fuselage {

class Backend;

struct PlanOptions : PlanForm {
    const DeviceProfile* profile = nullptr; ///< required
    const Backend* backend = nullptr;       ///< null: plan for prediction only
    /// Tf32 lets contractions round float32 operands, except where a rule asks for exact or wider.
    /// 16-bit precisions are recorded; the graph must have been converted
    /// (core/passes/precision.h).
    Precision precision = Precision::Fp32;
    bool strict = false; ///< every step is exact (N0)
    /// Inputs that are the same in every run, for prediction: of a part of a graph, what the graph
    /// around it computes from constants alone.
    std::set<std::string> fixedInputs = {};
    /// What a run showed, for prediction: how often a Loop goes round whose trip count is no
    /// constant; null: once.
    const RunShapes* shown = nullptr;
    /// Inputs without static shapes are values of the host, as inner values are whose shapes depend
    /// on data; false: an error.
    bool openInputs = false;
};

/// Orders, lowers, splits what does not lower, decides views, layouts and buffers. The shapes
/// of inputs must be static (bindAllDimensions) unless options.openInputs. Error "plan.dynamic"
/// names the first that is not.
Result<std::shared_ptr<const Plan>> makePlan(std::shared_ptr<const Graph> graph,
                                             const PlanOptions& options, Progress& progress);

} // namespace fuselage
