// SPDX-License-Identifier: Apache-2.0
// Rank and element type of a value while its graph is still being read: from declared types, else
// from the operators on the way to it. Only normalisation asks; inference proper is core/passes.
#include "core/onnx/normalise_internal.h"
#include "core/ops/op_table.h"

#include <algorithm>

namespace fuselage::model_io {

namespace {

constexpr int maxSteps = 256;

class Tracer {
public:
    explicit Tracer(const Graph& graph) : m_graph(graph) {}

    std::optional<size_t> rank(ValueId id) {
        if (!id.valid() || --m_steps < 0)
            return std::nullopt;
        const Value& value = m_graph.value(id);
        if (value.type.kind == TypeKind::Tensor && value.type.shape)
            return value.type.shape->size();
        return value.producer.valid() ? rankOf(m_graph.node(value.producer)) : std::nullopt;
    }

    DType dtype(ValueId id) {
        while (id.valid() && --m_steps >= 0) {
            const Value& value = m_graph.value(id);
            if (value.type.dtype != DType::Undefined || !value.producer.valid())
                return value.type.dtype;
            const Node& node = m_graph.node(value.producer);
            if (node.op == Op::Cast)
                return dtypeFromOnnx(node.attributes.integer("to")).value_or(DType::Undefined);
            if (node.op == Op::Constant || node.op == Op::ConstantOfShape) {
                TensorPtr tensor = node.attributes.tensor("value");
                return tensor ? tensor->dtype() : DType::Undefined;
            }
            if (value.outputSlot == 0 && typeMadeBy(node.op) != DType::Undefined)
                return typeMadeBy(node.op);
            bool keepsType = value.outputSlot == 0 &&
                             (hasTrait(node.op, Elementwise | View | DataMovement | ContractionOp |
                                                    WindowOp | Normalization | Reduction));
            if (!keepsType || node.inputs.empty())
                return DType::Undefined;
            const bool likeSecond = node.op == Op::Where || node.op == Op::CastLike;
            id = node.inputs[likeSecond && node.inputs.size() > 1 ? 1 : 0];
        }
        return DType::Undefined;
    }

private:
    /// Whatever the operands are.
    static DType typeMadeBy(Op op) {
        switch (op) {
        case Op::Equal:
        case Op::Less:
        case Op::LessOrEqual:
        case Op::Greater:
        case Op::GreaterOrEqual:
        case Op::IsInf:
        case Op::IsNaN:
            return DType::Bool;
        case Op::ArgMax:
        case Op::ArgMin:
        case Op::NonZero:
        case Op::Shape:
        case Op::Size:
            return DType::Int64;
        case Op::MatMulInteger:
        case Op::ConvInteger:
            return DType::Int32;
        default:
            return DType::Undefined;
        }
    }

    std::optional<size_t> largest(const Node& node) {
        size_t most = 0;
        for (ValueId input : node.inputs) {
            auto one = rank(input);
            if (!one)
                return std::nullopt;
            most = std::max(most, *one);
        }
        return most;
    }

    /// How many elements a one-dimensional value has.
    std::optional<size_t> length(ValueId id) {
        if (!id.valid() || --m_steps < 0)
            return std::nullopt;
        if (TensorPtr tensor = constantOf(m_graph, id))
            return static_cast<size_t>(tensor->elementCount());
        const Value& value = m_graph.value(id);
        if (auto extents = value.type.extents(); extents && extents->size() == 1)
            return static_cast<size_t>((*extents)[0]);
        if (!value.producer.valid())
            return std::nullopt;
        const Node& node = m_graph.node(value.producer);
        if (node.op == Op::Unsqueeze)
            return 1; // of a scalar, since the result has one dimension
        if (node.op == Op::Shape && !node.inputs.empty())
            return rank(node.inputs[0]);
        if (node.op != Op::Concat)
            return std::nullopt;
        size_t sum = 0;
        for (ValueId input : node.inputs) {
            auto one = length(input);
            if (!one)
                return std::nullopt;
            sum += *one;
        }
        return sum;
    }

    std::optional<size_t> rankOf(const Node& node) {
        if (node.inputs.empty())
            return std::nullopt;
        switch (node.op) {
        case Op::Reshape:
            return node.inputs.size() > 1 ? length(node.inputs[1]) : std::nullopt;
        case Op::Transpose:
            if (node.attributes.has("perm"))
                return node.attributes.integers("perm").size();
            return rank(node.inputs[0]);
        case Op::Flatten:
            return 2;
        case Op::Gemm:
            return 2;
        case Op::MatMul:
        case Op::Where:
        case Op::Concat:
            return largest(node);
        case Op::Gather: {
            auto data = rank(node.inputs[0]), indices = rank(node.inputs[1]);
            return data && indices && *data > 0 ? std::optional(*data + *indices - 1)
                                                : std::nullopt;
        }
        case Op::Expand: {
            auto data = rank(node.inputs[0]), extents = length(node.inputs[1]);
            return data && extents ? std::optional(std::max(*data, *extents)) : std::nullopt;
        }
        case Op::Range:
            return 1;
        case Op::Unsqueeze:
        case Op::Squeeze: {
            auto inner = rank(node.inputs[0]);
            TensorPtr axes = node.inputs.size() > 1 ? constantOf(m_graph, node.inputs[1]) : nullptr;
            if (!inner || !axes)
                return std::nullopt;
            auto count = static_cast<size_t>(axes->elementCount());
            if (node.op == Op::Squeeze)
                return *inner >= count ? std::optional(*inner - count) : std::nullopt;
            return *inner + count;
        }
        case Op::Conv:
        case Op::ConvTranspose:
        case Op::MaxPool:
        case Op::AveragePool:
        case Op::GlobalAveragePool:
        case Op::GlobalMaxPool:
        case Op::Pad:
        case Op::Slice:
        case Op::Split:
        case Op::Resize:
        case Op::Dropout:
        case Op::Identity:
        case Op::Cast:
        case Op::CastLike:
        case Op::QuantizeLinear:
        case Op::DequantizeLinear:
        case Op::MatMulNBits:
        case Op::Attention:
        case Op::RotaryEmbedding:
        case Op::MsRotaryEmbedding:
        case Op::TopK:
        case Op::ScatterElements:
        case Op::ScatterND:
            return rank(node.inputs[0]);
        case Op::GatherElements:
            return rank(node.inputs[1]);
        default:
            if (hasTrait(node.op, Normalization))
                return rank(node.inputs[0]);
            return hasTrait(node.op, Elementwise) ? largest(node) : std::nullopt;
        }
    }

    const Graph& m_graph;
    int m_steps = maxSteps; ///< bounds the work for one question
};

} // namespace

std::optional<size_t> rankOf(const Graph& graph, ValueId id) {
    return Tracer(graph).rank(id);
}

DType dtypeOf(const Graph& graph, ValueId id) {
    return Tracer(graph).dtype(id);
}

TensorPtr constantOf(const Graph& graph, ValueId id) {
    if (!id.valid())
        return nullptr;
    const Value& value = graph.value(id);
    if (value.constant || !value.producer.valid())
        return value.constant;
    const Node& node = graph.node(value.producer);
    return node.op == Op::Constant ? node.attributes.tensor("value") : nullptr;
}

} // namespace fuselage::model_io
