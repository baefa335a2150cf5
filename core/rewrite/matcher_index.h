// SPDX-License-Identifier: Apache-2.0
// Rules made ready for matching: `spec` terms written out, holes made explicit, roots of each block
// found, and signatures that reject most nodes by their own operator and those of their producers.
#pragma once

#include "core/rewrite/pattern.h"

#include <bitset>
#include <memory>
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

/// One way a match can begin: an operator, and one that must make some operand of it.
struct Signature {
    OpSet ops;
    RootSet producers;
};

struct DefinitionRef {
    const Definition* definition = nullptr;
    uint32_t position = 0; ///< in Definition::slots
};

/// How a block is searched; parallel to Block and its inner blocks.
struct BlockPlan {
    const Block* block = nullptr;
    std::vector<uint32_t> roots;    ///< definitions that must match; the anchored one first
    bool anchoredByUsers = false;   ///< the first root is a bare value: found through `manys`
    std::vector<SlotIndex> outside; ///< slots that the block reads and a block around it binds
    std::vector<SlotIndex> inside;  ///< slots bound in the block
    std::vector<BlockPlan> manys;
    std::vector<BlockPlan> unless;
};

struct PreparedRule {
    Rule rule;                                    ///< with `spec` terms written out
    uint32_t position = 0;                        ///< in RuleSet::rules
    std::vector<OpSet> ops;                       ///< per term: of Node and Region
    std::vector<DefinitionRef> definitions;       ///< per slot
    std::vector<std::vector<SlotIndex>> captures; ///< per Repeat term: slots of its step only
    BlockPlan plan;
    OpSet anchors;                     ///< operators of the nodes that a search starts at
    std::vector<Signature> signatures; ///< one of them must fit
    uint32_t steps = 0;                ///< nodes of the shortest way through the pattern
    uint32_t reach = 0; ///< of rules anchored by users: how far before an instance the value stands
    bool regionRoot = false; ///< the anchored root is a region

    PreparedRule() = default;
    PreparedRule(const PreparedRule&) = delete;
    PreparedRule& operator=(const PreparedRule&) = delete;
};

/// Operators that can stand at the root of a term; `hole` is what its Hole reads.
RootSet rootsOf(const PreparedRule& rule, TermId term, const RootSet* hole = nullptr);

/// A place in a term that reads a slot, and the levels of nodes above it, at most.
struct Reach {
    SlotIndex slot = 0;
    uint32_t levels = 0;
};

std::vector<Reach> reachesOf(const PreparedRule& rule, TermId term);

/// The rules of a set, ready to match. Rules that another one replaces are left out.
class RuleIndex {
public:
    explicit RuleIndex(const RuleSet& rules);

    const std::vector<std::unique_ptr<PreparedRule>>& rules() const { return m_rules; }

    /// Names of rules that `replaces` switched off.
    const std::vector<std::string>& replaced() const { return m_replaced; }

private:
    std::vector<std::unique_ptr<PreparedRule>> m_rules;
    std::vector<std::string> m_replaced;
};

/// One rule alone; for tests and for matching a single edited rule.
std::unique_ptr<PreparedRule> prepareRule(const Rule& rule, uint32_t position = 0);

} // namespace fuselage
