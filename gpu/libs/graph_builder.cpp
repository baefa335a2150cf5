// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/graph_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage::gpu {

namespace {

constexpr double widest = 9e29; ///< a clip beyond it is none

} // namespace

Extents denseStrides(const Extents& extents, const std::vector<size_t>& order) {
    Extents out(extents.size(), 1);
    int64_t running = 1;
    for (size_t d : order) {
        out[d] = running;
        running *= extents[d];
    }
    return out;
}

GraphTensor GraphBuilder::moved(Extents dims, Extents strides, DType dtype,
                                const TensorMemory& memory) const {
    int64_t running = 1;
    for (size_t d : m_frame.order) {
        if (strides[d] == 0)
            dims[d] = 1;
        if (dims[d] == 1)
            strides[d] = running;
        running = std::max(running, strides[d] * dims[d]);
    }
    return {dtype, std::move(dims), std::move(strides), memory, 16};
}

size_t GraphBuilder::add(GraphTensor tensor) {
    graph.tensors.push_back(std::move(tensor));
    return graph.tensors.size() - 1;
}

size_t GraphBuilder::addInput(uint32_t operand, Extents dims, Extents strides, int64_t offset) {
    const OperandLayout& layout = m_request.inputs[operand];
    GraphTensor tensor = moved(std::move(dims), std::move(strides), layout.dtype,
                               {TensorMemory::Kind::Input, operand, offset, 0});
    tensor.alignment = alignmentAt(layout, offset);
    return add(std::move(tensor));
}

bool GraphBuilder::repeats(size_t tensor, const Extents& extents, size_t first) const {
    for (size_t d = first; d < extents.size(); ++d)
        if (graph.tensors[tensor].dims[d] != extents[d])
            return true;
    return false;
}

Reason repeatingOperand() {
    return {"layout", "an operand is broadcast inside of a matrix", "store it in full", {}};
}

size_t GraphBuilder::addVirtual() {
    return add({DType::Float32, m_frame.dims, denseStrides(m_frame.dims, m_frame.order), {}, 16});
}

size_t GraphBuilder::addScalar(double value) {
    const Extents ones(m_frame.dims.size(), 1);
    return add({DType::Float32, ones, ones, {TensorMemory::Kind::Scalar, 0, 0, value}, 16});
}

size_t GraphBuilder::addStoredScalar(double value) {
    const Extents ones(m_frame.dims.size(), 1);
    PackedConstant packed;
    packed.values = {value};
    graph.packed.push_back(std::move(packed));
    const auto index = static_cast<uint32_t>(graph.packed.size() - 1);
    return add({DType::Float32, ones, ones, {TensorMemory::Kind::Packed, index, 0, 0}, 16});
}

size_t GraphBuilder::addChannels(const std::vector<double>& values, const Extents& strides,
                                 DType type) {
    if (values.size() == 1)
        return addScalar(values[0]);
    if (std::any_of(values.begin(), values.end(),
                    [&](double x) { return std::isfinite(x) && !std::isfinite(roundTo(type, x)); }))
        type = DType::Float32;
    PackedConstant packed;
    packed.dtype = type;
    packed.values = values;
    graph.packed.push_back(std::move(packed));
    const auto index = static_cast<uint32_t>(graph.packed.size() - 1);
    return add(moved(m_frame.dims, strides, type, {TensorMemory::Kind::Packed, index, 0, 0}));
}

void GraphBuilder::bindOutput(size_t tensor, uint32_t output, const Extents& strides,
                              int64_t offset) {
    const OperandLayout& layout = m_request.outputs[output];
    GraphTensor bound =
        moved(m_frame.dims, strides, layout.dtype, {TensorMemory::Kind::Output, output, offset, 0});
    bound.alignment = alignmentAt(layout, offset);
    graph.tensors[tensor] = std::move(bound);
}

