// SPDX-License-Identifier: Apache-2.0
// Shapes that depend on data, looked up in one run, so that both sides of a comparison can be
// planned for them.
#pragma once

#include "core/graph/graph.h"
#include "core/graph/run_shapes.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <vector>

namespace fuselage::app {

/// Runs the graph, whose inputs have static shapes, once on the cpu backend. Errors: those of
/// planning and running.
Result<RunShapes> shapesOfRun(const Graph& graph, const std::vector<Tensor>& inputs, int threads,
                              Progress& progress);

/// One sentence about what was assumed; empty: nothing.
std::string noteOn(const AssumedShapes& assumed);

} // namespace fuselage::app
