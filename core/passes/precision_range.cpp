// SPDX-License-Identifier: Apache-2.0
#include "core/ops/op_table.h"
#include "core/passes/precision_range_internal.h"
#include "core/passes/precision_rows_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

constexpr double headroom = 64; ///< of ordinary activations below the type's largest number
constexpr double ordinary = 16; ///< what was large is forgotten below this

/// Results of an ordinary size whatever the operands are.
bool isBounded(Op op) {
    switch (op) {
    case Op::Sigmoid:
    case Op::HardSigmoid:
    case Op::Tanh:
    case Op::Softsign:
    case Op::Erf:
    case Op::Sin:
    case Op::Cos:
    case Op::Atan:
    case Op::Sign:
    case Op::Log:
    case Op::Softmax:
    case Op::Hardmax:
    case Op::Reciprocal:
        return true;
    default:
        return hasTrait(op, Normalization) && op != Op::BatchNormalization;
    }
}

/// Operators to which minus infinity is what a very low number is.
bool takesMinusInfinity(Op op) {
    switch (op) {
    case Op::Softmax:
    case Op::Exp:
    case Op::Relu:
    case Op::Sigmoid:
    case Op::HardSigmoid:
    case Op::Softplus:
    case Op::Max:
    case Op::ReduceMax:
        return true;
    default:
        return false;
    }
}

} // namespace

bool RangeEstimate::isLarge(const Size& size) const {
    return size.weight.valid() && size.times > largestOf(m_storage) / headroom;
}

RangeEstimate::Size RangeEstimate::sizeOf(ValueId id) {
    if (!m_graph.isConstant(id))
        return m_values[id.index()];
    const ConstantRange& range = m_constants.of(id);
    if (range.isMaskFill)
        return {};
    return {std::fabs(range.extreme), range.outside ? id : ValueId(),
            range.highest <= largestOf(m_storage)};
}

RangeEstimate::Size RangeEstimate::resultOf(const Node& node, const std::vector<Size>& operands) {
    Size out;
    bool any = false;
    auto larger = [&](const Size& size) {
        out.onlyBelow =
            size.weight.valid() ? size.onlyBelow && (!any || out.onlyBelow) : out.onlyBelow;
        any = any || size.weight.valid();
        out.times = std::max(out.times, size.times);
        if (size.weight.valid())
            out.weight = size.weight;
    };
    for (const Size& size : operands)
        larger(size);
    if (isBounded(node.op))
        return {};
    const bool isProduct = node.op == Op::Mul || hasTrait(node.op, ContractionOp);
    if (isProduct && operands.size() >= 2) {
        // A weight matrix keeps sizes as they are, unless it is what is outside of the range.
        const bool scales = node.op == Op::Mul || operands[1].weight.valid();
        out.times = operands[0].times * (scales ? operands[1].times : 1);
        out.onlyBelow = false;
    }
    if (node.op == Op::Div && node.inputs.size() == 2 && m_graph.isConstant(node.inputs[1])) {
        const double least = m_constants.of(node.inputs[1]).leastMagnitude;
        out.times = operands[0].times / (std::isfinite(least) ? least : 1);
        out.weight = operands[0].weight;
        out.onlyBelow = false;
    }
    if (node.op == Op::Sqrt)
        out.times = std::sqrt(out.times);
    if (node.op == Op::Sub || node.op == Op::Neg || node.op == Op::Abs)
        out.onlyBelow = false;
    if (node.op == Op::Clip && node.inputs.size() == 3 && node.inputs[1].valid() &&
        node.inputs[2].valid() && m_graph.isConstant(node.inputs[1]) &&
        m_graph.isConstant(node.inputs[2]))
        out.times = std::min<double>(out.times,
                                     std::max(std::fabs(m_constants.of(node.inputs[1]).extreme),
                                              std::fabs(m_constants.of(node.inputs[2]).extreme)));
    if (out.times <= ordinary)
        out.weight = {};
    return out;
}

/// Whether a value is sums of products of integers, as a Cast made floats of them.
bool RangeEstimate::holdsIntegerSums(ValueId id) const {
    constexpr int viewsBetween = 8;
    for (int i = 0; i < viewsBetween; ++i) {
        const NodeId maker = m_graph.producer(id);
        if (!maker.valid())
            return false;
        const Node& node = m_graph.node(maker);
        if (hasTrait(node.op, ContractionOp))
            return isInteger(m_graph.value(id).type.dtype);
        if (node.op != Op::Cast && !hasTrait(node.op, View | DataMovement))
            return false;
        id = node.inputs[0];
    }
    return false;
}

std::optional<Reason> RangeEstimate::refusal(const Node& node) {
    std::vector<Size> operands;
    std::optional<Reason> why;
    auto refuse = [&](const char* does, ValueId id, const Size& size) {
        const std::string& value = m_graph.value(id).name;
        const std::string& weight = m_graph.value(size.weight).name;
        why = Reason{"precision-range",
                     fmt::format("{} `{}`, which weight `{}` may take out of the range of {}", does,
                                 value, weight, nameOf(m_storage)),
                     m_storage == DType::Float16 ? "take --precision bf16" : "",
                     {{"value", value}, {"weight", weight}}};
    };
    for (uint32_t slot = 0; slot < node.explicitInputs; ++slot) {
        const ValueId id = node.inputs[slot];
        if (!isFloat32(m_graph, id))
            continue;
        if (!why && m_storage == DType::Float16 && holdsIntegerSums(id)) {
            const std::string& name = m_graph.value(id).name;
            why = Reason{"precision-range",
                         fmt::format("`{}` is sums of integers, which {} may not hold", name,
                                     nameOf(m_storage)),
                         "take --precision bf16",
                         {{"value", name}}};
        }
        if (keepsInput(node.op, slot))
            continue;
        operands.push_back(sizeOf(id));
        const Size& size = operands.back();
        const bool harmless = size.onlyBelow && takesMinusInfinity(node.op);
        if (!why && !m_graph.isConstant(id) && isLarge(size) && !harmless)
            refuse("reads", id, size);
    }
    const Size made = operands.empty() ? Size() : resultOf(node, operands);
    for (ValueId output : node.outputs)
        if (isFloat32(m_graph, output)) {
            m_values[output.index()] = made;
            if (!why && isLarge(made) && !made.onlyBelow)
                refuse("makes", output, made);
        }
    return why;
}

} // namespace fuselage
