// SPDX-License-Identifier: Apache-2.0
// The search for the matches of one rule from one anchor: backtracking over terms, written with
// continuations. A function named match... tries something, calls `next` when it holds and returns
// true only when the whole search is to stop; otherwise it has undone what it bound.
#pragma once

#include "core/rewrite/matcher.h"

#include <unordered_set>
#include <utility>

namespace fuselage {

using Next = FunctionRef<bool()>;

/// What the Hole of a chain step stands for. Lives on the stack of the search.
struct HoleFrame {
    TermId source;           ///< of Pipe and Optional
    const HoleFrame* around; ///< scope in which the source is matched
    TermId repeat;           ///< a Repeat: the hole may hold another round
    uint32_t rounds = 0;     ///< of the Repeat, so far
    mutable ValueId bound;   ///< set by the first hole; others must read the same value
    mutable bool isBound = false;
};

/// A set of values; also holds that which is none.
class ValueMarks {
public:
    /// False: it was there already.
    bool insert(ValueId value, size_t bound) {
        const size_t at = value.valid() ? value.index() + 1 : 0;
        if (m_marks.empty())
            m_marks.resize(bound + 1, 0);
        return std::exchange(m_marks[at], uint8_t{1}) == 0;
    }

private:
    std::vector<uint8_t> m_marks;
};

/// What an `escape` clause says of a value, its condition asked.
struct EscapeRuling {
    const Escape* clause = nullptr; ///< none: no clause names the value
    SlotIndex slot = 0;             ///< the name that the clause gives it
    EscapePolicy policy = EscapePolicy::Forbid;

    bool conditionFails() const { return clause && policy != clause->policy; }
};

class Search {
public:
    Search(const Graph& graph, const GraphFacts& facts, const Convexity& convexity,
           const PreparedRule& rule, const MatcherOptions& options, MatchScratch& scratch,
           MatchResult& result);

    /// Adds the matches found from this node to the result. `isStart`: the node may be one; others
    /// are looked at for near misses only.
    void run(NodeId anchor, bool isStart);

    /// From here on misses of at most so many nodes are not noted.
    void wantsNearerThan(uint32_t steps) { m_leastStep = steps + 1; }

private:
    /// One step that can be taken back.
    struct Change {
        enum class Kind : uint8_t {
            BoundSlot,   ///< was unbound
            ChangedSlot, ///< was what lies on m_slotsBefore
            BoundDim,
            ChangedDim,
            Node,
            Label,
            Region,
            PassedOver,
        };

        Kind kind;
        uint32_t index = 0;
    };

    /// How long the trail of changes was at some moment, to go back to it.
    using Mark = size_t;

    /// What one instance of a `many` bound.
    struct Instance {
        std::vector<Binding> slots; ///< parallel to Many::slots
        std::vector<DimBinding> dims;
        std::vector<NodeId> nodes;
        std::vector<RegionBinding> regions;
        Mark before = 0;      ///< the state without it
        bool escapes = false; ///< a value in it that others read may not be read there
    };

    /// A test that failed where the search for near misses goes on as if it held, or a node that it
    /// goes on behind as if it were not there.
    struct PassedOver {
        NearMiss miss;      ///< of a test
        NodeId node;        ///< all tests of it are passed over then; none: a value was tested
        ValueId source;     ///< of a node that is stepped over: the operand behind it; else none
        const Term* wanted; ///< what was tried at that node
    };

    /// What a condition is about: a value, or a name of the rule.
    struct Subject {
        ValueId value;
        std::string name;
    };

    /// Where a step that may be left out is tried.
    struct OptionalStep {
        ValueId value;    ///< none: nowhere
        size_t taken = 0; ///< nodes that the match had
    };

    /// A node next to a growing region.
    struct Neighbour {
        NodeId node;
        bool isProducer;
        int change; ///< of the number of live outputs when it joins
    };

    void searchFrom(NodeId anchor);
    Reason cutReason();

