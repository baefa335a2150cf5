// SPDX-License-Identifier: Apache-2.0
// Applies one match to the graph: a fuse rule wraps its nodes into one fused node, a rewrite rule
// replaces them by what it builds. Either all of it happens or nothing, with the reason.
#pragma once

#include "core/rewrite/draft.h"
#include "core/rewrite/match.h"
#include "core/rewrite/trace.h"

#include <utility>
#include <variant>
#include <vector>

namespace fuselage {

struct Applied {
    std::vector<NodeId> made;    ///< new nodes, in topological order
    std::vector<NodeId> removed; ///< matched nodes that are gone
    /// Values that are gone because readers now read the second one.
    std::vector<std::pair<ValueId, ValueId>> replaced;
};

/// Why nothing was applied, and a change of the rule that would mend it.
struct NotApplied {
    Reason reason;
    std::optional<RuleEdit> edit = {};
};

using ApplyResult = std::variant<Applied, NotApplied>;

/// The nodes, bindings and values of the match must be of this graph, as it is now. Reasons:
/// M0600 when a rewrite cannot be built or would change a type, M0500 when it would read what it
/// replaces, "graph-output" when an output of the graph would lose its own node.
ApplyResult applyMatch(Graph& graph, const Match& match, const InferenceFunction& infer);

/// What a rewrite rule would put in the place of the match, as a graph of its own.
std::variant<Graph, NotApplied> replacementOf(const Graph& graph, const Match& match,
                                              const InferenceFunction& infer);

/// What the exporter said about these nodes; values that differ stand one below the other.
Metadata metadataOf(const Graph& graph, const std::vector<NodeId>& nodes);

} // namespace fuselage
