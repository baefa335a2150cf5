// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/contraction_engine.h"
#include "core/cpu/onednn_internal.h"

#include <cassert>
#include <cmath>

namespace fuselage::cpu::onednn {

const dnnl::engine& engine() {
    static const dnnl::engine theEngine(dnnl::engine::kind::cpu, 0);
    return theEngine;
}

void execute(const dnnl::primitive& primitive,
             const std::unordered_map<int, dnnl::memory>& arguments) {
    thread_local dnnl::stream stream(engine());
    primitive.execute(stream, arguments);
    stream.wait();
}

dnnl::memory packedWeights(const void* values, const dnnl::memory::desc& plain,
                           const dnnl::memory::desc& packed, Pages& pages) {
    dnnl::memory from(plain, engine(), const_cast<void*>(values));
    const std::byte* made = pages.filled(packed.get_size(), [&](std::byte* to) {
        dnnl::memory target(packed, engine(), to);
        execute(dnnl::reorder(from, target), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, target}});
    });
    return {packed, engine(), const_cast<std::byte*>(made)};
}

dnnl::memory::data_type dataType(DType type) {
    using Type = dnnl::memory::data_type;
    switch (type) {
    case DType::Float32:
        return Type::f32;
    case DType::BFloat16:
        return Type::bf16;
    case DType::Int32:
        return Type::s32;
    case DType::Int8:
        return Type::s8;
    case DType::UInt8:
        return Type::u8;
    default:
        return Type::undef;
    }
}

dnnl::memory::desc describe(const Extents& dims, const Extents& strides, DType type) {
    Extents regular = strides;
    for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] != 1)
            continue;
        // What the stride would be if this dimension lay just outside the ones inside it.
        int64_t outside = 1;
        for (size_t e = d + 1; e < dims.size(); ++e)
            if (dims[e] != 1)
                outside = std::max(outside, regular[e] * dims[e]);
        regular[d] = outside;
    }
    return {dims, dataType(type), regular};
}

dnnl::memory::desc describeAny(const Extents& dims, DType type) {
    return {dims, dataType(type), dnnl::memory::format_tag::any};
}

Pace paceOf(const std::string& implementation) {
    if (implementation.find("ref") != std::string::npos)
        return Pace::Reference;
    const bool products =
        implementation.find("gemm:") == 0 || implementation.find("x64:gemm") != std::string::npos;
    return products ? Pace::Products : Pace::Own;
}

bool isSlow(const std::string& implementation) {
    return paceOf(implementation) != Pace::Own;
}

namespace {

struct Function {
    dnnl::algorithm kind;
    float alpha = 0, beta = 0;
};

/// What the library computes one after another for an activation.
std::vector<Function> functionsOf(const MatchedActivation& f) {
    using dnnl::algorithm;
    auto alpha = static_cast<float>(f.alpha), beta = static_cast<float>(f.beta);
    switch (f.kind) {
    case Activation::Relu:
        return {{algorithm::eltwise_relu, alpha}};
    case Activation::Clip:
        return {{algorithm::eltwise_clip, alpha, beta}};
    case Activation::Elu:
        return {{algorithm::eltwise_elu, alpha}};
    case Activation::Tanh:
        return {{algorithm::eltwise_tanh}};
    case Activation::Logistic:
        return {{algorithm::eltwise_logistic}};
    case Activation::GeluErf:
        return {{algorithm::eltwise_gelu_erf}};
    case Activation::GeluTanh:
        return {{algorithm::eltwise_gelu_tanh}};
    case Activation::Swish:
        return {{algorithm::eltwise_swish, alpha}};
    case Activation::Hardswish:
        return {{algorithm::eltwise_hardswish}};
    case Activation::Softplus:
        return {{algorithm::eltwise_soft_relu}};
    case Activation::Mish:
        return {{algorithm::eltwise_mish}};
    case Activation::Abs:
        return {{algorithm::eltwise_abs}};
    case Activation::Square:
        return {{algorithm::eltwise_square}};
    case Activation::Sqrt:
        return {{algorithm::eltwise_sqrt}};
    case Activation::Exp:
        return {{algorithm::eltwise_exp}};
    case Activation::Linear:
        return {{algorithm::eltwise_linear, alpha, beta}};
    case Activation::ClipLinear:
        return {{algorithm::eltwise_linear, alpha, beta}, {algorithm::eltwise_clip, 0, 1}};
    }
    return {};
}

} // namespace

std::optional<Reason> postOpsReason(const MatchedEpilogue& epilogue) {
    std::vector<Function> seen;
    for (const PostOp& op : epilogue.postOps) {
        if (op.kind != PostOp::Kind::Activate)
            continue;
        for (const Function& f : functionsOf(op.activation)) {
            for (const Function& other : seen)
                if (other.kind == f.kind && (other.alpha != f.alpha || other.beta != f.beta))
                    return Reason{"support", "oneDNN takes one function of a kind only", {}, {}};
            seen.push_back(f);
        }
    }
    return std::nullopt;
}

PostOps makePostOps(const MatchedEpilogue& epilogue, const Extents& channelDims) {
    PostOps out;
    dnnl::post_ops ops;
    int64_t channels = 1;
    for (int64_t d : channelDims)
        channels *= d;
    for (const PostOp& op : epilogue.postOps) {
        switch (op.kind) {
        case PostOp::Kind::Activate:
            for (const Function& f : functionsOf(op.activation))
                ops.append_eltwise(1, f.kind, f.alpha, f.beta);
            break;
        case PostOp::Kind::Sum:
            ops.append_sum(1.0F);
            out.sumRead = op.read;
            break;
        case PostOp::Kind::MultiplyChannel:
        case PostOp::Kind::AddChannel: {
            Extents dense = rowMajorStrides(channelDims);
            PostOpArgument argument{DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1,
                                    describe(channelDims, dense, DType::Float32),
                                    {},
                                    op.read};
            for (size_t i = 0; !op.values.empty() && i < static_cast<size_t>(channels); ++i)
                argument.constants.push_back(
                    static_cast<float>(op.values[op.values.size() == 1 ? 0 : i]));
            ops.append_binary(op.kind == PostOp::Kind::AddChannel ? dnnl::algorithm::binary_add
                                                                  : dnnl::algorithm::binary_mul,
                              argument.desc);
            out.arguments.push_back(std::move(argument));
            break;
        }
        case PostOp::Kind::Multiply:
            assert(false && "not asked of the matcher");
            break;
        }
    }
    out.attributes.set_post_ops(ops);
    out.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return out;
}

dnnl::algorithm poolAlgorithm(PoolKind kind) {
    switch (kind) {
    case PoolKind::Average:
        return dnnl::algorithm::pooling_avg_exclude_padding;
    case PoolKind::AverageIncludingPad:
        return dnnl::algorithm::pooling_avg_include_padding;
    default:
        return dnnl::algorithm::pooling_max;
    }
}

} // namespace fuselage::cpu::onednn

namespace fuselage::cpu {

bool multipliesNatively(DType type) {
    if (type != DType::BFloat16)
        return type == DType::Float32;
    constexpr auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
    const auto have = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    return (have & needed) == needed;
}

} // namespace fuselage::cpu