    // Blocks and the end of a match (matcher_block.cpp)
    bool matchBlock(const BlockPlan& plan, Next next);
    bool matchRoots(const BlockPlan& plan, size_t index, Next next);
    bool matchRootAt(const Definition& definition, ValueId value, Next next);
    bool matchDefinition(const Definition& definition, uint32_t position, ValueId value, Next next);
    bool matchRest(const BlockPlan& plan, Next next);
    bool holdsUnless(const BlockPlan& plan);
    bool holdsConditions(const Block& block);
    Subject subjectOf(const Expression& expression) const;
    bool isTaken(const std::optional<SlotIndex>& when) const;
    bool finish();
    void findCandidates(const RootFacts& root, std::vector<NodeId>& out);

    // many (matcher_many.cpp)
    bool matchManys(const BlockPlan& plan, size_t index, Next next);
    bool findInstance(const Many& many, const BlockPlan& plan, NodeId root, Instance& out);
    bool takeInstance(const Many& many, const BlockPlan& plan, NodeId root,
                      std::vector<Instance>& found);
    void giveBack(std::vector<Instance>& found);
    bool coversAllUsers(const BlockPlan& plan);

    // Terms (matcher_terms.cpp)
    /// False when the nodes above the value tell that the term cannot match. Near misses need the
    /// search to come as far as it can, so for them everything may.
    bool mayMatch(TermId id, ValueId value) const {
        const TermFilter& filter = m_prepared.filters[id.index()];
        if (filter.roots.any || !m_filters)
            return true;
        const NodeId node = m_facts.makerOf(value);
        return node.valid() && contains(filter.roots.ops, m_facts.opOf(node)) &&
               m_facts.fitsMasks(filter, node);
    }
    /// The alternatives of a choice that may match by the operator that makes the value.
    std::span<const uint32_t> alternativesFor(TermId choice, ValueId value) const {
        const NodeId node = m_facts.makerOf(value);
        const size_t maker = node.valid() ? static_cast<size_t>(m_facts.opOf(node)) : noMaker;
        return m_prepared.choices[choice.index()]->of(m_filters ? maker : anyMaker);
    }
    /// The node is one of the operators of a Node or Region.
    bool isOneOf(TermId id, NodeId node) const;
    bool matchTerm(TermId id, ValueId value, uint32_t position, const HoleFrame* hole, Next next);
    bool matchValue(const Term& term, ValueId value, const HoleFrame* hole, Next next);
    bool matchNumber(const Term& term, ValueId value, Next next);
    bool matchHole(const Term& term, ValueId value, const HoleFrame* hole, Next next);
    bool matchChoice(TermId id, ValueId value, uint32_t position, const HoleFrame* hole, Next next);
    bool matchPipe(const Term& term, ValueId value, uint32_t position, const HoleFrame* hole,
                   Next next);
    bool matchRepeat(TermId id, ValueId value, uint32_t rounds, const HoleFrame* hole, Next next);
    bool matchNextRound(const HoleFrame& frame, ValueId value, Next next);
    bool matchNode(TermId id, ValueId value, uint32_t position, const HoleFrame* hole, Next next);

    // Operands (matcher_operands.cpp)
    bool matchOperands(const Term& term, NodeId node, const HoleFrame* hole, Next next);
    bool matchArguments(const Term& term, NodeId node, bool swapped, size_t index,
                        const HoleFrame* hole, Next next);
    bool matchRestOperands(const Term& term, NodeId node, bool swapped, size_t index, Next next);
    bool operandsCovered(const Term& term, NodeId node);
    bool matchFlat(const Term& term, NodeId node, const HoleFrame* hole, Next next);
    bool splitLeaves(const Term& term, std::vector<ValueId>& leaves, size_t from,
                     const HoleFrame* hole, Next next);
    bool assignLeaves(const Term& term, const std::vector<ValueId>& leaves, uint32_t taken,
                      size_t index, const HoleFrame* hole, Next next);

