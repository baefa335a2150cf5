// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/matrix_product.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

bool movesOverBatch(const Contraction& program, const StridedAccess& b) {
    for (size_t d = 0; d < program.batchDims; ++d)
        if (program.space[d] != 1 && b.strides[d] != 0)
            return true;
    return false;
}

Extents tail(const Extents& values, size_t first) {
    return {values.begin() + static_cast<ptrdiff_t>(first), values.end()};
}

/// Strides over space and k with zeros before `first` and dense ones of `extents` from there.
StridedAccess denseFrom(size_t first, const Extents& extents, size_t dims) {
    StridedAccess out{0, Extents(dims, 0)};
    const Extents dense = rowMajorStrides(extents);
    std::copy(dense.begin(), dense.end(), out.strides.begin() + static_cast<ptrdiff_t>(first));
    return out;
}

PackedConstant packedWeights(const KernelRequest& request, const MatchedContraction& matched,
                             const Extents& extents, size_t firstN, bool scaleFolded) {
    const Contraction& program = *matched.program;
    const OperandLayout& layout = request.inputs[program.b.operand];
    const StridedAccess from = strided(program.b, rowMajorStrides(layout.extents),
                                       program.space.size() + program.k.size());
    PackedConstant out;
    out.dtype = layout.dtype;
    out.extents = extents;
    out.strides = rowMajorStrides(extents);
    out.input = program.b.operand;
    out.offset = from.offset;
    out.sourceStrides = tail(from.strides, firstN);
    if (scaleFolded && !matched.epilogue.scale.empty()) {
        out.factors = matched.epilogue.scale;
        out.factorStrides = Extents(extents.size(), 0);
        const Extents dense = rowMajorStrides(tail(program.space, firstN));
        if (out.factors.size() > 1)
            std::copy(dense.begin(), dense.end(), out.factorStrides.begin());
    }
    return out;
}

} // namespace

TensorPtr constantOf(const KernelRequest& request, uint32_t operand) {
    return request.constant(operand);
}

std::variant<MatrixProduct, Reason> matrixProduct(const KernelRequest& request,
                                                  const MatchedContraction& matched) {
    const Contraction& program = *matched.program;
    const size_t space = program.space.size(), all = space + program.k.size();
    const size_t firstN = program.batchDims + program.mDims;
    MatrixProduct out;
    std::vector<StridedAccess> operands;
    operands.push_back(strided(program.a, request.inputs[program.a.operand].strides, all));
    StridedAccess b = strided(program.b, request.inputs[program.b.operand].strides, all);
    const TensorPtr weights = constantOf(request, program.b.operand);
    if (weights && !movesOverBatch(program, b)) {
        Extents extents = tail(program.space, firstN);
        extents.insert(extents.end(), program.k.begin(), program.k.end());
        out.scaleFolded = scaledWeightsFit(*weights, matched.epilogue.scale);
        out.packedB = packedWeights(request, matched, extents, firstN, out.scaleFolded);
        b = denseFrom(firstN, extents, all);
    }
    operands.push_back(std::move(b));
    operands.push_back(denseFrom(firstN, tail(program.space, firstN), space));
    for (const Access& write : program.epilogue.writes)
        operands.push_back(strided(write, request.outputs[write.operand].strides, space));
    out.firstRead = operands.size();
    for (const Access& read : program.epilogue.reads)
        operands.push_back(strided(read, request.inputs[read.operand].strides, space));
    auto loops = matMulLoops(program, operands);
    if (auto* reason = std::get_if<Reason>(&loops))
        return std::move(*reason);
    out.loops = std::move(std::get<MatMulLoops>(loops));
    for (const StridedAccess& operand : operands)
        out.offsets.push_back(operand.offset);
    return out;
}

} // namespace fuselage::gpu
