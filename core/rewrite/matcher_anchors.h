// SPDX-License-Identifier: Apache-2.0
// Where the searches of many rules start: one table by operator, so that a node of the graph is
// looked at once, and rules that ask for the same operators around it are told apart once.
#pragma once

#include "core/rewrite/matcher_index.h"

#include <array>
#include <span>

namespace fuselage {

struct GraphFacts;

class AnchorTable {
public:
    explicit AnchorTable(const std::vector<const PreparedRule*>& rules);

    /// Per rule: those of the nodes that a search may start at, in the same order. With `all`,
    /// nodes that only have the right operator count too: for near misses.
    void find(const Graph& graph, const GraphFacts& facts, std::span<const NodeId> nodes, bool all,
              std::vector<std::vector<NodeId>>& out) const;

private:
    /// Heads with equal masks, and the rules that they belong to.
    struct Head {
        const TermFilter* filter;
        std::vector<uint32_t> rules;
    };

    void add(uint32_t rule, const TermFilter& filter, size_t op);

    std::vector<const PreparedRule*> m_rules;
    std::array<std::vector<Head>, static_cast<size_t>(Op::Count_)> m_heads;
};

} // namespace fuselage
