// SPDX-License-Identifier: Apache-2.0
// A graph description as text: one line a tensor, one a node.
#include "gpu/libs/graph_description.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

std::string nameOfTensor(const GraphDescription& graph, size_t index) {
    const TensorMemory& memory = graph.tensors[index].memory;
    switch (memory.kind) {
    case TensorMemory::Kind::Virtual:
        return fmt::format("t{}", index);
    case TensorMemory::Kind::Input:
        return fmt::format("in{}", memory.index);
    case TensorMemory::Kind::Output:
        return fmt::format("out{}", memory.index);
    case TensorMemory::Kind::Packed:
        return fmt::format("packed{}", memory.index);
    case TensorMemory::Kind::Scalar:
        return fmt::format("{:.6g}", memory.value);
    }
    return {};
}

std::string numbers(const Extents& values) {
    std::string out;
    for (int64_t value : values)
        out += (out.empty() ? "[" : ",") + std::to_string(value);
    return out + "]";
}

std::string nodeText(const GraphDescription& graph, const ConvolutionNode& node) {
    return fmt::format("{} = convolution({}, {}) pads {} {} strides {} dilations {}",
                       nameOfTensor(graph, node.y), nameOfTensor(graph, node.x),
                       nameOfTensor(graph, node.w), numbers(node.padsBegin), numbers(node.padsEnd),
                       numbers(node.strides), numbers(node.dilations));
}

std::string nodeText(const GraphDescription& graph, const MatMulNode& node) {
    return fmt::format("{} = matmul({}, {})", nameOfTensor(graph, node.c),
                       nameOfTensor(graph, node.a), nameOfTensor(graph, node.b));
}

std::string nodeText(const GraphDescription& graph, const PointwiseNode& node) {
    std::string out = fmt::format("{} = {}({}", nameOfTensor(graph, node.y), nameOf(node.mode),
                                  nameOfTensor(graph, node.x));
    if (node.b)
        out += ", " + nameOfTensor(graph, *node.b);
    out += ")";
    if (node.lowerClip != 0)
        out += fmt::format(" from {:.6g}", node.lowerClip);
    if (node.hasUpperClip)
        out += fmt::format(" to {:.6g}", node.upperClip);
    if (node.slope != 0)
        out += fmt::format(" slope {:.6g}", node.slope);
    if (node.alpha != 1)
        out += fmt::format(" alpha {:.6g}", node.alpha);
    return out;
}

std::string nodeText(const GraphDescription& graph, const ReductionNode& node) {
    return fmt::format("{} = {}({}) to {}", nameOfTensor(graph, node.y), nameOf(node.mode),
                       nameOfTensor(graph, node.x), numbers(graph.tensors[node.y].dims));
}

std::string nodeText(const GraphDescription& graph, const SdpaNode& node) {
    return fmt::format("{} = attention({}, {}, {}) scale {}", nameOfTensor(graph, node.o),
                       nameOfTensor(graph, node.q), nameOfTensor(graph, node.k),
                       nameOfTensor(graph, node.v), nameOfTensor(graph, node.scale));
}

} // namespace

const char* nameOf(PointwiseMode mode) {
    constexpr const char* names[] = {
        "add",      "multiply",  "minimum", "subtract", "divide", "relu", "tanh", "sigmoid", "elu",
        "gelu_erf", "gelu_tanh", "swish",   "softplus", "abs",    "sqrt", "exp",  "identity"};
    static_assert(std::size(names) == static_cast<size_t>(PointwiseMode::Identity) + 1);
    return names[static_cast<size_t>(mode)];
}

const char* nameOf(ReductionMode mode) {
    return mode == ReductionMode::Sum ? "sum" : "maximum";
}

std::string text(const GraphDescription& graph) {
    std::string out;
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
        const GraphTensor& tensor = graph.tensors[i];
        if (tensor.memory.kind == TensorMemory::Kind::Virtual ||
            tensor.memory.kind == TensorMemory::Kind::Scalar)
            continue;
        out += fmt::format("{} : {} {} strides {}", nameOfTensor(graph, i), nameOf(tensor.dtype),
                           numbers(tensor.dims), numbers(tensor.strides));
        if (tensor.memory.offset != 0)
            out += fmt::format(" at {}", tensor.memory.offset);
        out += "\n";
    }
    for (const GraphNode& node : graph.nodes)
        out += std::visit([&](const auto& x) { return nodeText(graph, x); }, node) + "\n";
    return out;
}

std::string planKey(const GraphDescription& graph) {
    // Numbers that the host passes come with each run.
    GraphDescription planned = graph;
    for (GraphTensor& tensor : planned.tensors)
        tensor.memory.value = 0;
    std::string out = text(planned);
    // Unique ids are positions: every tensor is named in its place.
    for (const GraphTensor& tensor : graph.tensors)
        out += fmt::format("{} {} {}{} {} ", static_cast<int>(tensor.memory.kind),
                           nameOf(tensor.dtype), numbers(tensor.dims), numbers(tensor.strides),
                           tensor.alignment);
    for (const GraphNode& node : graph.nodes)
        if (const auto* x = std::get_if<PointwiseNode>(&node))
            out += fmt::format("{:a} {:a} {:a} {:a} {} ", x->lowerClip, x->upperClip, x->slope,
                               x->alpha, x->hasUpperClip);
    return out;
}

} // namespace fuselage::gpu
