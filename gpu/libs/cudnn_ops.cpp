// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/cudnn_ops.h"

#include <cassert>

namespace fuselage::gpu::cudnn {

namespace {

Pointwise pointwiseMode(PointwiseMode mode) {
    switch (mode) {
    case PointwiseMode::Add:
        return Pointwise::Add;
    case PointwiseMode::Multiply:
        return Pointwise::Multiply;
    case PointwiseMode::Minimum:
        return Pointwise::Minimum;
    case PointwiseMode::Subtract:
        return Pointwise::Subtract;
    case PointwiseMode::Divide:
        return Pointwise::Divide;
    case PointwiseMode::Relu:
        return Pointwise::Relu;
    case PointwiseMode::Tanh:
        return Pointwise::Tanh;
    case PointwiseMode::Sigmoid:
        return Pointwise::Sigmoid;
    case PointwiseMode::Elu:
        return Pointwise::Elu;
    case PointwiseMode::GeluErf:
        return Pointwise::Gelu;
    case PointwiseMode::GeluTanh:
        return Pointwise::GeluTanh;
    case PointwiseMode::Swish:
        return Pointwise::Swish;
    case PointwiseMode::Softplus:
        return Pointwise::Softplus;
    case PointwiseMode::Abs:
        return Pointwise::Abs;
    case PointwiseMode::Sqrt:
        return Pointwise::Sqrt;
    case PointwiseMode::Exp:
        return Pointwise::Exp;
    case PointwiseMode::Identity:
        return Pointwise::Identity;
    }
    return Pointwise::Identity;
}

/// Makes descriptors one after the other; the first refusal ends it.
class Builder {
public:
    Builder(LibraryPtr library, const GraphDescription& description)
        : m_library(std::move(library)), m_description(description) {}

    std::variant<OperationGraph, Reason> run(Handle handle) {
        for (size_t i = 0; i < m_description.tensors.size(); ++i)
            m_tensors.push_back(tensor(i));
        for (const GraphNode& node : m_description.nodes)
            m_operations.push_back(std::visit([&](const auto& x) { return operation(x); }, node));
        if (!m_refusal) {
            Descriptor graph(m_library, Kind::OperationGraph);
            if (handle != nullptr)
                graph.set(Attribute::GraphHandle, Type::Handle, &handle, 1);
            graph.set(Attribute::GraphOperations, Type::Descriptor, m_operations.data(),
                      m_operations.size());
            m_refusal = graph.finish("the operation graph");
            m_out.graph = std::move(graph);
        }
        if (m_refusal)
            return std::move(*m_refusal);
        return std::move(m_out);
    }

private:
    RawDescriptor keep(Descriptor descriptor, const char* what) {
        if (auto reason = descriptor.finish(what); reason && !m_refusal)
            m_refusal = std::move(reason);
        m_out.parts.push_back(std::move(descriptor));
        return m_out.parts.back().raw();
    }

    static void set(Descriptor& to, Attribute attribute, RawDescriptor value) {
        to.set(attribute, Type::Descriptor, &value, 1);
    }

    RawDescriptor tensor(size_t index) {
        const GraphTensor& from = m_description.tensors[index];
        Descriptor out(m_library, Kind::Tensor);
        out.set(Attribute::TensorDataType, dataType(from.dtype));
        out.set(Attribute::TensorDimensions, from.dims);
        out.set(Attribute::TensorStrides, from.strides);
        out.set(Attribute::TensorUniqueId, uniqueId(index));
        out.set(Attribute::TensorAlignment, from.alignment);
        if (from.memory.kind == TensorMemory::Kind::Virtual)
            out.set(Attribute::TensorIsVirtual, true);
        if (from.memory.kind == TensorMemory::Kind::Scalar)
            out.set(Attribute::TensorIsByValue, true);
        return keep(std::move(out), "a tensor");
    }

    RawDescriptor operation(const ConvolutionNode& node) {
        Descriptor convolution(m_library, Kind::Convolution);
        convolution.set(Attribute::ConvolutionSpatialDims,
                        static_cast<int64_t>(node.strides.size()));
        convolution.set(Attribute::ConvolutionComputeType, DataType::Float);
        convolution.setCode(Attribute::ConvolutionMode, Type::ConvolutionMode, crossCorrelation);
        convolution.set(Attribute::ConvolutionPrePaddings, node.padsBegin);
        convolution.set(Attribute::ConvolutionPostPaddings, node.padsEnd);
        convolution.set(Attribute::ConvolutionStrides, node.strides);
        convolution.set(Attribute::ConvolutionDilations, node.dilations);
        const RawDescriptor made = keep(std::move(convolution), "a convolution");
        Descriptor out(m_library, Kind::OperationConvolutionForward);
        set(out, Attribute::ConvolutionForwardX, m_tensors[node.x]);
        set(out, Attribute::ConvolutionForwardW, m_tensors[node.w]);
        set(out, Attribute::ConvolutionForwardY, m_tensors[node.y]);
        set(out, Attribute::ConvolutionForwardDescriptor, made);
        out.set(Attribute::ConvolutionForwardAlpha, 1.0F);
        out.set(Attribute::ConvolutionForwardBeta, 0.0F);
        return keep(std::move(out), "a convolution");
    }

