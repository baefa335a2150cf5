// SPDX-License-Identifier: Apache-2.0
// The operands of a node against the arguments of a term: both orders of commutative operators,
// named and remaining operands, and `flat` trees.
#include "core/ops/op_schema.h"
#include "core/ops/op_table.h"
#include "core/rewrite/matcher_internal.h"

#include <algorithm>

namespace fuselage {

namespace {

constexpr size_t maxFlatLeaves = 6;

/// Where an argument stands in the schema; positional ones count from the left.
size_t positionOf(const Term& term, size_t index, const Node& node) {
    const std::string& name = term.arguments[index].name;
    if (name.empty())
        return index;
    for (const CustomOperatorPtr& custom : term.custom)
        if (custom->is(node))
            return custom->input(name).value_or(term.arguments.size());
    const std::vector<std::string>& names = inputNamesOf(node.op);
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

size_t swappedPosition(size_t position, bool swapped) {
    return swapped && position < 2 ? 1 - position : position;
}

/// Arguments that reject soonest come first: numbers, then nodes, then plain values.
size_t flatOrder(const Rule& rule, const Term& term, size_t index) {
    auto weight = [&](size_t i) {
        Term::Kind kind = rule.term(term.arguments[i].term).kind;
        if (kind == Term::Kind::Number)
            return 0;
        return kind == Term::Kind::Any || kind == Term::Kind::Value ? 2 : 1;
    };
    for (int wanted = 0; wanted < 3; ++wanted)
        for (size_t i = 0; i < term.arguments.size(); ++i)
            if (weight(i) == wanted && index-- == 0)
                return i;
    return 0;
}

} // namespace

bool Search::matchOperands(const Term& term, NodeId id, const HoleFrame* hole, Next next) {
    if (term.order == OperandOrder::Flat)
        return matchFlat(term, id, hole, next);
    uint32_t successes = m_successes;
    if (matchArguments(term, id, false, 0, hole, next))
        return true;
    const Node& node = m_graph.node(id);
    bool commutes = term.order == OperandOrder::Schema && hasTrait(node.op, Commutative) &&
                    node.explicitInputs >= 2 && node.inputs[0] != node.inputs[1] &&
                    !term.arguments.empty();
    if (!commutes)
        return false;
    if (m_successes != successes) {
        // With operands that cover no node, the other order is the same match.
        bool coversNodes = std::any_of(
            term.arguments.begin(), term.arguments.end(), [&](const Argument& argument) {
                return m_rule.term(argument.term).kind == Term::Kind::Hole ||
                       m_prepared.filters[argument.term.index()].coversNodes;
            });
        if (!coversNodes)
            return false;
    }
    return matchArguments(term, id, true, 0, hole, next);
}

bool Search::matchArguments(const Term& term, NodeId id, bool swapped, size_t index,
                            const HoleFrame* hole, Next next) {
    const Node& node = m_graph.node(id);
    if (index == term.arguments.size())
        return operandsCovered(term, id) && next();
    const Term& argument = m_rule.term(term.arguments[index].term);
    if (argument.kind == Term::Kind::Value && argument.rest) // nothing follows it
        return matchRestOperands(term, id, swapped, index, next);
    size_t position = swappedPosition(positionOf(term, index, node), swapped);
    ValueId operand = position < node.explicitInputs ? node.inputs[position] : ValueId();
    if (!operand.valid() && (argument.kind != Term::Kind::Value || !argument.mayBeAbsent) &&
        argument.kind != Term::Kind::Hole) {
        miss(code::operands, &term, id, {}, [&] {
            return std::pair(std::string("no operand ") + std::to_string(position + 1),
                             argument.text.empty() ? std::string("one")
                                                   : "`" + argument.text + "`");
        });
        return suggestAbsent(argument);
    }
    auto others = [&] { return matchArguments(term, id, swapped, index + 1, hole, next); };
    const TermId wanted = term.arguments[index].term;
    if (matchTerm(wanted, operand, 0, hole, others))
        return true;
    return m_isExplaining && m_prepared.filters[wanted.index()].coversNodes &&
           matchBehind(operand, wanted,
                       [&](ValueId behind) { return matchTerm(wanted, behind, 0, hole, others); });
}

/// `rest...`: all operands that the arguments before it do not read.
bool Search::matchRestOperands(const Term& term, NodeId id, bool swapped, size_t index, Next next) {
    const Node& node = m_graph.node(id);
    const Term& argument = m_rule.term(term.arguments[index].term);
    Binding list{Binding::Kind::List, {}, {}};
    list.items.reserve(node.explicitInputs);
    for (size_t i = 0; i < node.explicitInputs; ++i) {
        bool read = false;
        for (size_t before = 0; before < index && !read; ++before)
            read = swappedPosition(positionOf(term, before, node), swapped) == i;
        if (!read)
            list.items.push_back(node.inputs[i].valid() ? Binding::of(node.inputs[i])
                                                        : Binding::none());
    }
    Mark before = mark();
    if (argument.slot && !bindSlot(*argument.slot, std::move(list)))
        return false;
    if (next())
        return true;
    undo(before);
    return false;
}

/// Operands that no argument names must be absent, tested by name, or constant parameters.
bool Search::operandsCovered(const Term& term, NodeId id) {
    if (!term.hasArguments)
        return true;
    const Node& node = m_graph.node(id);
    const std::vector<std::string>& names = inputNamesOf(node.op);
    for (size_t i = 0; i < node.explicitInputs; ++i) {
        if (!node.inputs[i].valid())
            continue;
        bool named = false;
        for (size_t a = 0; a < term.arguments.size() && !named; ++a)
            named = positionOf(term, a, node) == i ||
                    (m_rule.term(term.arguments[a].term).rest && a <= i);
        if (named)
            continue;
        bool tested = i < names.size() &&
                      std::any_of(term.tests.begin(), term.tests.end(),
                                  [&](const AttributeTest& t) { return t.name == names[i]; });
        const Value& value = m_graph.value(node.inputs[i]);
        if (tested || (value.constant && isParameterInput(node.op, i)))
            continue;
        return miss(code::operands, &term, id, node.inputs[i], [&] {
            return std::pair("operand " + std::to_string(i + 1) + " `" + value.name + "`",
                             std::string("none there"));
        });
    }
    return true;
}

bool Search::matchFlat(const Term& term, NodeId id, const HoleFrame* hole, Next next) {
    const Node& node = m_graph.node(id);
    if (term.arguments.size() > maxFlatLeaves || node.explicitInputs != 2)
        return false;
    const VectorPool<ValueId>::Loan loan(m_scratch.values);
    std::vector<ValueId>& leaves = *loan;
    leaves.assign({node.inputs[0], node.inputs[1]});
    return splitLeaves(term, leaves, 0, hole, next);
}

/// Each leaf from `from` on is either kept, or replaced by the operands of its node.
bool Search::splitLeaves(const Term& term, std::vector<ValueId>& leaves, size_t from,
                         const HoleFrame* hole, Next next) {
    if (leaves.size() > term.arguments.size())
        return false;
    if (!spend())
        return true;
    if (from == leaves.size()) {
        if (leaves.size() == term.arguments.size())
            return assignLeaves(term, leaves, 0, 0, hole, next);
        return miss(code::operands, &term, m_nodes.back(), {}, [&] {
            return std::pair(std::to_string(leaves.size()) + " operands",
                             std::to_string(term.arguments.size()));
        });
    }
    if (splitLeaves(term, leaves, from + 1, hole, next))
        return true;
    const NodeId maker = m_facts.makerOf(leaves[from]);
    if (!maker.valid() || (m_used[maker.index()] != 0 && m_quiet == 0))
        return false;
    const Node& node = m_graph.node(maker);
    if (std::find(term.ops.begin(), term.ops.end(), node.op) == term.ops.end() ||
        node.explicitInputs != 2)
        return false;
    Mark before = mark();
    take(maker);
    const VectorPool<ValueId>::Loan loan(m_scratch.values);
    std::vector<ValueId>& deeper = *loan;
    deeper = leaves;
    deeper[from] = node.inputs[0];
    deeper.insert(deeper.begin() + static_cast<std::ptrdiff_t>(from) + 1, node.inputs[1]);
    if (splitLeaves(term, deeper, from, hole, next))
        return true;
    undo(before);
    return false;
}

bool Search::assignLeaves(const Term& term, const std::vector<ValueId>& leaves, uint32_t taken,
                          size_t index, const HoleFrame* hole, Next next) {
    if (index == leaves.size())
        return next();
    size_t argument = flatOrder(m_rule, term, index);
    bool coversNodes = m_prepared.filters[term.arguments[argument].term.index()].coversNodes;
    uint32_t successes = m_successes;
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        if ((taken & (1U << leaf)) != 0)
            continue;
        if (!spend())
            return true;
        auto others = [&] {
            return assignLeaves(term, leaves, taken | (1U << leaf), index + 1, hole, next);
        };
        const TermId wanted = term.arguments[argument].term;
        if (matchTerm(wanted, leaves[leaf], 0, hole, others))
            return true;
        if (m_isExplaining && coversNodes && matchBehind(leaves[leaf], wanted, [&](ValueId behind) {
                return matchTerm(wanted, behind, 0, hole, others);
            }))
            return true;
        // Another assignment of the same leaves covers the same nodes.
        if (m_successes != successes && !coversNodes)
            return false;
    }
    return false;
}

} // namespace fuselage
