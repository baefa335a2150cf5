// SPDX-License-Identifier: Apache-2.0
// A graph as ONNX textual syntax in a stable order: what goldens, messages and "explain" show.
#pragma once

#include "core/graph/graph.h"

#include <string>
#include <vector>

namespace fuselage {

struct TextOptions {
    bool types = false;      ///< annotate each value with its type in a comment
    bool defaults = false;   ///< also print attributes that have their schema's default
    bool fusedBodies = true; ///< print the body of each fused node after the graph
    size_t maxConstant = 16; ///< larger constants are printed as their type only
};

/// The whole graph. Names that are no identifiers stand in backticks, omitted inputs are ``; after
/// the graph follow the distinct bodies of its fused nodes as functions. Parses again with
/// model_io::loadText when all constants fit maxConstant.
std::string text(const Graph& graph, const TextOptions& options = {});

/// "Y = Add(T, B)": one node.
std::string text(const Graph& graph, NodeId node);

/// "Conv", "com.acme.Foo", or the rule's name for a fused node.
std::string opText(const Node& node);

/// Names of nodes, as they are now.
std::vector<std::string> namesOf(const Graph& graph, const std::vector<NodeId>& nodes);

/// Names of the model's nodes that these nodes stand for, each once.
std::vector<std::string> sourcesOf(const Graph& graph, const std::vector<NodeId>& nodes);

} // namespace fuselage
