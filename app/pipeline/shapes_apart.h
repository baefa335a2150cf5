// SPDX-License-Identifier: Apache-2.0
// Two runs of one model whose shapes depend on data: where they first went apart, and by which
// rounding. Words for a report.
#pragma once

#include "core/graph/graph.h"
#include "core/graph/run_shapes.h"

#include <string>

namespace fuselage::app {

/// `taken`: what was assumed of the unfused graph. The first value, along the graph, whose extents
/// or elements differ between the runs, and where the step that made it different is known: "`n` is
/// 3 unfused and 4 fused, since Round gets 3.4999998 and 3.5000002 of `sum`". Empty: nothing that
/// gives a shape differs.
std::string shapesApart(const Graph& unfusedGraph, const AssumedShapes& taken,
                        const RunShapes& unfused, const RunShapes& fused);

} // namespace fuselage::app
