// SPDX-License-Identifier: Apache-2.0
// Einsum of two operands, written out in a product of matrices and views.
#pragma once

#include "core/graph/graph.h"

namespace fuselage {

/// Turns an Einsum of two floating-point operands into Transpose, Reshape and MatMul, or Mul where
/// nothing is summed; sums are taken in the order of MatMul. True when it did. It stays as it is
/// where extents are not known, an operand names an index twice or one that nothing else has and
/// that is summed, or an extent of 1 meets another.
bool writeOutEinsum(Graph& graph, NodeId node);

} // namespace fuselage
