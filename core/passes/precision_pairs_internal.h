// SPDX-License-Identifier: Apache-2.0
// What lies between pairs of QuantizeLinear and DequantizeLinear: values that are stored in 8 bits,
// which kernels of integers read and write as they are. A 16-bit form between them opens none of
// that and stands in the way of all of it.
#pragma once

#include "core/graph/graph.h"

#include <vector>

namespace fuselage {

/// By node: products whose operands both come from 8 bits, moved or not, and what computes from such values alone
/// for a QuantizeLinear.
std::vector<bool> nodesBetweenPairs(const Graph& graph);

} // namespace fuselage
