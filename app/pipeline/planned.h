// SPDX-License-Identifier: Apache-2.0
// The last part of the road from a model to something that runs (prepared.h has the first): one
// side of a comparison, planned for a device. What tells the sides apart is written here, once.
#pragma once

#include "core/graph/run_shapes.h"
#include "core/plan/backend.h"
#include "core/plan/make_plan.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <map>
#include <memory>
#include <string>

namespace fuselage::app {

/// How a graph is planned.
enum class Form : uint8_t {
    Unfused, ///< the baseline: one kernel for each node
    Fused,   ///< views, shared work done again, groups of small steps and sweeps besides
};

struct PlanRequest {
    const DeviceProfile* profile = nullptr; ///< required
    const Backend* backend = nullptr;       ///< chooses layouts; null: for prediction only
    Precision precision = Precision::Fp32;  ///< that the graph was prepared for
    bool strict = false;                    ///< every step is exact
    /// Worst class of each rule by name; reassociated where absent.
    std::map<std::string, NumericClass> allowed = {};
    const RunShapes* shapes = nullptr; ///< that a run showed, to plan for such data
};

/// What the planner is asked; no shapes of runs.
PlanOptions planOptions(Form form, const PlanRequest& request);

struct Planned {
    std::shared_ptr<const Graph> graph; ///< that was planned, before any node was split
    std::shared_ptr<const Plan> plan;
    AssumedShapes assumed; ///< taken from PlanRequest::shapes
};

/// `graph`: with numbers for the dimensions of its inputs (withSizes). Errors: those of makePlan
/// and specialise.
Result<Planned> planSide(std::shared_ptr<const Graph> graph, Form form, const PlanRequest& request,
                         Progress& progress);

} // namespace fuselage::app