    // Regions (matcher_region.cpp)
    bool matchRegion(TermId id, ValueId value, uint32_t position, const HoleFrame* hole, Next next);
    bool growRegion(TermId id, NodeId anchor, bool forward, std::vector<NodeId>& nodes);
    const std::vector<Neighbour>& neighboursOf(const std::vector<NodeId>& nodes, TermId region,
                                               bool forward);
    int outputChange(NodeId node) const;
    bool staysConvex(NodeId node, const std::vector<NodeId>& nodes, bool isProducer) const;
    void joinRegion(NodeId node, std::vector<NodeId>& nodes);
    bool inRegion(NodeId node) const;
    bool isClaimed(NodeId node) const { return !m_claimed.empty() && m_claimed[node.index()] != 0; }

    // Tests without backtracking (matcher_checks.cpp)
    bool checkType(const Term& term, ValueId value);
    bool checkDims(const TypePattern& type, const Term& term, ValueId value);
    std::string variableOf(const Dim& dim, const DimPattern& pattern) const;
    bool checkDim(const TypePattern& type, size_t index, const Dim& dim, const Term& term,
                  ValueId value);
    std::string dimText(const DimPattern& pattern) const;
    std::string dimsText(const std::vector<DimPattern>& patterns) const;
    std::optional<std::string> fittingDims(const std::vector<DimPattern>& patterns,
                                           const Shape& shape) const;
    void suggestDims(const TypePattern& type, const Shape& shape);
    bool checkTests(const Term& term, NodeId node, bool late);
    bool checkTest(const AttributeTest& test, const Term& term, NodeId node);

    // Escapes (matcher_escape.cpp)
    bool settleOutputs(Match& match);
    void declareResults(const BlockPlan& plan);
    bool instanceEscapes(const BlockPlan& plan, NodeId root, const std::vector<NodeId>& nodes);
    void addDeclared(const BlockPlan& plan);
    void addBinding(const Binding& binding);
    std::optional<SlotIndex> slotOf(const Escape& escape, ValueId value) const;
    const Escape* escapeOf(ValueId value) const;
    std::optional<EscapeRuling> rulingOn(ValueId value);
    void refuseRulings(ValueId value, const EscapeRuling& first, const EscapeRuling& other);
    bool readOutside(ValueId value) const;
    bool settleOne(Match& match, ValueId value);

    // State
    Mark mark() const { return m_trail.size(); }
    void undo(Mark mark) {
        while (m_trail.size() > mark)
            takeBack();
    }
    void takeBack();
    bool bindSlot(SlotIndex slot, Binding binding);
    bool bindValue(SlotIndex slot, ValueId value, const Term& term);
    void bindDim(uint32_t dim, DimBinding binding);
    /// `term`: the one that the node was matched by, where a person can name it.
    void take(NodeId node, TermId term = {});
    void addLabel(const std::string& label);
    void addRegion(RegionBinding region);
    /// Begins a walk over nodes; firstVisit is true once for each node of the walk.
    void beginWalk() { ++m_scratch.seenStamp; }
    bool firstVisit(NodeId node) {
        uint32_t& seen = m_scratch.seen[node.index()];
        return seen != m_scratch.seenStamp && (seen = m_scratch.seenStamp, true);
    }
    bool spend() { return ++m_spent <= m_limit; }
    EvaluateContext context() const;

