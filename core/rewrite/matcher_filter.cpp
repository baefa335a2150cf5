// SPDX-License-Identifier: Apache-2.0
// The filter of each term: what a node and the nodes above it must be for the term to match, as
// masks that are compared before any search. A filter may let pass what does not match, never the
// other way round.
#include "core/rewrite/matcher_index_internal.h"

#include <algorithm>
#include <numeric>

namespace fuselage {

OpMask maskOf(const OpSet& ops) {
    OpMask mask = 0;
    forOps(ops, [&](Op op) { mask |= maskOf(op); });
    return mask;
}

namespace {

/// What the Hole of a scope can be: who makes it, and what must be among that node's operands.
struct HoleFilter {
    RootSet roots{{}, true};
    std::vector<OpMask> operands;
};

class Filters {
public:
    explicit Filters(PreparedRule& rule) : m_rule(rule), m_seen(rule.rule.terms.size(), false) {}

    void run() {
        m_rule.filters.assign(m_rule.rule.terms.size(), open(false));
        visit(m_rule.rule.match);
        // Only now no filter is opened any more.
        m_rule.choices.resize(m_rule.rule.terms.size());
        for (size_t i = 0; i < m_rule.rule.terms.size(); ++i) {
            const Term& term = m_rule.rule.terms[i];
            if (term.kind == Term::Kind::Pipe)
                m_rule.filters[i].takeMasks(m_rule.filters[term.step.index()]);
            else if (term.kind == Term::Kind::Choice)
                m_rule.choices[i] = byMaker(term);
        }
    }

private:
    /// The filter that lets everything pass.
    static TermFilter open(bool coversNodes) { return {{{}, true}, {}, {}, {}, coversNodes}; }

    void visit(const Block& block) {
        for (const Definition& definition : block.definitions)
            visit(definition.term, {}, 0);
        for (const Many& many : block.manys)
            visit(many.block);
        for (const Block& unless : block.unless)
            visit(unless);
    }

    void visit(TermId id, const HoleFilter& hole, int depth) {
        const Term& term = m_rule.rule.term(id);
        TermFilter& filter = m_rule.filters[id.index()];
        // What is known of a term at one place need not hold where it stands again.
        if (m_seen[id.index()] || depth > 4 * maxTermDepth) {
            filter = open(filter.coversNodes);
            return;
        }
        m_seen[id.index()] = true;
        filter.roots = rootsOf(m_rule, id, &hole.roots);
        filter.coversNodes = rootsOf(m_rule, id).ops.any();
        for (const Argument& argument : term.arguments)
            visit(argument.term, hole, depth + 1);
        for (const Term::Alternative& alternative : term.alternatives)
            visit(alternative.term, hole, depth + 1);
        if (term.source.valid())
            visit(term.source, hole, depth + 1);
        if (term.step.valid() && isStep(term)) {
            HoleFilter inner{holeOf(m_rule, term, &hole.roots), {}};
            if (term.kind != Term::Kind::Repeat)
                inner.operands = operandsOf(term.source, hole);
            visit(term.step, inner, depth + 1);
        } else if (term.step.valid()) {
            visit(term.step, hole, depth + 1);
        }
        if (term.kind == Term::Kind::Node)
            fillMasks(term, hole, filter);
    }

    std::unique_ptr<const AlternativesByMaker> byMaker(const Term& choice) const {
        auto out = std::make_unique<AlternativesByMaker>();
        const auto forMakers = [&](size_t alternative, auto visit) {
            const RootSet& roots =
                m_rule.filters[choice.alternatives[alternative].term.index()].roots;
            if (roots.any)
                for (size_t maker = 0; maker <= noMaker; ++maker)
                    visit(maker);
            else
                forOps(roots.ops, [&](Op op) { visit(static_cast<size_t>(op)); });
            visit(anyMaker);
        };
        const size_t count = choice.alternatives.size();
        for (size_t i = 0; i < count; ++i)
            forMakers(i, [&](size_t maker) { ++out->begins[maker + 1]; });
        std::partial_sum(out->begins.begin(), out->begins.end(), out->begins.begin());
        out->alternatives.resize(out->begins.back());
        auto next = out->begins;
        for (uint32_t i = 0; i < count; ++i)
            forMakers(i, [&](size_t maker) { out->alternatives[next[maker]++] = i; });
        return out;
    }

