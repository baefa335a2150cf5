// SPDX-License-Identifier: Apache-2.0
// Rules made ready for matching: holes made explicit, roots of each block found, and filters that
// reject most values by the operators that make them and their operands.
#pragma once

#include "core/rewrite/pattern.h"

#include <array>
#include <bitset>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace fuselage {

using OpSet = std::bitset<static_cast<size_t>(Op::Count_)>;

inline bool contains(const OpSet& set, Op op) {
    return set.test(static_cast<size_t>(op));
}

/// Operators that can make a value; `any`: also values that no node makes, or any operator.
struct RootSet {
    OpSet ops;
    bool any = false;
};

/// Calls visit(op) for each operator of a set.
void forOps(const OpSet& ops, auto visit) {
    for (size_t op = ops._Find_first(); op < ops.size(); op = ops._Find_next(op))
        visit(static_cast<Op>(op));
}

/// Operators as bits that several of them share: rejects in one step, never wrongly.
using OpMask = uint64_t;

inline OpMask maskOf(Op op) {
    return OpMask{1} << (static_cast<size_t>(op) % 64);
}

OpMask maskOf(const OpSet& ops);

/// What can be told of a value before a term is tried on it: who may make it, and which operators
/// must be found around that node (one out of each mask).
struct TermFilter {
    RootSet roots;
    std::vector<OpMask> operands; ///< among the makers of its operands
    std::vector<OpMask> beyond;   ///< among the makers of their operands
    std::vector<OpMask> near;     ///< among either
    bool coversNodes = false;     ///< a match of the term can hold nodes

    void takeMasks(const TermFilter& other) {
        operands = other.operands;
        beyond = other.beyond;
        near = other.near;
    }

    bool sameMasks(const TermFilter& other) const {
        return operands == other.operands && beyond == other.beyond && near == other.near;
    }
};

/// Stands for "no node" among the operators that make a value.
constexpr size_t noMaker = static_cast<size_t>(Op::Count_);
constexpr size_t anyMaker = noMaker + 1; ///< filters do not count

/// Which alternatives of a choice may match a value, by the operator of the node that makes it:
/// those whose roots have it, in their order.
struct AlternativesByMaker {
    std::vector<uint32_t> alternatives; ///< for maker after maker
    std::array<uint32_t, anyMaker + 2> begins{};

    std::span<const uint32_t> of(size_t maker) const {
        return std::span(alternatives).subspan(begins[maker], begins[maker + 1] - begins[maker]);
    }
};

/// A place in a term that reads a slot, and the levels of nodes above it, at most.
struct Reach {
    SlotIndex slot = 0;
    uint32_t levels = 0;

    friend bool operator==(const Reach&, const Reach&) = default;
};

struct DefinitionRef {
    const Definition* definition = nullptr;
    uint32_t position = 0; ///< in Definition::slots
};

/// What is known before the search of a definition that must match.
struct RootFacts {
    OpSet ops; ///< of the nodes that it may be
    std::vector<Reach> reaches;
};

/// How a block is searched; parallel to Block and its inner blocks.
struct BlockPlan {
    const Block* block = nullptr;
    std::vector<uint32_t> roots;      ///< definitions that must match; the anchored one first
    std::vector<RootFacts> rootFacts; ///< parallel to roots
    std::vector<uint32_t> results;    ///< those of `roots` that no `many` of the block reads
    bool anchoredByUsers = false;     ///< the first root is a bare value: found through `manys`
    std::vector<SlotIndex> outside;   ///< slots that the block reads and a block around it binds
    std::vector<SlotIndex> inside;    ///< slots bound in the block
    std::vector<BlockPlan> manys;
    std::vector<BlockPlan> unless;
};

/// What the search of one rule needs. Points into the rule.
struct PreparedRule {
    explicit PreparedRule(const Rule& itsRule) : rule(itsRule) {}

    const Rule& rule;
    std::vector<OpSet> ops;          ///< per term: of Node and Region
    std::vector<TermFilter> filters; ///< per term
    std::vector<std::unique_ptr<const AlternativesByMaker>> choices; ///< per term: of a Choice
    std::vector<DefinitionRef> definitions;                          ///< per slot
    std::vector<RootSet> made;                                       ///< per slot with a definition
    std::vector<std::vector<SlotIndex>> captures; ///< per Repeat term: slots of its step only
    BlockPlan plan;
    std::vector<TermId> heads; ///< a search starts at a node that passes the filter of one of them
    OpSet never;               ///< no search starts at one: `unless { y = Class; }` of the root
    uint32_t steps = 0;        ///< nodes of the shortest way through the pattern
    uint32_t reach = 0; ///< of rules anchored by users: how far before an instance the value stands
    uint32_t leastReaders = 0; ///< of the value that the search starts at, for its `many`
    bool regionRoot = false;   ///< the anchored root is a region

    PreparedRule(const PreparedRule&) = delete;
    PreparedRule& operator=(const PreparedRule&) = delete;
};

/// Operators that can stand at the root of a term; `hole` is what its Hole reads.
RootSet rootsOf(const PreparedRule& rule, TermId term, const RootSet* hole = nullptr);

std::vector<Reach> reachesOf(const PreparedRule& rule, TermId term);

/// Names of rules that `replaces` switches off.
std::vector<std::string> replacedRules(const RuleSet& rules);

/// Operators that a graph must have for the rule to match: of each set one at least.
std::vector<OpSet> neededOps(const Rule& rule);

/// A rule of an index. What its search needs is made when it is first asked for: few graphs have
/// the operators of every rule.
class IndexedRule {
public:
    IndexedRule(const Rule& rule, uint32_t position);

    const Rule& rule() const { return m_rule; }

    /// In RuleSet::rules.
    uint32_t position() const { return m_position; }

    /// False: a graph that has these operators and no others has no match.
    bool mayMatch(const OpSet& present) const;

    /// May be called by several threads.
    const PreparedRule& prepared() const;

private:
    const Rule& m_rule;
    uint32_t m_position;
    std::vector<OpSet> m_needs;
    mutable std::once_flag m_once;
    mutable std::unique_ptr<const PreparedRule> m_prepared;
};

/// The rules of a set, which must outlive it. Rules that another one replaces are left out.
class RuleIndex {
public:
    explicit RuleIndex(const RuleSet& rules);

    const std::vector<std::unique_ptr<IndexedRule>>& rules() const { return m_rules; }

    const std::vector<std::string>& replaced() const { return m_replaced; }

private:
    std::vector<std::unique_ptr<IndexedRule>> m_rules;
    std::vector<std::string> m_replaced;
};

/// One rule alone, which must outlive what is made of it.
std::unique_ptr<PreparedRule> prepareRule(const Rule& rule);
std::unique_ptr<PreparedRule> prepareRule(Rule&&) = delete;

} // namespace fuselage
