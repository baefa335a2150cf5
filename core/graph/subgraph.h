// SPDX-License-Identifier: Apache-2.0
// Cutting a set of nodes out of a graph as a body of its own, and putting one fused node in their
// place. Used by the rewriter (matches), the planner (parts of a body) and exports; says nothing
// about whether doing so is legal or pays.
#pragma once

#include "core/graph/graph.h"

#include <string>
#include <vector>

namespace fuselage {

/// A body with the values of the surrounding graph that its inputs and outputs stand for.
struct Cut {
    Graph body;
    std::vector<ValueId> inputs;  ///< parallel to body.inputs()
    std::vector<ValueId> outputs; ///< parallel to body.outputs()
};

struct CutOptions {
    /// Constants up to this many elements and rank 1 are copied into the body when they hold one
    /// element or no floats (shapes, axes); others become inputs. 0 makes every constant an input.
    int64_t maxEmbeddedElements = 8;
    /// Inputs that come first, in this order and as often as they stand here.
    std::vector<ValueId> first = {};
};

/// Values made by these nodes that something else reads: another node or the graph's outputs. In
/// topological order of the set.
std::vector<ValueId> escapingValues(const Graph& graph, const std::vector<NodeId>& nodes);

/// Copies the nodes with their values' names and types. Inputs come in order of first use along
/// the topological order; `outputs` gives the body's outputs.
Cut cutOut(const Graph& graph, const std::vector<NodeId>& nodes,
           const std::vector<ValueId>& outputs, const CutOptions& options = {});

/// Replaces the nodes by one Op::Fused node around the cut's body; the outputs keep their ids,
/// names and types. Nodes whose values are read outside without being outputs of the cut stay as
/// well, for those readers.
NodeId replaceByFused(Graph& graph, const std::vector<NodeId>& nodes, Cut cut,
                      const std::string& name, Provenance provenance);

/// Copies the nodes of `body` into `graph` with its inputs (and captures) bound to these values;
/// returns the values that stand for its outputs. Names are made unique.
std::vector<ValueId> inlineBody(Graph& graph, const Graph& body, const std::vector<ValueId>& inputs,
                                const std::vector<ValueId>& captures = {});

/// Puts the body of a fused node in its place. What stands for its outputs takes their types and
/// names; an output of the graph that the body takes from elsewhere is a copy of it.
void inlineFused(Graph& graph, NodeId fused);

/// The body without fused nodes, at any depth: the same one where it holds none.
std::shared_ptr<const Graph> withoutFused(std::shared_ptr<const Graph> body);

} // namespace fuselage
