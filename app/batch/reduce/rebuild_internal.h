// SPDX-License-Identifier: Apache-2.0
// How smaller.cpp and shrink.cpp make a graph of another: its nodes copied, its leaves (inputs and
// initializers) chosen anew.
#pragma once

#include "core/graph/graph.h"
#include "core/support/function_ref.h"

#include <optional>
#include <vector>

namespace fuselage::batch {

/// Adds to `out` what stands for an input or initializer.
using Leaf = FunctionRef<ValueId(Graph& out, const Value& value)>;

/// As it is.
inline constexpr auto sameLeaf = [](Graph& out, const Value& value) {
    return value.constant ? out.addConstant(value.name, value.constant)
                          : out.addInput(value.name, value.type);
};

std::optional<Graph> rebuild(const Graph& graph, const std::vector<NodeId>& nodes,
                             const std::vector<ValueId>& outputs, const Leaf& leaf);

/// With its shapes inferred; none when something in it contradicts something else.
std::optional<Graph> checked(Graph graph);

/// Outputs that a node makes, each once.
std::vector<ValueId> producedOutputs(const Graph& graph);

} // namespace fuselage::batch
