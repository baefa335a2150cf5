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
constexpr double asGoodAsMinusInfinity = -1e8;
constexpr int maskSteps = 8;

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

bool isFloat32(const Graph& graph, ValueId id) {
    return id.valid() && graph.value(id).type.kind == TypeKind::Tensor &&
           graph.value(id).type.dtype == DType::Float32;
}

/// Smallest and largest magnitude among the finite elements, zeros left out of the smallest.
struct Ends {
    double least = std::numeric_limits<double>::infinity(), most = 0, highest = 0;
};

Ends endsOf(const Tensor& data) {
    Ends out;
    for (float element : data.as<float>()) {
        if (!std::isfinite(element))
            continue;
        const double magnitude = std::fabs(element);
        out.most = std::max(out.most, magnitude);
        out.highest = std::max(out.highest, static_cast<double>(element));
        if (magnitude > 0)
            out.least = std::min(out.least, magnitude);
    }
    return out;
}

bool makesMask(Op op) {
    return op == Op::Add || op == Op::Mul || op == Op::Where || op == Op::Expand ||
           hasTrait(op, View | DataMovement);
}

bool leadsToSoftmax(const Graph& graph, ValueId value, int steps) {
    if (steps == 0 || graph.isGraphOutput(value) || graph.value(value).uses.empty())
        return false;
    const auto& uses = graph.value(value).uses;
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
        const Node& reader = graph.node(use.node);
        return reader.op == Op::Softmax || (makesMask(reader.op) && reader.outputs.size() == 1 &&
                                            leadsToSoftmax(graph, reader.outputs[0], steps - 1));
    });
}

} // namespace

double largestOf(DType storage) {
    return storage == DType::Float16 ? 65504.0 : 3.3895313892515355e38;
}

bool isMaskFill(const Graph& graph, ValueId constant, DType storage) {
    const double limit = largestOf(storage);
    for (float element : graph.value(constant).constant->as<float>())
        if (std::isfinite(element) &&
            (element > limit || (element < -limit && element > asGoodAsMinusInfinity)))
            return false;
    return leadsToSoftmax(graph, constant, maskSteps);
}

bool RangeEstimate::isLarge(const Size& size) const {
    return size.weight.valid() && size.times > largestOf(m_storage) / headroom;
}

RangeEstimate::Size RangeEstimate::sizeOf(ValueId id) {
    if (!m_graph.isConstant(id))
        return m_values[id.index()];
    auto [known, isNew] = m_constants.try_emplace(id);
    if (!isNew)
        return known->second;
    const Ends ends = endsOf(*m_graph.value(id).constant);
    const bool outside = ends.most > largestOf(m_storage);
    if (outside && isMaskFill(m_graph, id, m_storage))
        return known->second;
    known->second.times = ends.most;
    if (outside)
        known->second.weight = id;
    known->second.onlyBelow = ends.highest <= largestOf(m_storage);
    return known->second;
}

RangeEstimate::Size RangeEstimate::resultOf(const Node& node,
                                            const std::vector<Size>& operands) const {
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
        const Ends ends = endsOf(*m_graph.value(node.inputs[1]).constant);
        out.times = operands[0].times / (std::isfinite(ends.least) ? ends.least : 1);
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
        out.times =
            std::min(out.times, std::max(endsOf(*m_graph.value(node.inputs[1]).constant).most,
                                         endsOf(*m_graph.value(node.inputs[2]).constant).most));
    if (out.times <= ordinary)
        out.weight = {};
    return out;
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
        if (!isFloat32(m_graph, id) || keepsInput(node.op, slot))
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