    /// Notes how far the search came; `explain` returns {found, expected}. Always false.
    bool miss(const char* code, const Term* term, NodeId node, ValueId value,
              FunctionRef<std::pair<std::string, std::string>()> explain);
    /// A test does not hold; `tell` notes the miss. True where the search goes on all the same: for
    /// a near miss, once, to see what else fits.
    bool failTest(NodeId node, FunctionRef<void()> tell);
    bool notePassedOver(bool isAll);
    bool isOptionalAt(ValueId value) const;
    bool stepOver(NodeId node, ValueId source, const Term* wanted);
    bool passesBetween(ValueId value, ValueId wanted);
    bool matchBehind(ValueId value, TermId wanted, FunctionRef<bool(ValueId)> match);
    NearMiss missBetween(const PassedOver& over);
    std::string nodeText(NodeId id) const;
    bool refuse(Reason reason, std::optional<RuleEdit> edit = {});
    /// What would let the last miss go on, in words and as a change of the text (matcher_flip.cpp).
    bool suggest(std::string words, std::optional<RuleEdit> edit = {});
    void suggestFor(const char* code, const Term* term, NodeId node, ValueId value);
    bool suggestTest(const AttributeTest& test, const Quantity& found, const Quantity& wanted);
    bool suggestAbsent(const Term& argument);
    bool suggestEscape(ValueId value, Reason reason);
    bool suggestCycle(const std::vector<NodeId>& path);
    bool suggestName(ValueId value, Reason reason);
    static std::string headOf(const Term& term);
    bool isWrittenOnce(TermId id) const;
    std::string plainNameOf(ValueId value) const;
    Match currentMatch() const;
    Match currentMatch(std::vector<NodeId> sorted) const; ///< with these nodes
    void sortByRank(std::vector<NodeId>& nodes) const;

    const Graph& m_graph;
    const GraphFacts& m_facts;
    const Convexity& m_convexity;
    const PreparedRule& m_prepared;
    const Rule& m_rule;
    const MatcherOptions& m_options;
    MatchScratch& m_scratch;
    std::vector<uint8_t>& m_used;
    std::vector<uint8_t> m_claimed; ///< of a rule that starts at a region: nodes of those found
    MatchResult& m_result;

    NodeId m_anchor;
    std::vector<Binding> m_slots;
    std::vector<DimBinding> m_dims;
    std::vector<NodeId> m_nodes;
    std::vector<TermId> m_takenBy;            ///< parallel to m_nodes
    std::vector<const std::string*> m_labels; ///< of the rule's alternatives
    std::vector<RegionBinding> m_regions;
    std::vector<Change> m_trail;
    std::vector<Binding> m_slotsBefore;
    std::vector<DimBinding> m_dimsBefore;
    std::vector<NodeId> m_sorted;    ///< nodes of the match being finished
    std::vector<ValueId> m_declared; ///< outputs of the match being settled

    std::vector<Neighbour> m_neighbours; ///< of the region that grows

    uint32_t m_spent = 0;
    uint32_t m_limit = 0;      ///< of m_spent
    uint64_t m_spentInAll = 0; ///< from all anchors
    uint64_t m_spentExplaining = 0;
    bool m_isOver = false;       ///< all steps of the rule are spent
    bool m_isExplaining = false; ///< nothing was found from this anchor: why not?
    bool m_filters = true;       ///< terms are not tried where the nodes above say no
    uint32_t m_successes = 0;    ///< continuations that held to the end
    size_t m_firstMatch = 0;     ///< in m_result, of this anchor
    size_t m_firstRefused = 0;
    uint32_t m_quiet = 0;      ///< inside `unless`: misses are good news
    uint32_t m_inInstance = 0; ///< inside `many`: what does not fit is left out
    ValueMarks m_triedValues;  ///< of rules that start at a value
    std::unordered_set<ValueId> m_explained;
    std::optional<PassedOver> m_passedOver;
    OptionalStep m_optional;
    bool m_nearestIsOptional = false; ///< m_nearest is of a step that may be left out
    uint32_t m_leastStep = 0;         ///< of a miss that is still wanted
    bool m_isTelling = false; ///< what a test says may get nearer when the search has passed it
    bool m_hasMiss = false;
    bool m_noted = false; ///< the last miss became the nearest one
    NearMiss m_nearest;
    std::vector<NodeId> m_nearestNodes; ///< those it had bound
};

} // namespace fuselage
