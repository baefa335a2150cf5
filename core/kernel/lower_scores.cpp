// SPDX-License-Identifier: Apache-2.0
// From the softmax's operand back to the first product: scales, masks, functions of a score, and
// the sink that stands beside the scores. Constant factors multiply into one scale as long as
// nothing else stands behind them.
#include "core/kernel/lower_attention_internal.h"
#include "core/ops/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

std::optional<double> AttentionLowering::scalarConstant(ValueId id) const {
    const Tensor* tensor = m_body.constant(id);
    return tensor && tensor->elementCount() == 1 ? std::optional(tensor->at(0)) : std::nullopt;
}

/// The value of a constant of any shape whose elements are all the same.
std::optional<double> AttentionLowering::uniformConstant(ValueId id) const {
    const Tensor* tensor = m_body.constant(id);
    if (!tensor || tensor->elementCount() == 0)
        return std::nullopt;
    for (int64_t i = 1; i < tensor->elementCount(); ++i)
        if (tensor->at(i) != tensor->at(0))
            return std::nullopt;
    return tensor->at(0);
}

bool AttentionLowering::fromFirstMatMul(ValueId id) const {
    std::vector<ValueId> work{id};
    std::vector<bool> seen(m_body.graph().nodeBound(), false);
    while (!work.empty()) {
        NodeId maker = m_body.graph().producer(work.back());
        work.pop_back();
        if (maker == m_firstId)
            return true;
        if (maker.valid() && !seen[maker.index()]) {
            seen[maker.index()] = true;
            for (ValueId input : m_body.node(maker).inputs)
                if (input.valid())
                    work.push_back(input);
        }
    }
    return false;
}

std::optional<IndexMap> AttentionLowering::broadcast(const Cursor& at, const Node& node,
                                                     ValueId operand) {
    MapResult result =
        broadcastMap(at.map, m_body.extents(node.outputs[0]), m_body.extents(operand));
    if (auto* map = std::get_if<IndexMap>(&result))
        return *map;
    fail(shapeReason(text(m_body.extents(operand)), text(m_body.extents(node.outputs[0])),
                     fmt::format("{} broadcasts its scores", describe(node))));
    return std::nullopt;
}

/// To an operand of the node that made the value.
bool AttentionLowering::goOn(Cursor& at, const Node& node, ValueId next) {
    auto map = broadcast(at, node, next);
    if (!map)
        return false;
    at = {next, std::move(*map)};
    return true;
}

/// A step that reads this operand of the node.
bool AttentionLowering::addReading(const Cursor& at, const Node& node, ValueId operand,
                                   ScoreStep::Kind kind) {
    auto map = broadcast(at, node, operand);
    auto access = map ? operandAt({operand, std::move(*map)}, false) : std::nullopt;
    if (!access)
        return false;
    ScoreStep& step = m_out.steps.emplace_back();
    step.kind = kind;
    step.access = std::move(*access);
    return true;
}

bool AttentionLowering::scaleBy(Cursor& at, const Node& node) {
    auto left = scalarConstant(node.inputs[0]), right = scalarConstant(node.inputs[1]);
    const bool divides = node.op == Op::Div;
    if (!right && (divides || !left))
        return fail(notAttention(fmt::format("{} scales by no constant", describe(node)),
                                 "make the scale a constant"));
    ValueId next = right ? node.inputs[0] : node.inputs[1];
    m_out.scale = divides ? m_out.scale / *right : m_out.scale * (right ? *right : *left);
    return goOn(at, node, next);
}

/// An operand that is added to the scores, or that they are multiplied with.
bool AttentionLowering::takeOperand(Cursor& at, const Node& node) {
    const bool adds = node.op == Op::Add;
    const bool firstIsScore = fromFirstMatMul(node.inputs[0]);
    ValueId score = node.inputs[firstIsScore ? 0 : 1], other = node.inputs[firstIsScore ? 1 : 0];
    if (fromFirstMatMul(other))
        return fail(notAttention(fmt::format("{} takes scores twice", describe(node)),
                                 "leave it out of the match"));
    // What is added is scaled too.
    if (adds && m_out.scale != 1) {
        TapeBuilder tape;
        const Scalar sum = tape.input(scoreType(node));
        if (!addFunction(tape, sum))
            return false;
    }
    return addReading(at, node, other, adds ? ScoreStep::Kind::Add : ScoreStep::Kind::Multiply) &&
           goOn(at, node, score);
}

bool AttentionLowering::selectMask(Cursor& at, const Node& node) {
    const bool keepsTrue = fromFirstMatMul(node.inputs[1]);
    const ValueId score = node.inputs[keepsTrue ? 1 : 2], other = node.inputs[keepsTrue ? 2 : 1];
    auto fill = uniformConstant(other);
    if (!fill || fromFirstMatMul(node.inputs[0]))
        return fail(
            notAttention(fmt::format("{} puts no constant in place of scores", describe(node)),
                         "write the mask as Where(keep, scores, constant)"));
    if (!addReading(at, node, node.inputs[0],
                    keepsTrue ? ScoreStep::Kind::KeepWhereTrue : ScoreStep::Kind::KeepWhereFalse))
        return false;
    // Scales met so far stand behind the mask: they reach what it puts in place too.
    m_out.steps.back().fill = *fill * m_out.scale;
    return goOn(at, node, score);
}

