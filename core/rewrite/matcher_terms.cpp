// SPDX-License-Identifier: Apache-2.0
// Terms against values: backtracking over alternatives, optional steps and repetition.
#include "core/graph/text.h"
#include "core/rewrite/matcher_internal.h"

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

bool near(double a, double b, double tolerance) {
    return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

/// A constant counts as equal when it is near the number or near what its type can store of it.
bool isNumber(const Tensor& tensor, double number, double tolerance) {
    if (tensor.elementCount() == 0 || !tensor.defined() || tensor.dtype() == DType::String)
        return false;
    double stored = roundTo(tensor.dtype(), number);
    const bool hasOtherSign = std::signbit(tensor.at(0)) != std::signbit(number);
    if (tolerance == 0 && number == 0 && isFloat(tensor.dtype()) && hasOtherSign)
        return false; // x - -0 is not x
    auto fits = [&](double value) {
        return value == number || value == stored || near(value, number, tolerance) ||
               (isFloat(tensor.dtype()) && near(value, stored, tolerance));
    };
    double first = tensor.at(0);
    if (!fits(first))
        return false;
    for (int64_t i = 1; i < tensor.elementCount(); ++i)
        if (tensor.at(i) != first)
            return false;
    return true;
}

std::string textOf(double number) {
    return Quantity::real(number).text();
}

/// The operator that a term wants, or how many there are to choose from.
std::string operatorsText(const Term& term) {
    const auto isPlain = [](Op op) { return op != Op::Unknown && op != Op::Fused; };
    const auto plain = std::find_if(term.ops.begin(), term.ops.end(), isPlain);
    const auto count =
        static_cast<size_t>(std::count_if(term.ops.begin(), term.ops.end(), isPlain)) +
        term.custom.size();
    if (count == 1)
        return term.custom.empty() ? nameOf(*plain) : term.custom[0]->text();
    return "one of " + std::to_string(count) + " operators";
}

} // namespace

bool Search::isOneOf(TermId id, NodeId node) const {
    const Op op = m_facts.opOf(node);
    if (!contains(m_prepared.ops[id.index()], op))
        return false;
    if (op != Op::Unknown && op != Op::Fused)
        return true;
    const Node& candidate = m_graph.node(node);
    const std::vector<CustomOperatorPtr>& custom = m_rule.term(id).custom;
    return std::any_of(custom.begin(), custom.end(),
                       [&](const CustomOperatorPtr& each) { return each->is(candidate); });
}

bool Search::matchTerm(TermId id, ValueId value, uint32_t position, const HoleFrame* hole,
                       Next next) {
    if (!mayMatch(id, value))
        return false;
    const Term& term = m_rule.term(id);
    switch (term.kind) {
    case Term::Kind::Any:
        return next();
    case Term::Kind::Hole:
        return matchHole(term, value, hole, next);
    case Term::Kind::Value:
        return matchValue(term, value, hole, next);
    case Term::Kind::Number:
        return matchNumber(term, value, next);
    case Term::Kind::Node:
        return matchNode(id, value, position, hole, next);
    case Term::Kind::Region:
        return matchRegion(id, value, position, hole, next);
    case Term::Kind::Choice:
        return matchChoice(id, value, position, hole, next);
    case Term::Kind::Pipe:
    case Term::Kind::Optional:
        return matchPipe(term, value, position, hole, next);
    case Term::Kind::Repeat:
        return matchRepeat(id, value, 0, hole, next);
    }
    return false;
}

