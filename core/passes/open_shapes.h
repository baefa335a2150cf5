// SPDX-License-Identifier: Apache-2.0
// Where shapes become open that only data decide, and which operands decide them.
#pragma once

#include "core/graph/graph.h"

#include <vector>

namespace fuselage {

/// Whether nothing of the type's shape is open; what is no tensor has none.
bool isStaticShape(const Type& type);

/// Whether the node's result has the shape that the elements of this input say.
bool givesShape(const Node& node, size_t input);

/// Whether the node reads static shapes and makes an open one.
bool opensShape(const Graph& graph, const Node& node);

/// The nodes that open a shape and depend on none that does. In topological order.
std::vector<NodeId> firstOpeners(const Graph& graph);

} // namespace fuselage
