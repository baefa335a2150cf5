// SPDX-License-Identifier: Apache-2.0
// The graphs inside a graph: bodies of If, Loop and Scan at any depth, each with the path that
// names it. The one walk that passes and reports use to enter them; bodies of fused nodes are no
// part of it, since nobody looks inside a fused node.
#pragma once

#include "core/graph/captures.h"
#include "core/support/function_ref.h"
#include "core/support/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace fuselage {

/// A body where it stands. Good as long as the graph around all of it lives unchanged.
struct BodyPlace {
    /// "If_12/then_branch/"; of one inside another "Loop_3/body/If_1/else_branch/". In front of the
    /// name of a node or value it is that one's path.
    std::string path;
    const Graph* graph = nullptr;
    const Graph* outer = nullptr; ///< the graph whose node has it
    NodeId node;                  ///< in `outer`
    std::string attribute;
    uint32_t firstCapture = 0; ///< slot in that node's inputs of its first captured value
};

/// The path of a node's body; `outer` is that of the graph around the node.
std::string bodyPath(const std::string& outer, const std::string& node,
                     const std::string& attribute);

/// All bodies in topological order of their nodes, inner ones before the one that they are in.
std::vector<BodyPlace> bodiesOf(const Graph& graph);

/// Nodes of the graph and of all its bodies.
size_t countNodes(const Graph& graph);

/// A node by its path, the name of one that is in no body; `graph` is null when there is none.
struct NodePlace {
    const Graph* graph = nullptr;
    NodeId node;
    std::string path; ///< of the graph; empty for the outermost
};

NodePlace findByPath(const Graph& graph, std::string_view path);

/// Changes one body; says whether it did.
using ChangeBody = FunctionRef<Result<bool>(Graph& body, const std::string& path, NodeId node)>;

/// In the order of bodiesOf. A body that others share is copied first; those that `change` leaves
/// alone stay shared. `node` is of the graph around the body.
Result<bool> changeBodies(Graph& graph, ChangeBody change);

/// What a body captures and is constant outside becomes a constant of its own with the same data,
/// so that whoever sees only the body knows it.
void takeCapturedConstants(Graph& graph);

/// Undoes it: such constants are captured again, so that a file holds them once.
void returnCapturedConstants(Graph& graph);

/// Whether a node, an output of the graph, or a node in a body that captures the value reads it.
bool isReadAnywhere(const Graph& graph, ValueId value);

/// A body as a graph of its own: after its explicit inputs come those of its captures that are no
/// constants. `captured` and `constants` are parallel to the captures; null where they vary.
Graph standaloneBody(const Graph& body, const std::vector<Type>& inputs,
                     const std::vector<Type>& captured, const std::vector<TensorPtr>& constants);

} // namespace fuselage
