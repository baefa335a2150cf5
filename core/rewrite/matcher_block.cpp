// SPDX-License-Identifier: Apache-2.0
// Blocks: their roots, what must not match, conditions, and the end of a match.
#include "core/rewrite/comparison.h"
#include "core/rewrite/matcher_internal.h"

#include <algorithm>

namespace fuselage {

bool Search::matchBlock(const BlockPlan& plan, Next next) {
    return matchRoots(plan, 0, next);
}

bool Search::matchRoots(const BlockPlan& plan, size_t index, Next next) {
    if (index == plan.roots.size())
        return matchRest(plan, next);
    const Definition& definition = plan.block->definitions[plan.roots[index]];
    auto others = [&] { return matchRoots(plan, index + 1, next); };

    // A root that reads a bound value as a whole: "x: [..., K];"
    const Term& term = m_rule.term(definition.term);
    std::optional<SlotIndex> slot =
        !definition.slots.empty() ? std::optional(definition.slots[0]) : term.slot;
    if (slot && m_slots[*slot].bound())
        return matchRootAt(definition, m_slots[*slot].value, others);

    const VectorPool<NodeId>::Loan loan(m_scratch.nodes);
    std::vector<NodeId>& found = *loan;
    findCandidates(plan.rootFacts[index], found);
    if (found.empty())
        return miss(code::noProducer, &term, {}, {}, [&] {
            return std::pair(std::string("no node around the match"), "`" + term.text + "`");
        });
    for (NodeId node : found) {
        if (!spend())
            return true;
        const std::vector<ValueId>& outputs = m_graph.node(node).outputs;
        auto first = std::find_if(outputs.begin(), outputs.end(),
                                  [](ValueId value) { return value.valid(); });
        if (first != outputs.end() && matchRootAt(definition, *first, others))
            return true;
    }
    return false;
}

bool Search::matchRootAt(const Definition& definition, ValueId value, Next next) {
    const uint32_t position = value.valid() ? m_facts.makers[value.index()].slot : 0;
    if (!definition.slots.empty())
        return position < definition.slots.size() &&
               matchDefinition(definition, position, value, next);
    return matchTerm(definition.term, value, position, nullptr, next);
}

bool Search::matchDefinition(const Definition& definition, uint32_t position, ValueId value,
                             Next next) {
    Mark before = mark();
    const Term& term = m_rule.term(definition.term);
    NodeId maker = m_facts.makerOf(value);
    for (uint32_t i = 0; i < definition.slots.size(); ++i) {
        ValueId output;
        if (i == position)
            output = value;
        else if (maker.valid() && i < m_graph.node(maker).outputs.size())
            output = m_graph.node(maker).outputs[i];
        if (!bindValue(definition.slots[i], output, term)) {
            undo(before);
            return false;
        }
    }
    if (matchTerm(definition.term, value, position, nullptr, next))
        return true;
    undo(before);
    return false;
}

/// Nodes that may be the root of a definition: those above the values already bound, or all.
void Search::findCandidates(const RootFacts& root, std::vector<NodeId>& out) {
    const Reach* best = nullptr;
    for (const Reach& reach : root.reaches)
        if (m_slots[reach.slot].kind == Binding::Kind::Value &&
            (!best || reach.levels < best->levels))
            best = &reach;
    if (!best) {
        for (size_t op = 0; op < m_facts.byOp.size(); ++op)
            if (root.ops.test(op))
                out.insert(out.end(), m_facts.byOp[op].begin(), m_facts.byOp[op].end());
    } else {
        beginWalk();
        std::vector<ValueId>&level = m_scratch.level, &above = m_scratch.above;
        level.assign(1, m_slots[best->slot].value);
        for (uint32_t i = 0; i < best->levels && !level.empty() && spend(); ++i) {
            above.clear();
            for (ValueId value : level)
                for (const Use& use : m_graph.value(value).uses) {
                    if (!firstVisit(use.node))
                        continue;
                    for (ValueId output : m_graph.node(use.node).outputs)
                        if (output.valid())
                            above.push_back(output);
                    if (contains(root.ops, m_facts.opOf(use.node)))
                        out.push_back(use.node);
                }
            level.swap(above);
        }
    }
    sortByRank(out);
}

bool Search::matchRest(const BlockPlan& plan, Next next) {
    auto tests = [&] { return holdsUnless(plan) && holdsConditions(*plan.block) ? next() : false; };
    return matchManys(plan, 0, tests);
}

/// Conditions of an inlined pattern count where its result is bound.
bool Search::isTaken(const std::optional<SlotIndex>& when) const {
    return !when || m_slots[*when].kind == Binding::Kind::Value;
}

bool Search::holdsUnless(const BlockPlan& plan) {
    for (const BlockPlan& inner : plan.unless) {
        if (!isTaken(inner.block->when))
            continue;
        Mark before = mark();
        size_t nodesBefore = m_nodes.size();
        bool found = false;
        auto succeed = [&] { return found = true; };
        // Nodes of the match may be part of what must not be there.
        ++m_quiet;
        matchBlock(inner, succeed);
        --m_quiet;
        NodeId culprit = found && m_nodes.size() > nodesBefore ? m_nodes.back() : NodeId();
        std::string by;
        if (found && m_isExplaining)
            for (size_t i = nodesBefore; i < m_nodes.size(); ++i)
                by += (by.empty() ? "" : ", ") + nodeText(m_nodes[i]);
        undo(before);
        if (!found)
            continue;
        miss(code::unless, nullptr, culprit, {}, [&] {
            return std::pair("a match of this `unless`" + (by.empty() ? "" : " by " + by),
                             std::string("none"));
        });
        if (m_noted)
            m_nearest.span = inner.block->span;
        return m_noted && suggest("drop this `unless`, if the rule is right without it",
                                  RuleEdit{RuleEdit::Kind::Replace, inner.block->span, {}, ""});
    }
    return true;
}

/// What a side of a condition is about: the first value in it, or the dimension that it is.
Search::Subject Search::subjectOf(const Expression& expression) const {
    if (expression.kind == Expression::Kind::Slot &&
        m_slots[expression.slot].kind == Binding::Kind::Value)
        return {m_slots[expression.slot].value, {}};
    if (expression.kind == Expression::Kind::Dim)
        return {{}, m_rule.dims[expression.slot]};
    for (const Expression& part : expression.args)
        if (const Subject found = subjectOf(part); found.value.valid())
            return found;
    return {};
}

bool Search::holdsConditions(const Block& block) {
    for (const Condition& condition : block.conditions) {
        if (!isTaken(condition.when))
            continue;
        Quantity value = evaluate(context(), condition.expression);
        if (value.truth() == Truth::True)
            continue;
        const auto sides = [&] {
            const auto failed = failedComparison(context(), condition.expression, value.truth());
            return failed ? std::pair(textOfSide(failed->found), failed->wanted())
                          : std::pair(value.text(), std::string("true"));
        };
        const RuleEdit without{RuleEdit::Kind::Replace, condition.span, {}, "true"};
        if (value.truth() == Truth::Unknown) {
            if (m_quiet > 0)
                return false;
            const std::string missing = missingIn(context(), condition.expression);
            const auto [found, expected] = sides();
            const char* known =
                expected.starts_with("== ")
                    ? "give dimensions that are the same size one name, or a number, in the model, "
                      "or drop this condition"
                    : "give the dimension a number in the model, or drop this condition";
            return refuse(
                {code::unknown,
                 "a condition is not known: " +
                     (missing.empty() ? "found " + found : "it asks for " + missing) +
                     ", the rule wants " + expected,
                 missing.empty() ? known : "ask for what this match has, or drop this condition",
                 {{"found", found}, {"expected", expected}}},
                without);
        }
        Subject subject;
        if (m_isExplaining) {
            const auto failed = failedComparison(context(), condition.expression, value.truth());
            subject = subjectOf(failed ? failed->whole->args[failed->turned ? 1 : 0]
                                       : condition.expression);
        }
        miss(code::condition, nullptr, {}, subject.value, [&] {
            auto [found, expected] = sides();
            return std::pair(subject.name.empty() ? found : "`" + subject.name + "` = " + found,
                             std::move(expected));
        });
        if (m_noted)
            m_nearest.span = condition.span;
        return m_noted && suggest("drop this condition, if the rule is right without it", without);
    }
    return true;
}

bool Search::finish() {
    if (m_passedOver)
        return notePassedOver(true);
    m_sorted = m_nodes;
    sortByRank(m_sorted);
    for (size_t i = m_firstMatch; i < m_result.matches.size(); ++i)
        if (m_result.matches[i].nodes == m_sorted) {
            ++m_successes;
            return false;
        }
    Match match = currentMatch(m_sorted);
    if (match.nodes.empty() || !settleOutputs(match))
        return false;
    std::vector<NodeId> cycle = m_convexity.cycleOf(match.nodes, match.outputs);
    if (!cycle.empty())
        return suggestCycle(cycle);
    ++m_successes;
    if (m_prepared.regionRoot)
        for (NodeId node : match.nodes)
            m_claimed[node.index()] = 1;
    m_result.matches.push_back(std::move(match));
    return m_result.matches.size() - m_firstMatch >= m_options.matchesAtOnce;
}

} // namespace fuselage