bool Search::matchValue(const Term& term, ValueId value, const HoleFrame* hole, Next next) {
    if (!value.valid() && !term.mayBeAbsent)
        return miss(code::operands, &term, {}, value, [&] {
            return std::pair(std::string("no operand"),
                             term.slot ? "`" + m_rule.slots[*term.slot].name + "`" : "a value");
        });
    Mark before = mark();
    bool isNew = !term.slot || !m_slots[*term.slot].bound();
    if (term.slot && !bindValue(*term.slot, value, term))
        return false;
    if (value.valid() && !checkType(term, value)) {
        undo(before);
        return false;
    }
    bool stop = false;
    const Definition* definition =
        term.slot ? m_prepared.definitions[*term.slot].definition : nullptr;
    if (!isNew || !value.valid())
        stop = next();
    else if (definition)
        stop =
            matchDefinition(*definition, m_prepared.definitions[*term.slot].position, value, next);
    else if (term.step.valid())
        stop = matchTerm(term.step, value, 0, hole, next);
    else
        stop = next();
    if (!stop)
        undo(before);
    return stop;
}

bool Search::matchNumber(const Term& term, ValueId value, Next next) {
    if (m_graph.isConstant(value) &&
        isNumber(*m_graph.value(value).constant, term.number, term.tolerance))
        return next();
    auto tell = [&] {
        miss(code::number, &term, {}, value, [&] {
            std::string found = "no operand";
            if (m_graph.isConstant(value)) {
                std::optional<double> splat = splatOf(*m_graph.value(value).constant);
                found = splat ? textOf(*splat) : "different elements";
            } else if (value.valid()) {
                found = "no constant";
            }
            return std::pair(found, textOf(term.number));
        });
    };
    if (!m_graph.isConstant(value)) {
        tell();
        return false;
    }
    Mark before = mark();
    if (failTest({}, tell) && next())
        return true;
    undo(before);
    return false;
}

bool Search::matchHole(const Term& term, ValueId value, const HoleFrame* hole, Next next) {
    if (!hole)
        return next();
    if (hole->isBound) {
        if (hole->bound == value)
            return next();
        miss(code::otherValue, &term, {}, value, [&] {
            return std::pair(value.valid() ? "`" + m_graph.value(value).name + "`" : "no operand",
                             hole->bound.valid() ? "`" + m_graph.value(hole->bound).name + "`"
                                                 : std::string("no operand"));
        });
        Mark before = mark();
        if (passesBetween(value, hole->bound) && next())
            return true;
        undo(before);
        return false;
    }
    hole->isBound = true;
    hole->bound = value;
    const auto matchAt = [&](ValueId at) {
        hole->bound = at;
        return hole->repeat.valid() ? matchNextRound(*hole, at, next)
                                    : matchTerm(hole->source, at, 0, hole->around, next);
    };
    bool stop = matchAt(value);
    if (!stop && m_isExplaining && hole->source.valid() &&
        m_prepared.filters[hole->source.index()].coversNodes)
        stop = matchBehind(value, hole->source, matchAt);
    hole->isBound = false;
    return stop;
}

bool Search::matchChoice(TermId id, ValueId value, uint32_t position, const HoleFrame* hole,
                         Next next) {
    const Term& term = m_rule.term(id);
    Mark before = mark();
    if (term.slot && !bindValue(*term.slot, value, term))
        return false;
    if (value.valid() && !checkType(term, value)) {
        undo(before);
        return false;
    }
    Mark bound = mark();
    for (const uint32_t index : alternativesFor(id, value)) {
        const Term::Alternative& alternative = term.alternatives[index];
        if (!mayMatch(alternative.term, value))
            continue;
        if (!spend())
            return true;
        if (!alternative.label.empty())
            addLabel(alternative.label);
        uint32_t successes = m_successes;
        if (matchTerm(alternative.term, value, position, hole, next))
            return true;
        undo(bound);
        if (m_successes != successes)
            break;
    }
    undo(before);
    return false;
}

bool Search::matchPipe(const Term& term, ValueId value, uint32_t position, const HoleFrame* hole,
                       Next next) {
    HoleFrame frame{term.source, hole, {}};
    uint32_t successes = m_successes;
    if (term.kind == Term::Kind::Pipe)
        return matchTerm(term.step, value, position, &frame, next);
    const OptionalStep around = std::exchange(m_optional, {value, m_nodes.size()});
    bool stop = matchTerm(term.step, value, position, &frame, next);
    m_optional = {};
    stop =
        stop || (m_successes == successes && matchTerm(term.source, value, position, hole, next));
    m_optional = around;
    return stop;
}

