// SPDX-License-Identifier: Apache-2.0
// A graph for the data of one run: shapes that depend on data become numbers, so that it can be
// planned like any other.
#pragma once

#include "core/graph/graph.h"
#include "core/graph/run_shapes.h"
#include "core/support/progress.h"
#include "core/support/result.h"

namespace fuselage {

/// Whether some tensor of the graph, whose inputs have static shapes, has a shape that only data
/// decide.
bool dependsOnData(const Graph& graph);

/// Where the first shape that depends on data is made, either the small values that give it become
/// constants (the length of a Range, the target of a Reshape), or, where the data themselves decide
/// (NonZero, a Loop), its extents are taken; then inference goes on from there. Values that gave
/// shapes become outputs behind the graph's own, so that a run can be checked. Shapes that `seen`
/// does not hold stay open. Errors: those of prepareGraph, where what was seen contradicts.
Result<AssumedShapes> specialise(Graph& graph, const RunShapes& seen, Progress& progress);

} // namespace fuselage
