// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/blocked_operands.h"

#include "core/graph/type.h"

#include <algorithm>
#include <charconv>

namespace fuselage::gpu {

namespace {

bool isDense(const LibraryOperand& operand) {
    const OperandLayout& layout = operand.layout;
    const Extents dense = rowMajorStrides(layout.extents);
    bool out = !operand.pointer.empty() && fitsInts(layout);
    for (size_t d = 0; d < dense.size(); ++d)
        out = out && (layout.extents[d] == 1 || layout.strides[d] == dense[d]);
    return out;
}

Type typeOf(const LibraryOperand& operand) {
    return tensorType(operand.layout.dtype, toShape(operand.layout.extents));
}

/// 2 of "in2".
uint32_t slotOf(const LibraryOperand& operand) {
    uint32_t out = 0;
    const std::string& name = operand.pointer;
    std::from_chars(name.data() + 2, name.data() + name.size(), out);
    return out;
}

Access accessOver(uint32_t operand, std::initializer_list<uint32_t> dims) {
    Access out;
    out.operand = operand;
    for (uint32_t dim : dims)
        out.index.push_back({0, {{dim, 1}}});
    return out;
}

void flatten(OperandLayout& layout, const Extents& extents) {
    layout.extents = extents;
    layout.strides = rowMajorStrides(extents);
}

} // namespace

std::variant<BlockedOperands, Reason> blockedOperands(const KernelRequest& request) {
    auto made = LibraryView::make(request, {Op::MatMulNBits});
    if (auto* reason = std::get_if<Reason>(&made))
        return std::move(*reason);
    const auto& view = std::get<LibraryView>(made);
    const auto geometry = BlockedWeights::of(view.node());
    if (!geometry || (geometry->bits != 4 && geometry->bits != 8))
        return refusal("support", "only weights of 4 and of 8 bits");
    if (view.input(4))
        return refusal("support", "an order of its own (g_idx)");
    BlockedOperands out{view.input(0), view.input(1),  view.input(2), view.input(3),
                        view.input(5), view.output(0), *geometry};
    for (const LibraryOperand* operand :
         {&out.a, &out.weights, &out.scales, &out.zeros, &out.bias, &out.result})
        if (*operand && !isDense(*operand))
            return refusal("layout", "an operand that is not dense, or not there when it runs");
    // Loops end where the attributes say, and read what the file has given.
    const Type zeros = out.zeros ? typeOf(out.zeros) : Type();
    if (const auto misfit =
            geometry->misfit(typeOf(out.weights), typeOf(out.scales), out.zeros ? &zeros : nullptr))
        return refusal("layout", misfit->message);
    if (out.bias && elementCount(out.bias.layout.extents) != geometry->n)
        return refusal("layout", "a bias of another length");
    if (!isFloat(out.a.layout.dtype) || out.a.layout.dtype == DType::Float64 ||
        !isFloat(out.scales.layout.dtype))
        return refusal("dtype", "only rows of float types");
    if (out.weights.layout.alignment % 16 != 0 || out.a.layout.extents.empty())
        return refusal("layout", "a weight that does not begin at a multiple of 16 bytes");
    out.rows = *elementCount(out.a.layout.extents) / std::max<int64_t>(geometry->k, 1);
    if (out.rows == 0 || geometry->n == 0)
        return refusal("support", "there is nothing to multiply");
    return out;
}

BlockedStorage storageOf(const BlockedOperands& operands) {
    return {operands.geometry, operands.scales.pointer, operands.zeros.pointer,
            operands.scales.layout.dtype, operands.zeros.layout.dtype};
}

BlockedProduct blockedProduct(const KernelRequest& request, const BlockedOperands& operands) {
    const BlockedWeights& geometry = operands.geometry;
    BlockedProduct out;
    out.flat = request;
    const uint32_t a = slotOf(operands.a), b = slotOf(operands.weights);
    flatten(out.flat.inputs[a], {operands.rows, geometry.k});
    flatten(out.flat.inputs[b], {geometry.n, geometry.k});
    flatten(out.flat.outputs[0], {operands.rows, geometry.n});
    out.flat.inputs[b].dtype = operands.a.layout.dtype;

    Contraction code;
    code.space = {operands.rows, geometry.n};
    code.k = {geometry.k};
    code.mDims = code.nDims = 1;
    code.a = accessOver(a, {0, 2});
    code.b = accessOver(b, {1, 2});
    TapeBuilder tape;
    Scalar y = tape.input(code.accumulate);
    if (operands.bias) {
        code.epilogue.reads.push_back(accessOver(slotOf(operands.bias), {1}));
        y = y + cast(tape.input(operands.bias.layout.dtype), code.accumulate);
    }
    code.epilogue.tape = tape.finish({cast(y, operands.result.layout.dtype)});
    code.epilogue.writes.push_back(accessOver(0, {0, 1}));

    out.program = std::make_unique<KernelProgram>();
    out.program->numeric = request.program->numeric;
    for (const OperandLayout& layout : out.flat.inputs)
        out.program->inputs.push_back({layout.dtype, layout.extents});
    for (const OperandLayout& layout : out.flat.outputs)
        out.program->outputs.push_back({layout.dtype, layout.extents});
    out.program->code = std::move(code);
    out.flat.program = out.program.get();
    out.typed = request;
    out.typed.program = out.program.get();
    return out;
}

} // namespace fuselage::gpu