    RawDescriptor operation(const MatMulNode& node) {
        Descriptor product(m_library, Kind::MatMul);
        product.set(Attribute::MatMulComputeType, DataType::Float);
        const RawDescriptor made = keep(std::move(product), "a matrix product");
        Descriptor out(m_library, Kind::OperationMatMul);
        set(out, Attribute::OperationMatMulA, m_tensors[node.a]);
        set(out, Attribute::OperationMatMulB, m_tensors[node.b]);
        set(out, Attribute::OperationMatMulC, m_tensors[node.c]);
        set(out, Attribute::OperationMatMulDescriptor, made);
        return keep(std::move(out), "a matrix product");
    }

    RawDescriptor operation(const PointwiseNode& node) {
        Descriptor pointwise(m_library, Kind::Pointwise);
        pointwise.setCode(Attribute::PointwiseMode, Type::PointwiseMode,
                          static_cast<int>(pointwiseMode(node.mode)));
        pointwise.set(Attribute::PointwiseMathType, DataType::Float);
        if (node.mode == PointwiseMode::Relu)
            setClips(pointwise, node);
        if (node.mode == PointwiseMode::Elu)
            pointwise.set(Attribute::PointwiseEluAlpha, node.alpha);
        if (node.mode == PointwiseMode::Swish)
            pointwise.set(Attribute::PointwiseSwishBeta, node.alpha);
        if (node.mode == PointwiseMode::Softplus)
            pointwise.set(Attribute::PointwiseSoftplusBeta, 1.0);
        const RawDescriptor made = keep(std::move(pointwise), nameOf(node.mode));
        Descriptor out(m_library, Kind::OperationPointwise);
        set(out, Attribute::PointwiseDescriptor, made);
        set(out, Attribute::PointwiseX, m_tensors[node.x]);
        if (node.b)
            set(out, Attribute::PointwiseB, m_tensors[*node.b]);
        set(out, Attribute::PointwiseY, m_tensors[node.y]);
        return keep(std::move(out), nameOf(node.mode));
    }

    /// Only what differs from a plain ReLU: engines refuse attributes that they need not look at.
    static void setClips(Descriptor& pointwise, const PointwiseNode& node) {
        if (node.lowerClip != 0)
            pointwise.set(Attribute::PointwiseReluLowerClip, node.lowerClip);
        if (node.hasUpperClip)
            pointwise.set(Attribute::PointwiseReluUpperClip, node.upperClip);
        if (node.slope != 0)
            pointwise.set(Attribute::PointwiseReluLowerClipSlope, node.slope);
    }

    RawDescriptor operation(const ReductionNode& node) {
        const Reduce mode = node.mode == ReductionMode::Sum ? Reduce::Add : Reduce::Maximum;
        Descriptor reduction(m_library, Kind::Reduction);
        reduction.setCode(Attribute::ReductionOperator, Type::ReductionOperator,
                          static_cast<int>(mode));
        reduction.set(Attribute::ReductionComputeType, DataType::Float);
        const RawDescriptor made = keep(std::move(reduction), nameOf(node.mode));
        Descriptor out(m_library, Kind::OperationReduction);
        set(out, Attribute::OperationReductionX, m_tensors[node.x]);
        set(out, Attribute::OperationReductionY, m_tensors[node.y]);
        set(out, Attribute::OperationReductionDescriptor, made);
        return keep(std::move(out), nameOf(node.mode));
    }

    RawDescriptor operation(const SdpaNode& node) {
        Descriptor out(m_library, Kind::OperationSdpaForward);
        set(out, Attribute::SdpaQ, m_tensors[node.q]);
        set(out, Attribute::SdpaK, m_tensors[node.k]);
        set(out, Attribute::SdpaV, m_tensors[node.v]);
        set(out, Attribute::SdpaO, m_tensors[node.o]);
        set(out, Attribute::SdpaScale, m_tensors[node.scale]);
        return keep(std::move(out), "attention");
    }

    LibraryPtr m_library;
    const GraphDescription& m_description;
    std::vector<RawDescriptor> m_tensors, m_operations;
    OperationGraph m_out;
    std::optional<Reason> m_refusal;
};

} // namespace

DataType dataType(DType type) {
    assert((type == DType::Float32 || type == DType::Float16 || type == DType::BFloat16) &&
           "a type that descriptions have");
    return type == DType::Float16    ? DataType::Half
           : type == DType::BFloat16 ? DataType::BFloat16
                                     : DataType::Float;
}

std::variant<OperationGraph, Reason>
operationGraph(const LibraryPtr& library, const GraphDescription& description, Handle handle) {
    return Builder(library, description).run(handle);
}

} // namespace fuselage::gpu::cudnn