PointwiseNode& GraphBuilder::append(PointwiseMode mode, size_t x) {
    PointwiseNode node;
    node.mode = mode;
    node.x = x;
    node.y = addVirtual();
    graph.nodes.emplace_back(node);
    return std::get<PointwiseNode>(graph.nodes.back());
}

size_t GraphBuilder::pointwise(PointwiseMode mode, size_t x, std::optional<size_t> b) {
    PointwiseNode& node = append(mode, x);
    node.b = b;
    return node.y;
}

size_t GraphBuilder::reduce(ReductionMode mode, size_t x, size_t dimension) {
    ReductionNode node;
    node.mode = mode;
    node.x = x;
    Extents dims = m_frame.dims;
    dims[dimension] = 1;
    Extents strides = denseStrides(dims, m_frame.order);
    node.y = add({DType::Float32, std::move(dims), std::move(strides), {}, 16});
    graph.nodes.emplace_back(node);
    return node.y;
}

size_t GraphBuilder::clip(size_t x, double low, double high) {
    PointwiseNode& node = append(PointwiseMode::Relu, x);
    node.lowerClip = low;
    node.hasUpperClip = high < widest;
    node.upperClip = high;
    return node.y;
}

size_t GraphBuilder::linear(size_t x, double scale, double shift) {
    if (scale != 1)
        x = pointwise(PointwiseMode::Multiply, x, addScalar(scale));
    return shift != 0 ? pointwise(PointwiseMode::Add, x, addScalar(shift)) : x;
}

size_t GraphBuilder::dequantised(size_t x, const PostOp::Stored& by) {
    if (by.zero != 0)
        x = pointwise(PointwiseMode::Subtract, x, addScalar(by.zero));
    return pointwise(PointwiseMode::Multiply, x, addScalar(by.scale));
}

size_t GraphBuilder::quantised(size_t x, const StoredResult& by) {
    constexpr double wholes = 12582912; // float32 has no fractions around it
    if (by.step != 1)
        x = pointwise(PointwiseMode::Divide, x, addScalar(by.step));
    x = pointwise(PointwiseMode::Add, x, addScalar(wholes));
    x = pointwise(PointwiseMode::Subtract, x, addScalar(wholes));
    if (by.zero != 0)
        x = pointwise(PointwiseMode::Add, x, addScalar(by.zero));
    const double low = by.type == DType::Int8 ? -128 : 0;
    return clip(x, low, low + 255);
}

std::optional<size_t> GraphBuilder::activate(size_t x, const MatchedActivation& f, bool tanhGelu) {
    auto withParameter = [&](PointwiseMode mode) {
        PointwiseNode& node = append(mode, x);
        node.alpha = f.alpha;
        return node.y;
    };
    switch (f.kind) {
    case Activation::Relu: {
        PointwiseNode& node = append(PointwiseMode::Relu, x);
        node.slope = f.alpha;
        return node.y;
    }
    case Activation::Clip:
        if (f.alpha <= -widest)
            return pointwise(PointwiseMode::Minimum, x, addScalar(f.beta));
        return clip(x, f.alpha, f.beta);
    case Activation::Elu:
        return withParameter(PointwiseMode::Elu);
    case Activation::Tanh:
        return pointwise(PointwiseMode::Tanh, x);
    case Activation::Logistic:
        return pointwise(PointwiseMode::Sigmoid, x);
    case Activation::GeluErf:
        return pointwise(tanhGelu ? PointwiseMode::GeluTanh : PointwiseMode::GeluErf, x);
    case Activation::GeluTanh:
        return pointwise(PointwiseMode::GeluTanh, x);
    case Activation::Swish:
        return withParameter(PointwiseMode::Swish);
    case Activation::Hardswish:
        return pointwise(PointwiseMode::Multiply, clip(linear(x, 1.0 / 6, 0.5), 0, 1), x);
    case Activation::Softplus:
        return pointwise(PointwiseMode::Softplus, x);
    case Activation::Mish:
        return pointwise(PointwiseMode::Multiply,
                         pointwise(PointwiseMode::Tanh, pointwise(PointwiseMode::Softplus, x)), x);
    case Activation::Abs:
        return pointwise(PointwiseMode::Abs, x);
    case Activation::Square:
        return pointwise(PointwiseMode::Multiply, x, x);
    case Activation::Sqrt:
        return pointwise(PointwiseMode::Sqrt, x);
    case Activation::Exp:
        return pointwise(PointwiseMode::Exp, x);
    case Activation::Linear:
        return linear(x, f.alpha, f.beta);
    case Activation::ClipLinear:
        return clip(linear(x, f.alpha, f.beta), 0, 1);
    }
    return std::nullopt;
}

