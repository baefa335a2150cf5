// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/matcher_index.h"

#include "core/rewrite/matcher_index_internal.h"

#include <algorithm>
#include <set>

namespace fuselage {

namespace {

constexpr uint32_t maxReach = 8;

/// Every term reachable from a term.
void collect(const Rule& rule, TermId id, std::vector<bool>& seen) {
    if (seen[id.index()])
        return;
    seen[id.index()] = true;
    forChildren(rule.term(id), [&](TermId child) { collect(rule, child, seen); });
}

std::set<SlotIndex> slotsIn(const Rule& rule, TermId id) {
    std::vector<bool> seen(rule.terms.size(), false);
    collect(rule, id, seen);
    std::set<SlotIndex> out;
    for (uint32_t i = 0; i < seen.size(); ++i)
        if (seen[i] && rule.terms[i].slot)
            out.insert(*rule.terms[i].slot);
    return out;
}

class Preparation {
public:
    explicit Preparation(PreparedRule& prepared) : m_prepared(prepared) {}

    void run() {
        const Rule& rule = m_prepared.rule;
        fillOps();
        m_prepared.definitions.resize(rule.slots.size());
        refer(rule.match, {});
        fillMade(m_prepared);
        m_prepared.plan = planOf(rule.match, {});
        fillCaptures();
        fillFilters(m_prepared);
        fillHeads();
    }

private:
    void fillOps() {
        for (const Term& term : m_prepared.rule.terms) {
            OpSet& ops = m_prepared.ops.emplace_back();
            for (Op op : term.ops)
                ops.set(static_cast<size_t>(op));
        }
    }

    /// Which definition makes a slot. What stands in `unless` about a name of the blocks around it
    /// says nothing of what may match there.
    void refer(const Block& block, std::set<SlotIndex> around) {
        for (const Definition& definition : block.definitions)
            for (uint32_t i = 0; i < definition.slots.size(); ++i)
                if (!around.contains(definition.slots[i]))
                    m_prepared.definitions[definition.slots[i]] = {&definition, i};
        for (const Many& many : block.manys)
            refer(many.block, around);
        around.merge(boundIn(block));
        for (const Block& unless : block.unless)
            refer(unless, around);
    }

    /// Slots that the definitions of a block bind, without its inner blocks.
    std::set<SlotIndex> boundIn(const Block& block) const {
        std::set<SlotIndex> out;
        for (const Definition& definition : block.definitions) {
            out.insert(definition.slots.begin(), definition.slots.end());
            out.merge(slotsIn(m_prepared.rule, definition.term));
        }
        return out;
    }

    BlockPlan planOf(const Block& block, std::set<SlotIndex> around) {
        const Rule& rule = m_prepared.rule;
        BlockPlan plan;
        plan.block = &block;
        std::set<SlotIndex> readByOthers;
        for (const Definition& definition : block.definitions)
            for (SlotIndex slot : slotsIn(rule, definition.term))
                if (std::find(definition.slots.begin(), definition.slots.end(), slot) ==
                    definition.slots.end())
                    readByOthers.insert(slot);
        for (uint32_t i = 0; i < block.definitions.size(); ++i) {
            const auto& slots = block.definitions[i].slots;
            if (std::none_of(slots.begin(), slots.end(),
                             [&](SlotIndex slot) { return readByOthers.contains(slot); }))
                plan.roots.push_back(i);
        }
        anchorLast(plan);
        for (uint32_t root : plan.roots) {
            TermId term = block.definitions[root].term;
            plan.rootFacts.push_back({rootsOf(m_prepared, term).ops, reachesOf(m_prepared, term)});
        }
        for (SlotIndex slot : boundIn(block))
            (around.contains(slot) ? plan.outside : plan.inside).push_back(slot);
        around.insert(plan.inside.begin(), plan.inside.end());
        for (const Many& many : block.manys)
            plan.manys.push_back(planOf(many.block, around));
        for (uint32_t root : plan.roots)
            if (!isReadByMany(plan, block.definitions[root]))
                plan.results.push_back(root);
        for (const BlockPlan& many : plan.manys)
            plan.inside.insert(plan.inside.end(), many.inside.begin(), many.inside.end());
        for (const Block& unless : block.unless)
            plan.unless.push_back(planOf(unless, around));
        return plan;
    }

