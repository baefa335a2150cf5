// SPDX-License-Identifier: Apache-2.0
// Finds all matches of prepared rules in a graph: complete, legal (escapes, convexity) and in a
// stable order. Which of them are applied is selection's business.
#pragma once

#include "core/rewrite/convexity.h"
#include "core/rewrite/evaluate.h"
#include "core/rewrite/matcher_index.h"
#include "core/rewrite/trace.h"

#include <array>

namespace fuselage {

struct MatcherOptions {
    uint32_t budget = 20'000;    ///< steps of the search from one anchor
    uint32_t matchesAtOnce = 16; ///< different matches kept from one anchor
    bool explain = false;        ///< keep near misses
    size_t maxNearMisses = 512;  ///< of one rule, the nearest ones
    RootFunction roots;          ///< device.*, total.*; gain.* is unknown while matching
};

/// What the matcher asks about a graph again and again; valid until the graph changes.
struct GraphFacts {
    explicit GraphFacts(const Graph& graph);

    std::vector<NodeId> order;   ///< topological
    std::vector<uint32_t> ranks; ///< per node: position in `order`
    std::array<std::vector<NodeId>, static_cast<size_t>(Op::Count_)> byOp; ///< later ones first
    std::vector<uint8_t> isOutput;                                         ///< per value

    uint32_t rank(NodeId node) const { return ranks[node.index()]; }
};

/// A match that was complete but not legal.
struct RefusedMatch {
    Match match;
    Reason reason;
    std::optional<RuleEdit> edit = {};
};

struct MatchResult {
    std::vector<Match> matches; ///< by rule, then by anchor, later anchors first
    std::vector<RefusedMatch> refused;
    std::vector<NearMiss> nearMisses; ///< nearest first for each rule
};

class Matcher {
public:
    Matcher(const Graph& graph, const GraphFacts& facts, const Convexity& convexity,
            MatcherOptions options);

    void find(const PreparedRule& rule, MatchResult& result);

    /// Nodes whose search was started, and those that signatures rejected; for benchmarks.
    size_t searched() const { return m_searched; }

private:
    bool mayMatch(const PreparedRule& rule, NodeId node) const;

    const Graph& m_graph;
    const GraphFacts& m_facts;
    const Convexity& m_convexity;
    MatcherOptions m_options;
    std::vector<uint8_t> m_used;    ///< per node: part of the match being built
    std::vector<uint8_t> m_claimed; ///< per node: in a region found for this rule
    size_t m_searched = 0;
};

} // namespace fuselage