namespace {

/// One post-op after `x`; the tensor of its result.
std::optional<size_t> addPostOp(GraphBuilder& builder, size_t x, const PostOp& op,
                                const Contraction& program, const EpilogueFrame& frame,
                                bool tanhGelu) {
    if (op.kind == PostOp::Kind::Activate)
        return builder.activate(x, op.activation, tanhGelu);
    const bool adds = op.kind == PostOp::Kind::Sum || op.kind == PostOp::Kind::AddChannel;
    const PointwiseMode mode = adds ? PointwiseMode::Add : PointwiseMode::Multiply;
    if (!op.values.empty())
        return builder.pointwise(mode, x, builder.addChannels(op.values, frame.channel));
    const StridedAccess& read = frame.reads[op.read];
    const uint32_t operand = program.epilogue.reads[op.read].operand;
    size_t other = builder.addInput(operand, builder.frame().dims, read.strides, read.offset);
    if (op.stored) {
        if (builder.repeats(other, builder.frame().dims, 0))
            return std::nullopt; // only the second operand may be broadcast
        other = builder.dequantised(other, *op.stored);
    }
    return builder.pointwise(mode, x, other);
}

} // namespace

std::optional<Reason> addEpilogue(GraphBuilder& builder, size_t accumulator,
                                  const MatchedContraction& matched, const EpilogueFrame& frame,
                                  bool scaleFolded, bool tanhGelu) {
    const MatchedEpilogue& epilogue = matched.epilogue;
    size_t x = accumulator;
    if (!epilogue.scale.empty() && !scaleFolded)
        x = builder.pointwise(PointwiseMode::Multiply, x,
                              builder.addChannels(epilogue.scale, frame.channel));
    // In the operands' type: cuDNN's compiled kernels know a bias of that type only.
    const DType shiftType = isFloat(matched.dtype) ? matched.dtype : DType::Float32;
    if (!epilogue.shift.empty())
        x = builder.pointwise(PointwiseMode::Add, x,
                              builder.addChannels(epilogue.shift, frame.channel, shiftType));
    std::vector<std::pair<size_t, uint32_t>> results; // tensor, epilogue output
    auto tap = [&](size_t done) {
        for (const EpilogueTap& at : epilogue.taps)
            if (at.postOps == done)
                results.emplace_back(x, at.output);
    };
    tap(0);
    for (size_t i = 0; i < epilogue.postOps.size(); ++i) {
        auto next = addPostOp(builder, x, epilogue.postOps[i], *matched.program, frame, tanhGelu);
        if (!next)
            return Reason{
                "epilogue", "cuDNN has no operation for a function of the epilogue", {}, {}};
        x = *next;
        tap(i + 1);
    }
    if (matched.stored)
        x = builder.quantised(x, *matched.stored);
    results.emplace_back(x, epilogue.last);
    std::vector<bool> bound(builder.graph.tensors.size(), false);
    for (auto [tensor, output] : results) {
        size_t target = tensor;
        if (tensor < bound.size() && bound[tensor])
            target = builder.pointwise(PointwiseMode::Identity, tensor);
        else
            bound[tensor] = true;
        const StridedAccess& write = frame.writes[output];
        builder.bindOutput(target, matched.program->epilogue.writes[output].operand, write.strides,
                           write.offset);
    }
    return std::nullopt;
}

} // namespace fuselage::gpu