    void fillMasks(const Term& term, const HoleFilter& hole, TermFilter& filter) {
        bool flat = term.order == OperandOrder::Flat;
        for (const Argument& argument : term.arguments) {
            const TermFilter& operand = m_rule.filters[argument.term.index()];
            if (operand.roots.any)
                continue;
            OpMask mask = maskOf(operand.roots.ops);
            // A leaf of a flat tree stands as many nodes lower as the tree has further leaves.
            if (!flat || term.arguments.size() == 2)
                filter.operands.push_back(mask);
            else if (term.arguments.size() == 3)
                filter.near.push_back(mask);
            if (flat)
                continue;
            std::vector<OpMask> below = operandsOf(argument.term, hole);
            filter.beyond.insert(filter.beyond.end(), below.begin(), below.end());
        }
    }

    /// What must be among the operands of whichever node makes a value for the term.
    std::vector<OpMask> operandsOf(TermId id, const HoleFilter& hole) const {
        const Term& term = m_rule.rule.term(id);
        if (term.kind == Term::Kind::Hole)
            return hole.operands;
        if (term.kind == Term::Kind::Pipe)
            id = term.step;
        bool isNode = m_rule.rule.term(id).kind == Term::Kind::Node;
        return isNode ? m_rule.filters[id.index()].operands : std::vector<OpMask>();
    }

    PreparedRule& m_rule;
    std::vector<bool> m_seen;
};

/// True when every match of the term has a node that reads the slot.
bool alwaysReads(const Rule& rule, TermId id, SlotIndex slot, int depth) {
    const Term& term = rule.term(id);
    auto isSlot = [&](TermId inner) {
        const Term& value = rule.term(inner);
        return value.kind == Term::Kind::Value && value.slot == slot && !value.mayBeAbsent;
    };
    if (depth > maxTermDepth)
        return false;
    switch (term.kind) {
    case Term::Kind::Node:
        return term.order != OperandOrder::Flat &&
               std::any_of(term.arguments.begin(), term.arguments.end(),
                           [&](const Argument& argument) {
                               return isSlot(argument.term) ||
                                      alwaysReads(rule, argument.term, slot, depth + 1);
                           });
    case Term::Kind::Choice:
        return !term.alternatives.empty() &&
               std::all_of(term.alternatives.begin(), term.alternatives.end(),
                           [&](const Term::Alternative& alternative) {
                               return alwaysReads(rule, alternative.term, slot, depth + 1);
                           });
    case Term::Kind::Pipe:
    case Term::Kind::Optional:
    case Term::Kind::Repeat:
        return alwaysReads(rule, term.source, slot, depth + 1) ||
               (term.kind == Term::Kind::Pipe && isSlot(term.source) &&
                rule.term(term.step).kind == Term::Kind::Node);
    default:
        return false;
    }
}

} // namespace

void fillFilters(PreparedRule& rule) {
    Filters(rule).run();
}

uint32_t leastReadersOf(const PreparedRule& rule) {
    const BlockPlan& plan = rule.plan;
    if (plan.roots.empty())
        return 0;
    const Definition& anchored = plan.block->definitions[plan.roots[0]];
    std::optional<SlotIndex> slot = rule.rule.term(anchored.term).slot;
    if (!anchored.slots.empty())
        slot = anchored.slots[0];
    uint32_t least = 0;
    for (size_t i = 0; slot && i < plan.manys.size(); ++i) {
        const Many& many = plan.block->manys[i];
        if (plan.manys[i].roots.empty())
            continue;
        uint32_t root = plan.manys[i].roots[0];
        // Instances share no node, so each has a reader of its own.
        if (alwaysReads(rule.rule, many.block.definitions[root].term, *slot, 0))
            least = std::max(least, many.least);
    }
    return least;
}

} // namespace fuselage
