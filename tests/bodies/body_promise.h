// SPDX-License-Identifier: Apache-2.0
// Bodies on which the class `exact` can be checked bit for bit though libraries sum in an order of
// their own: all that is summed is whole numbers, whose sums are the same in any order.
#pragma once

#include "core/graph/graph.h"

#include <vector>

namespace fuselage::bodies {

/// Whether all terms of products, pools and reductions are whole numbers when the inputs are.
bool sumsWholeNumbers(const Graph& graph);

/// Rounds float32 inputs to whole numbers from -2 to 2.
void makeWhole(std::vector<Tensor>& inputs);

/// Element by element; the sign of a zero depends on the order of a sum.
bool sameNumbers(const Tensor& a, const Tensor& b);

} // namespace fuselage::bodies
