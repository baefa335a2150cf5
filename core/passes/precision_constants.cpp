// SPDX-License-Identifier: Apache-2.0
#include "core/graph/float_spans.h"
#include "core/ops/op_table.h"
#include "core/passes/precision_constants_internal.h"

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

constexpr double asGoodAsMinusInfinity = -1e8;
constexpr int maskSteps = 8;

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

bool isFloat32(const Graph& graph, ValueId id) {
    return id.valid() && graph.value(id).type.kind == TypeKind::Tensor &&
           graph.value(id).type.dtype == DType::Float32;
}

const ConstantRange& ConstantRanges::of(ValueId constant) {
    auto [found, isNew] = m_known.try_emplace(constant);
    ConstantRange& out = found->second;
    if (!isNew)
        return out;
    const FloatRange range = rangeOf(m_graph.value(constant).constant->as<float>());
    out.highest = range.highest;
    out.leastMagnitude = range.leastMagnitude;
    if (range.lowest <= range.highest) // else none is finite
        out.extreme =
            std::fabs(range.lowest) > std::fabs(range.highest) ? range.lowest : range.highest;
    out.outside = std::isinf(roundTo(m_storage, out.extreme));
    out.isMaskFill = out.outside && isMaskFill(constant);
    return out;
}

bool ConstantRanges::isMaskFill(ValueId constant) const {
    for (float element : m_graph.value(constant).constant->as<float>())
        if (std::isfinite(element) && std::isinf(roundTo(m_storage, element)) &&
            (element > 0 || element > asGoodAsMinusInfinity))
            return false;
    return leadsToSoftmax(m_graph, constant, maskSteps);
}

} // namespace fuselage