bool Search::matchRepeat(TermId id, ValueId value, uint32_t rounds, const HoleFrame* hole,
                         Next next) {
    const Term& term = m_rule.term(id);
    if (rounds < term.most) {
        HoleFrame frame{{}, hole, id, rounds + 1};
        uint32_t successes = m_successes;
        const OptionalStep around = m_optional;
        if (rounds >= term.least)
            m_optional = {value, m_nodes.size()};
        const bool stop = matchTerm(term.step, value, 0, &frame, next);
        m_optional = around;
        if (stop)
            return true;
        if (m_successes != successes)
            return false;
    }
    return rounds >= term.least && matchTerm(term.source, value, 0, hole, next);
}

/// The hole of a Repeat: another round with fresh names, then this round's names again.
bool Search::matchNextRound(const HoleFrame& frame, ValueId value, Next next) {
    const std::vector<SlotIndex>& captures = m_prepared.captures[frame.repeat.index()];
    std::vector<Binding> mine;
    Mark before = mark();
    for (SlotIndex slot : captures) {
        mine.push_back(m_slots[slot]);
        bindSlot(slot, {});
    }
    auto restored = [&] {
        Mark inner = mark();
        for (size_t i = 0; i < captures.size(); ++i) {
            bindSlot(captures[i], {});
            bindSlot(captures[i], mine[i]);
        }
        if (next())
            return true;
        undo(inner);
        return false;
    };
    if (matchRepeat(frame.repeat, value, frame.rounds, frame.around, restored))
        return true;
    undo(before);
    return false;
}

bool Search::matchNode(TermId id, ValueId value, uint32_t position, const HoleFrame* hole,
                       Next next) {
    if (!spend())
        return true;
    const Term& term = m_rule.term(id);
    const NodeId node = m_facts.makerOf(value);
    if (!node.valid())
        return miss(code::noProducer, &term, node, value, [&] {
            std::string found = "no operand";
            if (value.valid())
                found = m_graph.isConstant(value) ? "a constant" : "an input";
            return std::pair(found, std::string("an operator"));
        });
    Mark before = mark();
    if (!isOneOf(id, node)) {
        auto tell = [&] {
            miss(code::otherOp, &term, node, value,
                 [&] { return std::pair(opText(m_graph.node(node)), operatorsText(term)); });
        };
        // To see what else fits, the node is taken for one of the operators where it reads as many
        // operands as are wanted.
        const bool isAlike = !m_nodes.empty() && !isOptionalAt(value) && term.hasArguments &&
                             m_graph.node(node).explicitInputs == term.arguments.size() &&
                             m_used[node.index()] == 0;
        if (!isAlike) {
            tell();
            return false;
        }
        if (!failTest(node, tell))
            return false;
    }
    if (const uint32_t slot = m_facts.makers[value.index()].slot; slot != position) {
        undo(before);
        return miss(code::operands, &term, node, value, [&] {
            return std::pair("output " + std::to_string(slot),
                             "output " + std::to_string(position));
        });
    }
    if (m_used[node.index()] != 0 && m_quiet == 0) {
        undo(before);
        return miss(code::usedTwice, &term, node, value, [&] {
            return std::pair(std::string("a node that is already part of the match"),
                             std::string("another one"));
        });
    }
    bool holds = (!term.slot || bindValue(*term.slot, value, term)) && checkType(term, value) &&
                 checkTests(term, node, false);
    if (holds) {
        take(node, id);
        auto lateTests = [&] {
            Mark matched = mark();
            if (checkTests(term, node, true) && next())
                return true;
            undo(matched);
            return false;
        };
        if (matchOperands(term, node, hole, lateTests))
            return true;
    }
    undo(before);
    return false;
}

} // namespace fuselage
