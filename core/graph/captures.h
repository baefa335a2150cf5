// SPDX-License-Identifier: Apache-2.0
// The subgraphs of a node (If, Loop, Scan bodies) with the slots of the values they capture. Only
// finds and copies them; what they mean belongs to the operator.
#pragma once

#include "core/graph/graph.h"

#include <memory>
#include <string>
#include <vector>

namespace fuselage {

struct SubgraphRef {
    std::string attribute;
    std::shared_ptr<Graph> graph;
    uint32_t firstCapture = 0; ///< slot in Node::inputs of the subgraph's first captured value
};

/// The subgraphs of a node, in attribute order; empty for most nodes.
std::vector<SubgraphRef> subgraphsOf(const Node& node);

/// The subgraph for editing: copied first when another graph shares it.
std::shared_ptr<Graph> ownSubgraph(Graph& graph, NodeId node, const std::string& attribute);

} // namespace fuselage
