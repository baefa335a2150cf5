// SPDX-License-Identifier: Apache-2.0
// Einsum written out in products of matrices, sums and views.
#pragma once

#include "core/graph/graph.h"

namespace fuselage {

/// Turns an Einsum of floating-point operands into ReduceSum, Transpose, Reshape and MatMul, or Mul
/// where two operands share no index that is summed; operands are taken from left to right, and
/// sums in the order of MatMul. True when it did. It stays as it is where extents are not known, an
/// operand names an index twice, an extent of 1 meets another, or what lies between would be very
/// large.
bool writeOutEinsum(Graph& graph, NodeId node);

} // namespace fuselage
