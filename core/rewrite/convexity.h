// SPDX-License-Identifier: Apache-2.0
// May a set of nodes become one node? Only when no path leaves the set and comes back. Topological
// levels bound the search; they are spaced, so that replacing a set rarely moves other nodes.
#pragma once

#include "core/graph/graph.h"
#include "core/support/function_ref.h"
#include "core/support/reason.h"

#include <optional>
#include <vector>

namespace fuselage {

class Convexity {
public:
    explicit Convexity(const Graph& graph) : Convexity(graph, topologicalOrder(graph)) {}
    /// With the graph's topological order, where that is known already.
    Convexity(const Graph& graph, const std::vector<NodeId>& order);

    /// Grows along every edge; equal levels of two nodes mean that no path joins them.
    int64_t level(NodeId node) const { return m_levels[node.index()]; }

    /// The nodes of a path that starts at a reader of `from` outside the set and ends at a node in
    /// it (the last one); empty when there is none. Nodes at or above `bound` are not visited.
    std::vector<NodeId> pathBack(const std::vector<ValueId>& from, FunctionRef<bool(NodeId)> inside,
                                 int64_t bound) const;

    /// Whether there is one.
    bool leadsBack(const std::vector<ValueId>& from, FunctionRef<bool(NodeId)> inside,
                   int64_t bound) const {
        return searchBack(from, inside, bound).has_value();
    }

    /// Such a path for a set whose `outputs` are what its replacement would make; empty: convex.
    std::vector<NodeId> cycleOf(const std::vector<NodeId>& nodes,
                                const std::vector<ValueId>& outputs) const;

    /// Call after nodes were added to the graph: gives them levels and lifts their readers.
    void added(const std::vector<NodeId>& nodes);

private:
    /// Of a search for a path.
    struct Step {
        NodeId node;
        size_t before; ///< index of the step that led here
    };

    /// The end of a path.
    struct Back {
        size_t last;   ///< index of its last step outside
        NodeId enters; ///< the node inside
    };

    std::optional<Back> searchBack(const std::vector<ValueId>& from,
                                   FunctionRef<bool(NodeId)> inside, int64_t bound) const;
    void place(NodeId node);

    const Graph& m_graph;
    std::vector<int64_t> m_levels;
    mutable std::vector<uint32_t> m_seen; ///< stamp of the last search that saw the node
    mutable uint32_t m_stamp = 0;
    mutable std::vector<uint32_t> m_inside; ///< stamp of the last set that held the node
    mutable uint32_t m_insideStamp = 0;
    mutable std::vector<Step> m_queue; ///< of the last search
};

/// M0500 for what cycleOf() found: the path, and which nodes to match as well. `what` begins the
/// sentence: "a path".
Reason cycleReason(const Graph& graph, const std::vector<NodeId>& path, const std::string& what);

} // namespace fuselage
