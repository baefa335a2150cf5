// SPDX-License-Identifier: Apache-2.0
// Finds all matches of prepared rules in a graph: complete, legal (escapes, convexity) and in a
// stable order. Which of them are applied is selection's business.
#pragma once

#include "core/rewrite/convexity.h"
#include "core/rewrite/matcher_index.h"
#include "core/rewrite/members.h"
#include "core/rewrite/trace.h"
#include "core/rewrite/vector_pool.h"
#include "core/support/function_ref.h"

#include <array>

namespace fuselage {

struct MatcherOptions {
    uint32_t budget = 20'000;         ///< steps of the search from one anchor
    uint64_t ruleBudget = 20'000'000; ///< steps of all searches of one rule in one graph
    uint32_t matchesAtOnce = 16;      ///< different matches kept from one anchor
    bool explain = false;             ///< keep near misses
    bool filters = true;              ///< false: tries terms everywhere; finds the same, later
    size_t maxNearMisses = 512;       ///< of one rule, the nearest ones
    RootValues roots;                 ///< gain is unknown while matching
};

/// What the matcher asks about a graph again and again, in less memory than nodes and values take:
/// a search reads little else. Valid until the graph changes.
struct GraphFacts {
    /// Where a value comes from.
    struct Maker {
        NodeId node;       ///< none: no node makes it
        uint32_t slot = 0; ///< in the node's outputs
    };

    explicit GraphFacts(const Graph& graph);

    std::vector<NodeId> order;   ///< topological
    std::vector<uint32_t> ranks; ///< per node: position in `order`
    std::array<std::vector<NodeId>, static_cast<size_t>(Op::Count_)> byOp; ///< later ones first
    std::vector<uint8_t> isOutput;                                         ///< per value
    std::vector<OpMask> operands; ///< per node: who makes its operands
    std::vector<OpMask> beyond;   ///< per node: who makes the operands of those
    std::vector<Op> ops;          ///< per node
    OpSet present;                ///< of all nodes
    std::vector<Maker> makers;    ///< per value

    NodeId makerOf(ValueId value) const {
        return value.valid() ? makers[value.index()].node : NodeId();
    }

    Op opOf(NodeId node) const { return ops[node.index()]; }

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

/// Marks of nodes and memory that searches share, so that none allocates its own.
struct MatchScratch {
    explicit MatchScratch(size_t nodes) : used(nodes, 0), inRegion(nodes, 0), seen(nodes, 0) {}

    std::vector<uint8_t> used;      ///< part of the match being built
    std::vector<uint32_t> inRegion; ///< stamp of the region that it is in
    std::vector<uint32_t> seen;     ///< stamp of the last walk that saw it
    uint32_t regionStamp = 0;
    uint32_t seenStamp = 0;

    VectorPool<NodeId> nodes;
    VectorPool<ValueId> values;
    std::vector<ValueId> level, above; ///< of a walk from a value to its readers
    std::vector<ValueId> leaving;      ///< what leaves a region that grows
};

class Matcher {
public:
    Matcher(const Graph& graph, const GraphFacts& facts, const Convexity& convexity,
            MatcherOptions options);

    /// Gets the result of each rule, in order; returns false to get no more.
    using Take = FunctionRef<bool(const IndexedRule&, MatchResult&)>;

    void find(const PreparedRule& rule, MatchResult& result);

    /// All rules over one walk of the graph; those that cannot match are left out unless near
    /// misses are wanted. `stop` is asked during it; true ends it with no results. Returns whether
    /// every result was given.
    bool findEach(
        const std::vector<const IndexedRule*>& rules, Take take,
        FunctionRef<bool()> stop = [] { return false; });

    /// Nodes whose search was started; for benchmarks.
    size_t searched() const { return m_searched; }

private:
    /// `mayMatch`: per rule; the others are searched for near misses only.
    bool search(const std::vector<const PreparedRule*>& rules, const std::vector<bool>& mayMatch,
                std::vector<MatchResult>& results, FunctionRef<bool()> stop);
    void keepNearest(std::vector<NearMiss>& misses) const;

    const Graph& m_graph;
    const GraphFacts& m_facts;
    const Convexity& m_convexity;
    MatcherOptions m_options;
    MatchScratch m_scratch;
    size_t m_searched = 0;
};

} // namespace fuselage
