// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/fold_norm.h"

#include "app/quantize/places.h"

#include <cmath>

namespace fuselage::quantize {

namespace {

const Tensor* constantAt(const Graph& graph, const Node& node, size_t slot) {
    if (slot >= node.inputs.size() || !graph.isConstant(node.inputs[slot]))
        return nullptr;
    const Tensor& tensor = *graph.value(node.inputs[slot]).constant;
    return tensor.dtype() == DType::Float32 ? &tensor : nullptr;
}

bool isChannelVector(const Tensor* tensor, int64_t channels) {
    return tensor && tensor->rank() == 1 && tensor->elementCount() == channels;
}

/// y = x * factor + shift by channel.
struct Affine {
    std::vector<double> factor, shift;
};

std::optional<Affine> affineOf(const Graph& graph, const Node& norm, int64_t channels) {
    const Tensor* parts[4]; // scale, bias, mean, variance
    for (size_t i = 0; i < 4; ++i) {
        parts[i] = constantAt(graph, norm, i + 1);
        if (!isChannelVector(parts[i], channels))
            return std::nullopt;
    }
    const double epsilon = norm.attributes.number("epsilon", 1e-5);
    Affine out;
    for (int64_t c = 0; c < channels; ++c) {
        const double factor = parts[0]->at(c) / std::sqrt(parts[3]->at(c) + epsilon);
        if (!std::isfinite(factor))
            return std::nullopt;
        out.factor.push_back(factor);
        out.shift.push_back(parts[1]->at(c) - parts[2]->at(c) * factor);
    }
    return out;
}

/// The convolution that this node normalises alone; invalid where there is none to fold into.
NodeId convolutionBefore(const Graph& graph, const Node& norm) {
    const ValueId x = norm.inputs[0];
    const NodeId maker = graph.producer(x);
    if (!maker.valid() || graph.isGraphOutput(x) || graph.value(x).uses.size() != 1)
        return {};
    const Node& conv = graph.node(maker);
    const bool convolves = conv.op == Op::Conv || (conv.op == Op::ConvTranspose &&
                                                   conv.attributes.integer("group", 1) == 1);
    return convolves ? maker : NodeId();
}

bool fold(Graph& graph, NodeId normId) {
    const Node& norm = graph.node(normId);
    const NodeId convId = convolutionBefore(graph, norm);
    if (!convId.valid() || norm.attributes.integer("training_mode") != 0)
        return false;
    for (size_t i = 1; i < norm.outputs.size(); ++i)
        if (norm.outputs[i].valid())
            return false;
    const Node& conv = graph.node(convId);
    const Tensor* weight = constantAt(graph, conv, 1);
    const auto axis = weight ? channelAxis(graph, {convId, 1}) : std::nullopt;
    if (!axis || weight->rank() < 3)
        return false;
    const int64_t channels = weight->extents()[static_cast<size_t>(*axis)];
    const bool hasBias = conv.explicitInputs > 2 && conv.inputs[2].valid();
    const Tensor* bias = constantAt(graph, conv, 2);
    if (hasBias && !isChannelVector(bias, channels))
        return false;
    const auto affine = affineOf(graph, norm, channels);
    if (!affine)
        return false;
    int64_t inner = 1;
    for (size_t d = static_cast<size_t>(*axis) + 1; d < weight->rank(); ++d)
        inner *= weight->extents()[d];
    auto scaled = std::make_shared<Tensor>(weight->clone());
    auto numbers = scaled->as<float>();
    for (size_t i = 0; i < numbers.size(); ++i) {
        const size_t channel = i / static_cast<size_t>(inner) % static_cast<size_t>(channels);
        numbers[i] = static_cast<float>(static_cast<double>(numbers[i]) * affine->factor[channel]);
    }
    auto shifted = std::make_shared<Tensor>(DType::Float32, Extents{channels});
    for (int64_t c = 0; c < channels; ++c) {
        const auto at = static_cast<size_t>(c);
        shifted->set(c, (hasBias ? bias->at(c) : 0.0) * affine->factor[at] + affine->shift[at]);
    }
    const std::string name = graph.value(conv.inputs[1]).name;
    const ValueId newWeight = graph.addConstant(name + "_folded", std::move(scaled));
    const ValueId newBias = graph.addConstant(name + "_folded_bias", std::move(shifted));
    graph.setInput(convId, 1, newWeight);
    if (graph.node(convId).inputs.size() > 2)
        graph.setInput(convId, 2, newBias);
    else
        graph.appendInput(convId, newBias);
    const ValueId made = norm.outputs[0], before = norm.inputs[0];
    graph.setInput(normId, 0, graph.node(normId).inputs[1]); // so that nothing reads the old result
    graph.moveOutput(made, convId, graph.value(before).outputSlot);
    graph.removeNode(normId);
    return true;
}

} // namespace

size_t foldNormalisation(Graph& graph) {
    size_t folded = 0;
    for (NodeId id : graph.nodes())
        if (graph.node(id).op == Op::BatchNormalization && fold(graph, id))
            ++folded;
    if (folded > 0)
        graph.removeDead();
    return folded;
}

} // namespace fuselage::quantize
