// SPDX-License-Identifier: Apache-2.0
// Finds all matches of prepared rules in a graph: complete, legal (escapes, convexity) and in a
// stable order. Which of them are applied is selection's business.
#pragma once

#include "core/rewrite/convexity.h"
#include "core/rewrite/evaluate.h"
#include "core/rewrite/matcher_index.h"
#include "core/rewrite/trace.h"
#include "core/support/function_ref.h"

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
    std::vector<OpMask> operands; ///< per node: who makes its operands
    std::vector<OpMask> beyond;   ///< per node: who makes the operands of those

    uint32_t rank(NodeId node) const { return ranks[node.index()]; }

    /// Whether the nodes above this one are what the filter asks for, as far as masks tell.
    bool fitsMasks(const TermFilter& filter, NodeId node) const {
        OpMask one = operands[node.index()], two = beyond[node.index()];
        for (OpMask mask : filter.operands)
            if ((mask & one) == 0)
                return false;
        for (OpMask mask : filter.beyond)
            if ((mask & two) == 0)
                return false;
        for (OpMask mask : filter.near)
            if ((mask & (one | two)) == 0)
                return false;
        return true;
    }
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

/// Marks of nodes that searches share, so that none allocates its own.
struct MatchScratch {
    explicit MatchScratch(size_t nodes)
        : used(nodes, 0), claimed(nodes, 0), inRegion(nodes, 0), seen(nodes, 0) {}

    std::vector<uint8_t> used;      ///< part of the match being built
    std::vector<uint8_t> claimed;   ///< in a region found for this rule
    std::vector<uint32_t> inRegion; ///< stamp of the region that it is in
    std::vector<uint32_t> seen;     ///< stamp of the last walk that saw it
    uint32_t regionStamp = 0;
    uint32_t seenStamp = 0;
};

class Matcher {
public:
    Matcher(const Graph& graph, const GraphFacts& facts, const Convexity& convexity,
            MatcherOptions options);

    void find(const PreparedRule& rule, MatchResult& result);

    /// All rules over one walk of the graph; `take` gets each rule's result, in order, and returns
    /// false to stop.
    void findEach(const std::vector<const PreparedRule*>& rules,
                  FunctionRef<bool(const PreparedRule&, MatchResult&)> take);

    /// Nodes whose search was started; for benchmarks.
    size_t searched() const { return m_searched; }

private:
    void search(const PreparedRule& rule, const std::vector<NodeId>& anchors, MatchResult& result);

    const Graph& m_graph;
    const GraphFacts& m_facts;
    const Convexity& m_convexity;
    MatcherOptions m_options;
    MatchScratch m_scratch;
    size_t m_searched = 0;
};

} // namespace fuselage
