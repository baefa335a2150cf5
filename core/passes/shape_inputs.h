// SPDX-License-Identifier: Apache-2.0
// Shapes of a graph that elements of its own inputs decide: a body that cuts a table at the number
// of its iteration. With these inputs known the graph can be planned like any other.
#pragma once

#include "core/graph/graph.h"
#include "core/support/progress.h"

#include <vector>

namespace fuselage {

/// Whether so many elements of this type may say a shape.
bool isFewIntegers(DType dtype, int64_t count);

/// Inputs, as places among the graph's, that are a few integers and that open shapes depend on by
/// way of nodes that say shapes. Empty where no shape is open. Other data may decide shapes too.
std::vector<size_t> shapeInputs(const Graph& graph);

/// From now on the graph is for these elements of one of its inputs, which nothing reads any more.
void assumeInput(Graph& graph, size_t input, const Tensor& elements);

} // namespace fuselage
