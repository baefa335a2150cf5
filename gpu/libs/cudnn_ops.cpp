// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/cudnn_ops.h"

#include <cassert>

namespace fuselage::gpu::cudnn {

namespace {

Pointwise pointwiseMode(PointwiseMode mode) {
    switch (mode) {
    case PointwiseMode::Add:
        return Pointwise::CUDNN_POINTWISE_ADD;
    case PointwiseMode::Multiply:
        return Pointwise::CUDNN_POINTWISE_MUL;
    case PointwiseMode::Minimum:
        return Pointwise::CUDNN_POINTWISE_MIN;
    case PointwiseMode::Subtract:
        return Pointwise::CUDNN_POINTWISE_SUB;
    case PointwiseMode::Divide:
        return Pointwise::CUDNN_POINTWISE_DIV;
    case PointwiseMode::Relu:
        return Pointwise::CUDNN_POINTWISE_RELU_FWD;
    case PointwiseMode::Tanh:
        return Pointwise::CUDNN_POINTWISE_TANH_FWD;
    case PointwiseMode::Sigmoid:
        return Pointwise::CUDNN_POINTWISE_SIGMOID_FWD;
    case PointwiseMode::Elu:
        return Pointwise::CUDNN_POINTWISE_ELU_FWD;
    case PointwiseMode::GeluErf:
        return Pointwise::CUDNN_POINTWISE_GELU_FWD;
    case PointwiseMode::GeluTanh:
        return Pointwise::CUDNN_POINTWISE_GELU_APPROX_TANH_FWD;
    case PointwiseMode::Swish:
        return Pointwise::CUDNN_POINTWISE_SWISH_FWD;
    case PointwiseMode::Softplus:
        return Pointwise::CUDNN_POINTWISE_SOFTPLUS_FWD;
    case PointwiseMode::Abs:
        return Pointwise::CUDNN_POINTWISE_ABS;
    case PointwiseMode::Sqrt:
        return Pointwise::CUDNN_POINTWISE_SQRT;
    case PointwiseMode::Exp:
        return Pointwise::CUDNN_POINTWISE_EXP;
    case PointwiseMode::Identity:
        return Pointwise::CUDNN_POINTWISE_IDENTITY;
    }
    return Pointwise::CUDNN_POINTWISE_IDENTITY;
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
            Descriptor graph(m_library, Kind::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
            if (handle != nullptr)
                graph.set(Attribute::CUDNN_ATTR_OPERATIONGRAPH_HANDLE, Type::CUDNN_TYPE_HANDLE,
                          &handle, 1);
            graph.set(Attribute::CUDNN_ATTR_OPERATIONGRAPH_OPS, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR,
                      m_operations.data(), m_operations.size());
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
        to.set(attribute, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, &value, 1);
    }

    /// Of products and convolutions.
    DataType sumType() const {
        return m_description.operands == DType::Int8 ? DataType::CUDNN_DATA_INT32
                                                     : DataType::CUDNN_DATA_FLOAT;
    }

    RawDescriptor tensor(size_t index) {
        const GraphTensor& from = m_description.tensors[index];
        Descriptor out(m_library, Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR);
        out.set(Attribute::CUDNN_ATTR_TENSOR_DATA_TYPE, dataType(from.dtype));
        out.set(Attribute::CUDNN_ATTR_TENSOR_DIMENSIONS, from.dims);
        out.set(Attribute::CUDNN_ATTR_TENSOR_STRIDES, from.strides);
        out.set(Attribute::CUDNN_ATTR_TENSOR_UNIQUE_ID, uniqueId(index));
        out.set(Attribute::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, from.alignment);
        if (from.memory.kind == TensorMemory::Kind::Virtual)
            out.set(Attribute::CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
        if (from.memory.kind == TensorMemory::Kind::Scalar)
            out.set(Attribute::CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
        return keep(std::move(out), "a tensor");
    }

    RawDescriptor operation(const ConvolutionNode& node) {
        Descriptor convolution(m_library, Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
        convolution.set(Attribute::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
                        static_cast<int64_t>(node.strides.size()));
        convolution.set(Attribute::CUDNN_ATTR_CONVOLUTION_COMP_TYPE, sumType());
        convolution.setCode(Attribute::CUDNN_ATTR_CONVOLUTION_CONV_MODE,
                            Type::CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
        convolution.set(Attribute::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, node.padsBegin);
        convolution.set(Attribute::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, node.padsEnd);
        convolution.set(Attribute::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, node.strides);
        convolution.set(Attribute::CUDNN_ATTR_CONVOLUTION_DILATIONS, node.dilations);
        const RawDescriptor made = keep(std::move(convolution), "a convolution");
        Descriptor out(m_library, Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
        set(out, Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, m_tensors[node.x]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, m_tensors[node.w]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, m_tensors[node.y]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, made);
        out.set(Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0F);
        out.set(Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0F);
        return keep(std::move(out), "a convolution");
    }

    RawDescriptor operation(const MatMulNode& node) {
        Descriptor product(m_library, Kind::CUDNN_BACKEND_MATMUL_DESCRIPTOR);
        product.set(Attribute::CUDNN_ATTR_MATMUL_COMP_TYPE, sumType());
        const RawDescriptor made = keep(std::move(product), "a matrix product");
        Descriptor out(m_library, Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
        set(out, Attribute::CUDNN_ATTR_OPERATION_MATMUL_ADESC, m_tensors[node.a]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_MATMUL_BDESC, m_tensors[node.b]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_MATMUL_CDESC, m_tensors[node.c]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_MATMUL_DESC, made);
        return keep(std::move(out), "a matrix product");
    }

    RawDescriptor operation(const PointwiseNode& node) {
        Descriptor pointwise(m_library, Kind::CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
        pointwise.setCode(Attribute::CUDNN_ATTR_POINTWISE_MODE, Type::CUDNN_TYPE_POINTWISE_MODE,
                          static_cast<int>(pointwiseMode(node.mode)));
        pointwise.set(Attribute::CUDNN_ATTR_POINTWISE_MATH_PREC, DataType::CUDNN_DATA_FLOAT);
        if (node.mode == PointwiseMode::Relu)
            setClips(pointwise, node);
        if (node.mode == PointwiseMode::Elu)
            pointwise.set(Attribute::CUDNN_ATTR_POINTWISE_ELU_ALPHA, node.alpha);
        if (node.mode == PointwiseMode::Swish)
            pointwise.set(Attribute::CUDNN_ATTR_POINTWISE_SWISH_BETA, node.alpha);
        if (node.mode == PointwiseMode::Softplus)
            pointwise.set(Attribute::CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 1.0);
        const RawDescriptor made = keep(std::move(pointwise), nameOf(node.mode));
        Descriptor out(m_library, Kind::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
        set(out, Attribute::CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, made);
        set(out, Attribute::CUDNN_ATTR_OPERATION_POINTWISE_XDESC, m_tensors[node.x]);
        if (node.b)
            set(out, Attribute::CUDNN_ATTR_OPERATION_POINTWISE_BDESC, m_tensors[*node.b]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_POINTWISE_YDESC, m_tensors[node.y]);
        return keep(std::move(out), nameOf(node.mode));
    }

    /// Only what differs from a plain ReLU: engines refuse attributes that they need not look at.
    static void setClips(Descriptor& pointwise, const PointwiseNode& node) {
        if (node.lowerClip != 0)
            pointwise.set(Attribute::CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, node.lowerClip);
        if (node.hasUpperClip)
            pointwise.set(Attribute::CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, node.upperClip);
        if (node.slope != 0)
            pointwise.set(Attribute::CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, node.slope);
    }

    RawDescriptor operation(const ReductionNode& node) {
        const Reduce mode = node.mode == ReductionMode::Sum ? Reduce::CUDNN_REDUCE_TENSOR_ADD
                                                            : Reduce::CUDNN_REDUCE_TENSOR_MAX;
        Descriptor reduction(m_library, Kind::CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
        reduction.setCode(Attribute::CUDNN_ATTR_REDUCTION_OPERATOR,
                          Type::CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, static_cast<int>(mode));
        reduction.set(Attribute::CUDNN_ATTR_REDUCTION_COMP_TYPE, DataType::CUDNN_DATA_FLOAT);
        const RawDescriptor made = keep(std::move(reduction), nameOf(node.mode));
        Descriptor out(m_library, Kind::CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
        set(out, Attribute::CUDNN_ATTR_OPERATION_REDUCTION_XDESC, m_tensors[node.x]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_REDUCTION_YDESC, m_tensors[node.y]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_REDUCTION_DESC, made);
        return keep(std::move(out), nameOf(node.mode));
    }

    RawDescriptor operation(const SdpaNode& node) {
        Descriptor out(m_library, Kind::CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
        set(out, Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, m_tensors[node.q]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, m_tensors[node.k]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, m_tensors[node.v]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, m_tensors[node.o]);
        set(out, Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, m_tensors[node.scale]);
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
    switch (type) {
    case DType::Float16:
        return DataType::CUDNN_DATA_HALF;
    case DType::BFloat16:
        return DataType::CUDNN_DATA_BFLOAT16;
    case DType::Int8:
        return DataType::CUDNN_DATA_INT8;
    case DType::UInt8:
        return DataType::CUDNN_DATA_UINT8;
    case DType::Int32:
        return DataType::CUDNN_DATA_INT32;
    default:
        assert(type == DType::Float32 && "a type that descriptions have");
        return DataType::CUDNN_DATA_FLOAT;
    }
}

std::variant<OperationGraph, Reason>
operationGraph(const LibraryPtr& library, const GraphDescription& description, Handle handle) {
    return Builder(library, description).run(handle);
}

} // namespace fuselage::gpu::cudnn
