// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/constant_part.h"

#include "core/cpu/tile_pointwise.h"
#include "core/kernel/constant_part.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

bool reads(const Pointwise& program, uint32_t operand) {
    return std::any_of(program.reads.begin(), program.reads.end(),
                       [=](const Access& read) { return read.operand == operand; });
}

/// On the tile interpreter, so that folding changes no bit.
std::vector<TensorPtr> computed(const ConstantPart& part, const PrepareContext& context) {
    PrepareContext inner{{}, {}, context.table, context.threads, context.allowed};
    Operands operands;
    std::vector<TensorPtr> out;
    for (const TensorPtr& input : part.inputs) {
        operands.inputs.push_back(input->bytes());
        // Not marked as constant: nothing is left to fold in the part.
        inner.inputs.push_back(
            {input->dtype(), part.program.space, rowMajorStrides(part.program.space), nullptr});
    }
    for (uint16_t reg : part.program.tape.outputs) {
        auto data = std::make_shared<Tensor>(part.program.tape.type(reg), part.program.space);
        operands.outputs.push_back(data->bytes());
        inner.outputs.push_back(
            {data->dtype(), part.program.space, rowMajorStrides(part.program.space), nullptr});
        out.push_back(std::move(data));
    }
    RunContext run{context.threads};
    preparePointwise(part.program, inner)->run(operands, run);
    return out;
}

} // namespace

int64_t bytesUnread(const Pointwise& before, const Pointwise& after,
                    const std::vector<OperandLayout>& operands, size_t given) {
    int64_t out = 0;
    for (uint32_t operand = 0; operand < given; ++operand)
        if (reads(before, operand) && !reads(after, operand))
            out += *elementCount(operands[operand].extents) *
                   static_cast<int64_t>(sizeOf(operands[operand].dtype));
    return out;
}

FoldedPointwise foldConstantPart(const Pointwise& program, const PrepareContext& context) {
    std::vector<ConstantOperand> operands;
    for (const OperandLayout& input : context.inputs)
        operands.push_back({input.extents, input.constant});
    FoldedReads folded =
        foldConstantReads({program.space, 0, program.tape, program.reads}, operands,
                          [&](const ConstantPart& part) { return computed(part, context); });
    FoldedPointwise out{program, context.inputs, 0};
    if (folded.results.empty())
        return out;
    out.program.tape = std::move(folded.rest.tape);
    out.program.reads = std::move(folded.rest.reads);
    for (TensorPtr& result : folded.results) {
        const Extents extents = result->extents();
        out.inputs.push_back(
            {result->dtype(), extents, rowMajorStrides(extents), std::move(result)});
    }
    out.bytes = bytesUnread(program, out.program, context.inputs, context.inputs.size());
    return out;
}

} // namespace fuselage::cpu
