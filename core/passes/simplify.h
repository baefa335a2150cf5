// SPDX-License-Identifier: Apache-2.0
// Local simplifications around shapes, private to core/passes: operands that can be written as
// constants though a dimension is symbolic, and nodes that change nothing.
#pragma once

#include "core/graph/graph.h"

#include <functional>
#include <optional>

namespace fuselage {

/// The tensor of a value that is constant here, also when it is captured from outside; else null.
using ConstantLookup = std::function<TensorPtr(ValueId)>;

/// Writes shape operands as constants: Reshape's target with 0 for copied dimensions and one -1,
/// Expand's with 1 where nothing is repeated, Slice's ends at the dimension's end. True when it
/// changed the node.
bool simplifyShapeOperands(Graph& graph, NodeId node, const ConstantLookup& constantOf);

/// Turns Flatten, Softmax along rows, Reshape back (how opset 12 defines Softmax, LogSoftmax and
/// Hardmax) into one node where only one of the flattened dimensions is longer than 1. `node` is
/// the Reshape; true when it was turned.
bool restoreSoftmax(Graph& graph, NodeId node);

/// Turns rows that are placed by constant indices into a Concat where they go right behind the old
/// ones, as in a cache that grows: Where(behind, Where(fresh, GatherElements(new), _), Pad(old)),
/// with or without the inner Where, and without the GatherElements where one row is placed.
/// `node` is the outer Where; true when it was turned.
bool joinPlacedRows(Graph& graph, NodeId node, const ConstantLookup& constantOf);

/// Turns a Gather that takes everything along its axis in the order in which it lies into a
/// Reshape; True when it was turned. How exporters write a tensor that is seen under other extents.
bool reshapeInOrder(Graph& graph, NodeId node, const ConstantLookup& constantOf);

/// Contents that are all numbers, as a tensor; else null.
std::shared_ptr<Tensor> tensorOfContents(const Value& value);

/// One row in the last dimension but one, of at least three.
bool isOneRow(const Type& type);

/// True when output 0 certainly equals input 0: Identity, inference-mode Dropout, a Reshape to the
/// same shape, a Cast to the same type ...
bool isNoOp(const Graph& graph, const Node& node, const ConstantLookup& constantOf);

/// The input of a Where that its output 0 certainly equals, since the condition is the same
/// constant everywhere; none where it is not, or where that input is broadcast.
std::optional<size_t> onlyChoice(const Graph& graph, const Node& node,
                                 const ConstantLookup& constantOf);

} // namespace fuselage
