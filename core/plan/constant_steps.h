// SPDX-License-Identifier: Apache-2.0
// What is the same in every run: constants, and what steps compute from constants alone. Backends
// compute that once, while they prepare; so no run pays for it, and no prediction counts it.
#pragma once

#include "core/plan/make_plan.h"
#include "core/plan/plan.h"

#include <functional>
#include <vector>

namespace fuselage::planner {

/// By ValueId: constants that hold for all runs, values that `isGiven` calls so, and what nodes
/// make of nothing else. Nodes with bodies, and those without operands, make none.
std::vector<bool> fixedValues(const Graph& graph, const std::function<bool(ValueId)>& isGiven);

/// Given are the inputs that the options call fixed; constants alone for a backend that prepares
/// nothing else.
std::vector<bool> fixedValues(const Graph& graph, const PlanOptions& options);

/// Whether constants alone decide the value, a few nodes away: what dequantises a weight, mostly.
bool isFixedNearby(const Graph& graph, ValueId value);

/// Whether a backend computes these results of one step while preparing; `fixed` as above. Outputs
/// of the graph are made in every run.
bool areOnce(const Graph& graph, const std::vector<bool>& fixed,
             const std::vector<ValueId>& results);

/// Phase 4b: sets PlanValue::isFixed once views are resolved. A result that lies within one that
/// varies, as part of a Concat, is computed in every run; so is what reads a view that repeats
/// elements, or one of a constant, of which backends make no copies.
void findFixed(Plan& plan, const PlanOptions& options);

} // namespace fuselage::planner
