// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/quantized_internal.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

/// More operands than a launch takes on every backend.
constexpr size_t maxOperands = 64;

std::optional<Reason> checkType(const Value& value) {
    if (value.type.kind != TypeKind::Tensor || value.type.dtype == DType::String ||
        value.type.dtype == DType::Undefined || isStorageOnly(value.type.dtype))
        return Reason{"unsupported-op",
                      fmt::format("`{}` is {}, programs take numbers in tensors", value.name,
                                  value.type.text()),
                      "run this node by a library routine",
                      {{"value", value.name}, {"type", value.type.text()}}};
    auto extents = value.type.extents();
    if (!extents || !elementCount(*extents))
        return Reason{
            "dynamic-dim",
            fmt::format("`{}` is {}, lowering needs numbers", value.name, value.type.text()),
            "bind its symbols to numbers",
            {{"value", value.name}, {"type", value.type.text()}}};
    if (*elementCount(*extents) == 0)
        return Reason{
            "shape-mismatch",
            fmt::format("`{}` is {}, which holds no elements", value.name, value.type.text()),
            "run this node by a library routine",
            {{"value", value.name}, {"type", value.type.text()}}};
    return std::nullopt;
}

bool isContraction(Op op) {
    switch (op) {
    case Op::MatMul:
    case Op::Gemm:
    case Op::FusedMatMul:
    case Op::Conv:
    case Op::ConvTranspose:
    case Op::MatMulInteger:
    case Op::ConvInteger:
    case Op::QLinearMatMul:
    case Op::QLinearConv:
        return true;
    default:
        return false;
    }
}

bool isReduction(Op op) {
    switch (op) {
    case Op::ArgMax:
    case Op::ArgMin:
    case Op::GlobalAveragePool:
    case Op::GlobalMaxPool:
    case Op::GroupNormalization:
    case Op::InstanceNormalization:
    case Op::LayerNormalization:
    case Op::LogSoftmax:
    case Op::LpNormalization:
    case Op::MeanVarianceNormalization:
    case Op::RMSNormalization:
    case Op::ReduceL1:
    case Op::ReduceL2:
    case Op::ReduceLogSum:
    case Op::ReduceLogSumExp:
    case Op::ReduceMax:
    case Op::ReduceMean:
    case Op::ReduceMin:
    case Op::ReduceProd:
    case Op::ReduceSum:
    case Op::ReduceSumSquare:
    case Op::SimplifiedLayerNormalization:
    case Op::SkipLayerNormalization:
    case Op::SkipSimplifiedLayerNormalization:
    case Op::Softmax:
        return true;
    default:
        return false;
    }
}

} // namespace

std::variant<LowerBody, Reason> LowerBody::make(const LowerRequest& request) {
    LowerBody out;
    out.m_source = request.body;
    out.m_strict = request.strict;
    out.m_graph = *request.body;
    const std::vector<ValueId>& inputs = out.m_graph.inputs();
    const size_t operands = inputs.size() + out.m_graph.outputs().size();
    if (operands > maxOperands)
        return Reason{
            "io-count",
            fmt::format("{} operands, a program takes {}", operands, maxOperands),
            "match fewer nodes",
            {{"operands", std::to_string(operands)}, {"limit", std::to_string(maxOperands)}}};
    for (uint32_t i = 0; i < inputs.size(); ++i) {
        out.m_operands.emplace(inputs[i], i);
        if (i < request.constants.size() && request.constants[i])
            out.m_graph.makeConstant(inputs[i], request.constants[i]);
    }
    for (NodeId id : out.m_graph.nodes()) // whose results have no types
        if (const Node& node = out.m_graph.node(id); node.op == Op::Unknown)
            return Reason{"unsupported-op",
                          fmt::format("{} is not computed: {}", describe(node),
                                      node.notComputed.empty() ? "nothing says what it stands for"
                                                               : node.notComputed),
                          "leave it out of the match, or say what it computes: `op NAME(...) "
                          "{ ... }` in a .fuse file",
                          {{"node", node.name}}};
    out.m_extents.resize(out.m_graph.valueBound());
    for (ValueId id : out.m_graph.values()) {
        if (auto problem = checkType(out.m_graph.value(id)))
            return *problem;
        out.m_extents[id.index()] = *out.m_graph.value(id).type.extents();
    }
    for (NodeId id : topologicalOrder(out.m_graph)) {
        out.m_positions.emplace(id, out.m_order.size() + 1);
        out.m_order.push_back(id);
    }
    if (auto problem = checkShapes(out))
        return *problem;
    return out;
}

