// SPDX-License-Identifier: Apache-2.0
// What is the same in every run: constants, and what steps compute from constants alone. Backends
// compute that once, while they prepare; so no run pays for it, and no prediction counts it.
#pragma once

#include "core/plan/plan.h"

#include <functional>
#include <vector>

namespace fuselage::planner {

/// By ValueId: constants, values that `isGiven` calls so, and what nodes make of nothing else.
/// Nodes with bodies, and those without operands, make none.
std::vector<bool> fixedValues(const Graph& graph, const std::function<bool(ValueId)>& isGiven = {});

/// Sets PlanValue::isFixed once views are resolved: a result that lies within one that varies, as
/// part of a Concat, is computed in every run.
void findFixed(Plan& plan);

} // namespace fuselage::planner
