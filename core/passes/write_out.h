// SPDX-License-Identifier: Apache-2.0
// Operators that a GPU computes by several kernels, written out in operators that have kernels.
#pragma once

#include "core/graph/graph.h"

namespace fuselage {

/// Whether the graph or a body of a fused node in it has an operator that is written out.
bool hasComposite(const Graph& graph);

/// Writes DynamicQuantizeLinear out, step by step in float32 as it is defined: the range of all
/// elements and zero, scale and zero point of it, then QuantizeLinear. Each becomes a fused node of
/// that name, to be cut where that is cheaper; inside of fused nodes it becomes its steps. Outputs
/// keep their names and types; the steps stand for the model's node. Elements that are NaN are
/// not defined by the operator either. GatherMatMul becomes what it means for sizes that are known.
void writeOutComposites(Graph& graph);

} // namespace fuselage
