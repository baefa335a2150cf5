// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/epilogue_inputs.h"

namespace fuselage {

namespace {

EpilogueInput classify(const Contraction& program, uint32_t read, const EpilogueOperand& layout) {
    const Access& access = program.epilogue.reads[read];
    size_t dims = program.space.size();
    StridedAccess at = strided(access, layout.strides, dims);
    bool isMatMul = program.kind == Contraction::Kind::MatMul;
    size_t firstChannel = isMatMul ? program.batchDims + program.mDims : 1;
    size_t endChannel = isMatMul ? dims : 2;
    EpilogueInput out{EpilogueInput::Kind::Full, {}, read};
    bool scalar = true, everywhere = true;
    Extents channelExtents, channelStrides;
    for (size_t d = 0; d < dims; ++d) {
        bool channel = d >= firstChannel && d < endChannel;
        if (channel) {
            channelExtents.push_back(program.space[d]);
            channelStrides.push_back(at.strides[d]);
        }
        everywhere = everywhere && (program.space[d] == 1 || at.strides[d] != 0);
        if (program.space[d] == 1 || at.strides[d] == 0)
            continue;
        scalar = false;
        if (!channel)
            return out;
    }
    int64_t channels = scalar ? 1 : *elementCount(channelExtents);
    if (!layout.constant) {
        Extents dense = rowMajorStrides(channelExtents);
        bool contiguous = true;
        for (size_t d = 0; d < dense.size(); ++d)
            contiguous = contiguous && (channelExtents[d] == 1 || dense[d] == channelStrides[d]);
        // With one row a residual looks like a vector, but it may live where the result goes.
        if (!scalar && !everywhere && contiguous && layout.dtype == DType::Float32)
            out.kind = EpilogueInput::Kind::Channel;
        return out;
    }
    out.kind = EpilogueInput::Kind::Constant;
    for (int64_t i = 0; i < channels; ++i) {
        int64_t rest = i, offset = at.offset;
        for (size_t d = channelExtents.size(); d-- > 0 && !scalar;) {
            offset += rest % channelExtents[d] * channelStrides[d];
            rest /= channelExtents[d];
        }
        out.values.push_back(layout.constant->at(offset));
    }
    return out;
}

} // namespace

std::vector<EpilogueInput>
epilogueInputs(const Contraction& program,
               const std::function<EpilogueOperand(uint32_t operand)>& operandAt) {
    std::vector<EpilogueInput> out = {{EpilogueInput::Kind::Accumulator, {}, 0}};
    for (uint32_t i = 0; i < program.epilogue.reads.size(); ++i)
        out.push_back(classify(program, i, operandAt(program.epilogue.reads[i].operand)));
    return out;
}

} // namespace fuselage
