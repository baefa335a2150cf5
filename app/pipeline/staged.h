// SPDX-License-Identifier: Apache-2.0
// Running a graph whose shapes depend on data for data that were not seen before: what decides the
// shapes is computed first, what follows is planned for what it gave.
#pragma once

#include "core/graph/graph.h"
#include "core/plan/backend.h"

#include <functional>
#include <memory>

namespace fuselage::app {

/// Plans and prepares a graph.
using PrepareGraphRun = std::function<Result<std::unique_ptr<Executable>>(Graph, Progress&)>;

/// Runs stage after stage (core/passes/shape_stage.h), and keeps the plans of the last run for data
/// that have the same shapes. `general` runs the graph for any data: where stages cannot, and where
/// something is asked of single steps.
std::unique_ptr<Executable> makeStaged(std::unique_ptr<Executable> general,
                                       std::shared_ptr<const Graph> graph, PrepareGraphRun prepare);

} // namespace fuselage::app
