// SPDX-License-Identifier: Apache-2.0
// New results of If, Loop and Scan: what their bodies compute and kept to themselves.
#pragma once

#include "core/graph/graph.h"

#include <string>

namespace fuselage {

/// Whether `resultOf` has a meaning: a tensor of known element type that a node of the body makes;
/// of a Loop or Scan, which stacks it, one of the same static shape in each iteration.
bool canBeResult(const Graph& graph, NodeId node, const Graph& body, ValueId inBody);

/// A new last result of the node, called `name` where that is free: the value of one of its bodies.
/// A Loop or Scan stacks it over its iterations along a new first axis; an If gives it where that
/// branch runs, otherwise an empty tensor of shape [0].
ValueId resultOf(Graph& graph, NodeId node, const std::string& attribute, ValueId inBody,
                 std::string name);

} // namespace fuselage