NodeClass LowerBody::classOf(NodeId id) const {
    const Node& at = node(id);
    if (isContraction(at.op))
        return NodeClass::Contraction;
    if (isReduction(at.op))
        return NodeClass::Reduction;
    if (at.op == Op::MaxPool || at.op == Op::AveragePool || at.op == Op::LpPool)
        return NodeClass::Pool;
    if (at.op == Op::Concat || at.op == Op::Pad)
        return NodeClass::Copying;
    if (isViewNode(*this, at))
        return NodeClass::View;
    if (at.op == Op::BatchNormalization || rowOf(at.op).tape ||
        isElementwiseQuantisation(*this, at))
        return NodeClass::Elementwise;
    return NodeClass::Other;
}

std::vector<NodeId> LowerBody::nodesOf(NodeClass wanted) const {
    std::vector<NodeId> out;
    for (NodeId id : m_order)
        if (classOf(id) == wanted)
            out.push_back(id);
    return out;
}

std::optional<uint32_t> LowerBody::operand(ValueId id) const {
    auto found = m_operands.find(id);
    return found == m_operands.end() ? std::nullopt : std::optional(found->second);
}

size_t LowerBody::position(ValueId id) const {
    NodeId maker = m_graph.producer(id);
    return maker.valid() ? m_positions.at(maker) : 0;
}

const Tensor* LowerBody::constant(ValueId id) const {
    return id.valid() ? m_graph.value(id).constant.get() : nullptr;
}

std::optional<std::vector<int64_t>> LowerBody::integers(const Node& node,
                                                        std::string_view name) const {
    auto found = parameterOf(m_graph, node, name);
    if (!found)
        return std::nullopt;
    if (auto* one = std::get_if<int64_t>(&*found))
        return std::vector{*one};
    if (auto* list = std::get_if<std::vector<int64_t>>(&*found))
        return *list;
    return std::nullopt;
}

std::optional<int64_t> LowerBody::integer(const Node& node, std::string_view name) const {
    auto list = integers(node, name);
    return list && list->size() == 1 ? std::optional(list->front()) : std::nullopt;
}

KernelProgram LowerBody::program(ProgramCode code, NumericClass numeric) const {
    KernelProgram out;
    out.code = std::move(code);
    out.numeric = numeric;
    out.body = m_source;
    for (ValueId id : m_graph.inputs())
        out.inputs.push_back({dtype(id), extents(id)});
    for (ValueId id : m_graph.outputs())
        out.outputs.push_back({dtype(id), extents(id)});
    return out;
}

bool LowerBody::hasNarrowInnerEdges() const {
    for (NodeId id : m_order)
        for (ValueId value : node(id).outputs)
            if (value.valid() && !m_graph.value(value).uses.empty() &&
                isNarrowFloat(dtype(value)) && classOf(id) != NodeClass::View)
                return true;
    return false;
}

std::optional<std::vector<size_t>> axesOf(const std::vector<int64_t>& axes, size_t rank) {
    std::vector<size_t> out;
    for (int64_t axis : axes) {
        auto found = normalizedAxis(axis, rank);
        if (!found)
            return std::nullopt;
        out.push_back(*found);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

std::string describe(const Node& node) {
    return fmt::format("{} `{}`", node.op == Op::Unknown ? node.customOp : nameOf(node.op),
                       node.name);
}

Reason kindReason(const char* producer, const char* consumer, std::string message,
                  std::string flip) {
    return {"kind",
            std::move(message),
            std::move(flip),
            {{"producer", producer}, {"consumer", consumer}}};
}

Reason shapeReason(const std::string& left, const std::string& right, std::string message,
                   std::string flip) {
    return {"shape-mismatch", std::move(message), std::move(flip), {{"a", left}, {"b", right}}};
}

} // namespace fuselage