DType AttentionLowering::scoreType(const Node& node) const {
    return m_body.dtype(node.outputs[0]) == DType::Float64 ? DType::Float64 : DType::Float32;
}

/// A step that computes `result`, then what was met right behind it: constant factors, a function.
bool AttentionLowering::addFunction(TapeBuilder& tape, Scalar result) {
    if (m_out.scale != 1)
        result = result * std::exchange(m_out.scale, 1);
    std::vector<ScoreStep>& steps = m_out.steps; // the last to be applied is first
    if (!steps.empty() && steps.back().kind == ScoreStep::Kind::Apply) {
        result = tape.append(steps.back().function, {result}).front();
        steps.pop_back();
    }
    if (tape.full())
        return fail(notAttention("the function of the scores is too long", "match less of it"));
    ScoreStep& step = steps.emplace_back();
    step.kind = ScoreStep::Kind::Apply;
    step.function = tape.finish({result});
    return true;
}

/// A function of one score, by the operator's own tape; what stands behind it is applied with it.
bool AttentionLowering::applyFunction(Cursor& at, const Node& node) {
    const DType type = scoreType(node);
    TapeBuilder tape;
    const Scalar score = tape.input(type);
    std::vector<Scalar> inputs;
    ValueId next;
    for (size_t slot = 0; slot < node.explicitInputs; ++slot) {
        const ValueId input = node.inputs[slot];
        if (!input.valid())
            continue;
        const auto number = uniformConstant(input);
        if (!number && next.valid())
            return fail(notAttention(fmt::format("{} takes more than the scores", describe(node)),
                                     "leave it out of the match"));
        inputs.push_back(number ? tape.constant(type, *number) : score);
        next = number ? next : input;
    }
    const auto own = tapeOf(node, std::vector<DType>(inputs.size(), type));
    if (!next.valid() || !own || own->type(own->outputs[0]) != type)
        return fail(notAttention(fmt::format("{} is no function of the scores", describe(node)),
                                 "leave it out of the match"));
    return addFunction(tape, tape.append(*own, inputs).front()) && goOn(at, node, next);
}

bool AttentionLowering::walkOneScore(Cursor& at, const Node& node) {
    switch (node.op) {
    case Op::Mul:
        return scalarConstant(node.inputs[0]) || scalarConstant(node.inputs[1])
                   ? scaleBy(at, node)
                   : takeOperand(at, node);
    case Op::Div:
        return scaleBy(at, node);
    case Op::Add:
        return takeOperand(at, node);
    case Op::Where:
        return selectMask(at, node);
    default:
        // A jump must see the score that the unfused graph stores.
        if (rowOf(node.op).tape && !hasTrait(node.op, Discontinuous) && node.op != Op::Cast &&
            node.op != Op::CastLike)
            return applyFunction(at, node);
        return fail(notAttention(
            fmt::format("{} between the two products is no scale, mask or function of a score",
                        describe(node)),
            "leave it out of the match"));
    }
}

/// Concat(scores, sink) along the keys, of which the second product reads the scores only.
bool AttentionLowering::takeSink(Cursor& at, const Node& node) {
    const size_t rank = m_body.extents(node.outputs[0]).size();
    const bool isPair = node.explicitInputs == 2 && fromFirstMatMul(node.inputs[0]) &&
                        !fromFirstMatMul(node.inputs[1]) &&
                        m_body.extents(node.inputs[1]).back() == 1 &&
                        normalizedAxis(node.attributes.integer("axis"), rank) == rank - 1;
    if (!isPair)
        return fail(notAttention(
            fmt::format("{} puts no single score behind those of the keys", describe(node)),
            "leave it out of the match"));
    Cursor beside{node.inputs[1], at.map};
    beside.map.back() = DimIndex{};
    ScoreSink& sink = m_out.sink.emplace();
    if (auto number = uniformConstant(beside.value)) {
        sink.number = *number;
    } else {
        auto access = operandAt(std::move(beside), false);
        if (!access)
            return false;
        sink.read = std::move(*access);
    }
    at.value = node.inputs[0];
    return true;
}

/// From the Softmax's operand to the first MatMul.
bool AttentionLowering::walkScores(Cursor& at) {
    if (!throughViewsAndCasts(at))
        return false;
    NodeId first = m_body.graph().producer(at.value);
    if (first.valid() && m_body.node(first).op == Op::Concat && !takeSink(at, m_body.node(first)))
        return false;
    if (m_body.extents(at.value).back() != m_keys)
        return fail(notAttention(fmt::format("{} weighs more keys than {} has values",
                                             describe(m_body.node(m_softmaxId)),
                                             describe(m_body.node(m_secondId))),
                                 "leave what cuts the weights out of the match"));
    for (;;) {
        if (!throughViewsAndCasts(at))
            return false;
        NodeId maker = m_body.graph().producer(at.value);
        if (maker == m_firstId) {
            std::reverse(m_out.steps.begin(), m_out.steps.end()); // met last to first
            return true;
        }
        if (!maker.valid())
            return fail(notAttention("the scores come from no product inside the body",
                                     "match the first MatMul too"));
        if (!walkOneScore(at, m_body.node(maker)))
            return false;
    }
}

} // namespace fuselage
