// SPDX-License-Identifier: Apache-2.0
// Operators of our own, of the domain `fuselage`: what they mean in ONNX's operators.
#pragma once

#include "core/graph/graph.h"

#include <memory>

namespace fuselage {

/// The node of such an operator in ONNX's operators, for files and what cannot compute it: inputs
/// and outputs are the node's, the inputs' types those of `graph`. `few`: fewer of what it chooses
/// among are asked for than there are; asksForFew() says so of a node.
std::shared_ptr<const Graph> writtenOut(const Graph& graph, const Node& node, bool few);

/// As far as sizes are known.
bool asksForFew(const Graph& graph, const Node& node);

} // namespace fuselage
