// SPDX-License-Identifier: Apache-2.0
// Smaller graphs made of a graph: each is whole and valid, or none. Whether one still shows a fault
// is decided elsewhere.
#pragma once

#include "core/graph/graph.h"

#include <optional>
#include <vector>

namespace fuselage::batch {

/// Only these nodes, with what they read from elsewhere as inputs. Outputs are those of the graph
/// that are left, and what no kept node reads. None when the type of a new input is not known, or
/// when nothing is left.
std::optional<Graph> keepNodes(const Graph& graph, const std::vector<NodeId>& nodes);

/// Only what these outputs need.
std::optional<Graph> keepOutputs(const Graph& graph, const std::vector<ValueId>& outputs);

/// Initializers with more than one element of a floating type: what can be given from outside.
std::vector<ValueId> weights(const Graph& graph);

/// These initializers become inputs.
std::optional<Graph> asInputs(const Graph& graph, const std::vector<ValueId>& constants);

/// All elements of the initializer become 1; none when they are already.
std::optional<Graph> filledWithOnes(const Graph& graph, ValueId constant);

/// Numbers above 1 that stand in shapes of inputs and initializers, largest first.
std::vector<int64_t> extents(const Graph& graph);

/// Every dimension of inputs and initializers that is `from` becomes `to`, and so do whole numbers
/// that follow from it (targets of Reshape, groups). None when the rest contradicts it.
std::optional<Graph> withExtent(const Graph& graph, int64_t from, int64_t to);

/// Every symbolic dimension of the inputs becomes `value`; none when there is none or the graph
/// contradicts it.
std::optional<Graph> withSymbols(const Graph& graph, int64_t value);

} // namespace fuselage::batch
