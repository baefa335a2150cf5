// SPDX-License-Identifier: Apache-2.0
// The few things that all oneDNN executors share. Included by core/cpu/onednn_*.cpp only.
#pragma once

#include "core/cpu/kernel.h"
#include "core/kernel/epilogue_match.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <string>
#include <unordered_map>
#include <vector>

namespace fuselage::cpu::onednn {

const dnnl::engine& engine();

/// Runs a primitive on the calling thread's OpenMP team.
void execute(const dnnl::primitive& primitive,
             const std::unordered_map<int, dnnl::memory>& arguments);

/// In the order of `packed`; `values` are not needed afterwards.
dnnl::memory packedWeights(const void* values, const dnnl::memory::desc& plain,
                           const dnnl::memory::desc& packed, Pages& pages);

dnnl::memory::data_type dataType(DType type);

/// A plain descriptor; strides of dimensions of extent one are made regular, since oneDNN looks at
/// them when it names the format.
dnnl::memory::desc describe(const Extents& dims, const Extents& strides, DType type);
dnnl::memory::desc describeAny(const Extents& dims, DType type);

/// How an implementation computes, best first: loops of its own, products of rearranged operands
/// (some times slower), one result after the other (hundreds of times).
enum class Pace : uint8_t { Own, Products, Reference };
Pace paceOf(const std::string& implementation);

/// True for implementations that are many times slower than the rest.
bool isSlow(const std::string& implementation);

/// An operand of a post-op at run time: constants kept here, or an epilogue read.
struct PostOpArgument {
    int argument = 0; ///< DNNL_ARG_...
    dnnl::memory::desc desc;
    std::vector<float> constants; ///< empty: the operand of epilogue read `read`
    uint32_t read = 0;
};

/// Post-ops as attributes. channelDims: the extents of a per-channel operand, e.g. {1, K, 1, 1}.
struct PostOps {
    dnnl::primitive_attr attributes;
    std::vector<PostOpArgument> arguments;
    std::optional<uint32_t> sumRead; ///< its operand must be in the destination before
};
/// Why oneDNN would compute this epilogue wrongly: version 2.6 takes the numbers of the first of
/// several functions of one kind, say two LeakyRelu, for all of them. To be asked before
/// makePostOps.
std::optional<Reason> postOpsReason(const MatchedEpilogue& epilogue);
PostOps makePostOps(const MatchedEpilogue& epilogue, const Extents& channelDims);

dnnl::algorithm poolAlgorithm(PoolKind kind);

} // namespace fuselage::cpu::onednn