    bool isReadByMany(const BlockPlan& plan, const Definition& definition) const {
        std::vector<SlotIndex> slots = definition.slots;
        if (const auto& capture = m_prepared.rule.term(definition.term).slot)
            slots.push_back(*capture);
        return std::any_of(plan.manys.begin(), plan.manys.end(), [&](const BlockPlan& many) {
            return std::find_first_of(many.outside.begin(), many.outside.end(), slots.begin(),
                                      slots.end()) != many.outside.end();
        });
    }

    /// The search starts at the last root that a node can make; bare values come last.
    void anchorLast(BlockPlan& plan) const {
        auto isBare = [&](uint32_t root) {
            return rootsOf(m_prepared, plan.block->definitions[root].term).ops.none();
        };
        std::stable_partition(plan.roots.begin(), plan.roots.end(),
                              [&](uint32_t root) { return !isBare(root); });
        auto firstBare = std::find_if(plan.roots.begin(), plan.roots.end(), isBare);
        if (firstBare != plan.roots.begin())
            std::rotate(plan.roots.begin(), firstBare - 1, firstBare);
        plan.anchoredByUsers = !plan.roots.empty() && isBare(plan.roots.front());
    }

    void fillCaptures() {
        const Rule& rule = m_prepared.rule;
        m_prepared.captures.resize(rule.terms.size());
        for (size_t i = 0; i < rule.terms.size(); ++i)
            if (rule.terms[i].kind == Term::Kind::Repeat) {
                std::vector<bool> inStep(rule.terms.size(), false);
                collect(rule, rule.terms[i].step, inStep);
                std::set<SlotIndex> slots = slotsIn(rule, rule.terms[i].step);
                // A name that is also used elsewhere is one value for all rounds.
                for (size_t other = 0; other < rule.terms.size(); ++other)
                    if (!inStep[other] && rule.terms[other].slot)
                        slots.erase(*rule.terms[other].slot);
                for (SlotIndex slot : slots)
                    if (!m_prepared.definitions[slot].definition)
                        m_prepared.captures[i].push_back(slot);
            }
    }

    void fillHeads() {
        const BlockPlan* plan = &m_prepared.plan;
        m_prepared.leastReaders = leastReadersOf(m_prepared);
        if (plan->roots.empty() || plan->anchoredByUsers) {
            // The value is read somewhere in what the first `many` collects.
            if (plan->manys.empty() || plan->manys[0].roots.empty())
                return;
            const BlockPlan& inner = plan->manys[0];
            addHeads(inner.block->definitions[inner.roots[0]].term, 0);
            for (const Reach& reach : inner.rootFacts[0].reaches)
                m_prepared.reach = std::max(m_prepared.reach, std::min(reach.levels, maxReach));
            m_prepared.steps = inner.block->definitions.empty() ? 0 : 1;
            return;
        }
        const Definition& first = plan->block->definitions[plan->roots[0]];
        TermId root = first.term;
        addHeads(root, 0);
        for (const Block& unless : plan->block->unless)
            if (isClassOf(unless, first))
                m_prepared.never |= m_prepared.ops[unless.definitions[0].term.index()];
        for (const Definition& definition : plan->block->definitions)
            m_prepared.steps += stepsOf(definition.term, 0);
        m_prepared.regionRoot = m_prepared.rule.term(root).kind == Term::Kind::Region;
    }

