// SPDX-License-Identifier: Apache-2.0
// What is amiss with the numbers of a pair: scales and zero points, each looked at by itself.
#pragma once

#include "app/quantize/pair_lint.h"

#include <optional>

namespace fuselage::quantize {

/// A QuantizeLinear or DequantizeLinear with a constant scale that is no positive number.
std::optional<PairFinding> scaleFinding(const Graph& graph, const Node& node);

/// A QuantizeLinear, DequantizeLinear or MatMulNBits whose scales or zero points are not of the
/// shape and type that its other operands and attributes ask for.
std::optional<PairFinding> misfitFinding(const Graph& graph, const Node& node);

/// A DequantizeLinear that takes apart with other constants than `store` put together with.
std::optional<PairFinding> unequalFinding(const Graph& graph, const Node& node, const Node& store);

/// Whether any zero point of the node is a constant other than 0.
bool hasZeroPoint(const Graph& graph, const Node& node);

} // namespace fuselage::quantize
