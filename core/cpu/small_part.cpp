// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/small_part.h"

#include "core/kernel/constant_part.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

constexpr int64_t fewestRepeated = 1024; ///< functions saved, else a part costs more than it saves
constexpr int64_t leastRepeats = 4;
constexpr size_t alignment = 64;

bool isExpensive(const Tape& tape) {
    return std::any_of(tape.code.begin(), tape.code.end(),
                       [](const TapeInstruction& each) { return rowOf(each.op).cost.expensive(); });
}

/// What stands for the data of operands, which foldConstantReads() wants, and tells them apart.
std::vector<ConstantOperand> smallOperands(const FoldedPointwise& folded, int64_t count) {
    std::vector<ConstantOperand> out;
    for (const OperandLayout& input : folded.inputs) {
        const bool isSmall = elementCount(input.extents).value_or(count) <= count / leastRepeats;
        out.push_back({input.extents, isSmall
                                          ? std::make_shared<const Tensor>(input.dtype, Extents{0})
                                          : nullptr});
    }
    return out;
}

uint32_t operandOf(const std::vector<ConstantOperand>& operands, const TensorPtr& data) {
    const auto at = std::find_if(operands.begin(), operands.end(),
                                 [&](const ConstantOperand& each) { return each.data == data; });
    return static_cast<uint32_t>(at - operands.begin());
}

struct Taken {
    FoldedReads reads;
    std::vector<ConstantPart> parts;
};

/// Without parts that are as cheap to repeat.
Taken takenFrom(const Pointwise& program, std::vector<ConstantOperand>& operands, int64_t count) {
    for (;;) {
        Taken out;
        std::vector<TensorPtr> refused;
        out.reads = foldConstantReads(
            {program.space, 0, program.tape, program.reads}, operands,
            [&](const ConstantPart& part) {
                const int64_t elements = elementCount(part.program.space).value_or(count);
                out.parts.push_back(part);
                if (!isExpensive(part.program.tape) || count - elements < fewestRepeated)
                    refused.insert(refused.end(), part.inputs.begin(), part.inputs.end());
                std::vector<TensorPtr> results;
                for (uint16_t reg : part.program.tape.outputs)
                    results.push_back(
                        std::make_shared<const Tensor>(part.program.tape.type(reg), Extents{0}));
                return results;
            });
        if (refused.empty())
            return out;
        for (ConstantOperand& operand : operands)
            if (std::find(refused.begin(), refused.end(), operand.data) != refused.end())
                operand.data = nullptr;
    }
}

} // namespace

PointwiseInParts takeSmallParts(FoldedPointwise folded, size_t given) {
    PointwiseInParts out;
    const int64_t count = elementCount(folded.program.space).value_or(0);
    if (count < fewestRepeated || !isExpensive(folded.program.tape)) {
        out.rest = std::move(folded);
        return out;
    }
    std::vector<ConstantOperand> operands = smallOperands(folded, count);
    Taken taken = takenFrom(folded.program, operands, count);
    out.rest = std::move(folded);
    if (taken.parts.empty())
        return out;
    const Pointwise before = out.rest.program;
    out.rest.program.tape = std::move(taken.reads.rest.tape);
    out.rest.program.reads = std::move(taken.reads.rest.reads);
    for (ConstantPart& part : taken.parts) {
        SmallPart& made = out.parts.emplace_back();
        for (const TensorPtr& input : part.inputs) {
            made.operands.push_back(operandOf(operands, input));
            made.inputs.push_back(out.rest.inputs[made.operands.back()]);
        }
        for (uint16_t reg : part.program.tape.outputs) {
            const OperandLayout result{part.program.tape.type(reg), part.program.space,
                                       rowMajorStrides(part.program.space), nullptr};
            made.offsets.push_back(out.bytes);
            made.outputs.push_back(result);
            out.rest.inputs.push_back(result);
            out.bytes +=
                (static_cast<size_t>(result.span()) * sizeOf(result.dtype) + alignment - 1) /
                alignment * alignment;
        }
        made.program = std::move(part.program);
    }
    out.rest.bytes += bytesUnread(before, out.rest.program, out.rest.inputs, given);
    return out;
}

} // namespace fuselage::cpu
