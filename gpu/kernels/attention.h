// SPDX-License-Identifier: Apache-2.0
// softmax(steps(scale * Q K^T)) V without the scores in memory: a block owns some queries of one
// batch and walks over the keys, or over a part of them, with a running maximum and sum.
#pragma once

#include "gpu/emit/emit_kernel.h"
#include "gpu/emit/emit_tape.h"

namespace fuselage::gpu {

/// What one step of the scores reads or calls.
struct ScoreStepText {
    KernelOperand operand; ///< of one that reads
    TapeFunction function; ///< of one that does not
};

/// What the attention kernels share: operands over [batch..., row, column] and the text of a score.
struct AttentionSpec {
    const KernelRequest* request = nullptr;
    const Attention* code = nullptr;
    KernelOperand q, k, v, output;
    std::vector<ScoreStepText> steps;
    std::optional<KernelOperand> sink; ///< none: a number, or there is none
    size_t batchDims = 0;
    int64_t batches = 1;
    bool narrow = false; ///< the result is stored in 16 bits, narrow exponentials may serve

    const char* type() const { return registerType(output.dtype); } ///< of scores and sums
    int64_t rowStride(const KernelOperand& operand) const {
        return operand.access.strides[batchDims];
    }
    int64_t columnStride(const KernelOperand& operand) const {
        return operand.access.strides[batchDims + 1];
    }
    /// Declares b0, b1 ... from the linear number of a batch.
    std::string splitBatch(const std::string& linear) const;
    /// Address of the first element of a batch.
    std::string base(const KernelOperand& operand) const;
    /// The device functions of the steps.
    std::string functions() const;
    bool readsMasks() const;
    /// Some mask has an element for each score, not one for all queries or for all keys.
    bool readsEachScore() const;
    /// Statements that apply scale and steps to `score`, of query l and key s.
    std::string stepScore(const std::string& l, const std::string& s,
                          const std::string& indent) const;
    /// Nothing but the scale is done to a score, so that weights can be made of scores without it:
    /// it is a factor in the exponential, which has one in any case.
    bool scalesOnly() const { return code->steps.empty() && code->scale > 0 && !code->sink; }
    /// Declares `sink`, of query l; nothing without one. `l` may lie beyond the last one.
    std::string declareSink(const std::string& l, const std::string& indent) const;
    /// What a running maximum and its sum begin with where `holds`, the sink: it counts once.
    std::string firstTop(const std::string& holds = {}) const;
    std::string firstTotal(const std::string& holds = {}) const;
    /// `result` where the sum of a row's weights is one, as the program says of rows of NaN.
    std::string ended(const std::string& result, const std::string& total) const;
    std::string exponential(const std::string& x, double scale = 1) const;
};

/// What a score is that does not count, as a literal: minus infinity.
std::string lowestScore(DType dtype);

std::variant<AttentionSpec, Reason> attentionSpec(const KernelRequest& request);

EmitResult emitAttentionSplit(const KernelRequest& request);
EmitResult emitAttentionWgmma(const KernelRequest& request);
EmitResult emitAttentionTensor(const KernelRequest& request);
EmitResult emitAttentionTiled(const KernelRequest& request);
EmitResult emitAttentionPlain(const KernelRequest& request);

} // namespace fuselage::gpu