    /// True for `unless { y = Class; }` about what the definition makes, and nothing else.
    bool isClassOf(const Block& block, const Definition& made) const {
        if (block.definitions.size() != 1 || block.when || !block.conditions.empty() ||
            !block.manys.empty() || !block.unless.empty() || made.slots.size() != 1 ||
            block.definitions[0].slots != made.slots)
            return false;
        const Term& term = m_prepared.rule.term(block.definitions[0].term);
        return term.kind == Term::Kind::Node && !term.hasArguments && term.arguments.empty() &&
               term.tests.empty() && !term.slot && !term.type && term.custom.empty();
    }

    /// Each Node and Region that can stand at the root.
    void addHeads(TermId id, int depth) {
        const Term& term = m_prepared.rule.term(id);
        if (depth > maxTermDepth)
            return;
        switch (term.kind) {
        case Term::Kind::Node:
        case Term::Kind::Region:
            if (std::find(m_prepared.heads.begin(), m_prepared.heads.end(), id) ==
                m_prepared.heads.end())
                m_prepared.heads.push_back(id);
            return;
        case Term::Kind::Choice:
            for (const Term::Alternative& alternative : term.alternatives)
                addHeads(alternative.term, depth + 1);
            return;
        case Term::Kind::Pipe:
        case Term::Kind::Optional:
        case Term::Kind::Repeat:
            addHeads(term.step, depth + 1);
            if (term.kind == Term::Kind::Optional ||
                (term.kind == Term::Kind::Repeat && term.least == 0))
                addHeads(term.source, depth + 1);
            return;
        case Term::Kind::Value:
            if (term.slot && m_prepared.definitions[*term.slot].definition)
                addHeads(m_prepared.definitions[*term.slot].definition->term, depth + 1);
            else if (term.step.valid())
                addHeads(term.step, depth + 1);
            return;
        default:
            return;
        }
    }

    /// Nodes of the shortest way through a term, counting what is optional as present.
    uint32_t stepsOf(TermId id, int depth) const {
        const Term& term = m_prepared.rule.term(id);
        if (depth > maxTermDepth)
            return 0;
        uint32_t sum = term.kind == Term::Kind::Node || term.kind == Term::Kind::Region ? 1 : 0;
        if (term.kind == Term::Kind::Choice) {
            uint32_t least = UINT32_MAX;
            for (const Term::Alternative& alternative : term.alternatives)
                least = std::min(least, stepsOf(alternative.term, depth + 1));
            return term.alternatives.empty() ? 0 : least;
        }
        forChildren(term, [&](TermId child) { sum += stepsOf(child, depth + 1); });
        return sum;
    }

    PreparedRule& m_prepared;
};

} // namespace

std::unique_ptr<PreparedRule> prepareRule(const Rule& rule) {
    auto prepared = std::make_unique<PreparedRule>(rule);
    Preparation(*prepared).run();
    return prepared;
}

IndexedRule::IndexedRule(const Rule& rule, uint32_t position)
    : m_rule(rule), m_position(position), m_needs(neededOps(rule)) {}

bool IndexedRule::mayMatch(const OpSet& present) const {
    return std::all_of(m_needs.begin(), m_needs.end(),
                       [&](const OpSet& needed) { return (needed & present).any(); });
}

const PreparedRule& IndexedRule::prepared() const {
    std::call_once(m_once, [this] { m_prepared = prepareRule(m_rule); });
    return *m_prepared;
}

std::vector<std::string> replacedRules(const RuleSet& rules) {
    std::vector<std::string> out;
    for (const Rule& rule : rules.rules)
        if (!rule.replaces.empty())
            out.push_back(rule.replaces);
    return out;
}

RuleIndex::RuleIndex(const RuleSet& rules) : m_replaced(replacedRules(rules)) {
    for (uint32_t i = 0; i < rules.rules.size(); ++i)
        if (std::find(m_replaced.begin(), m_replaced.end(), rules.rules[i].name) ==
            m_replaced.end())
            m_rules.push_back(std::make_unique<IndexedRule>(rules.rules[i], i));
}

} // namespace fuselage
