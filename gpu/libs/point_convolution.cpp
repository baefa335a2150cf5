// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/point_convolution.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

bool areAll(const Extents& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(),
                       [&](int64_t value) { return value == wanted; });
}

bool isOfPositions(const KernelProgram& program, const Contraction& code) {
    const SlidingWindow& window = code.window;
    return code.kind == Contraction::Kind::Conv && code.groups == 1 && !code.poolWindow &&
           !code.prologueA && !code.prologueB && areAll(window.kernel, 1) &&
           areAll(window.strides, 1) && areAll(window.padsBegin, 0) && areAll(window.padsEnd, 0) &&
           program.inputs[code.a.operand].extents.size() >= 3;
}

/// Over [images, positions..., channels] in place of [images, channels, positions...].
Access overRows(Access access, size_t dims) {
    const auto channel = static_cast<uint32_t>(dims - 1);
    for (DimIndex& index : access.index)
        for (IndexTerm& term : index.terms)
            if (term.dim != 0)
                term.dim = term.dim == 1 ? channel : term.dim - 1;
    return access;
}

} // namespace

std::optional<KernelProgram> productOfPositions(const KernelProgram& program) {
    const auto* code = std::get_if<Contraction>(&program.code);
    if (code == nullptr || !isOfPositions(program, *code))
        return std::nullopt;
    const size_t dims = code->space.size();
    const auto channel = static_cast<uint32_t>(dims - 1), summed = static_cast<uint32_t>(dims);
    Contraction product;
    product.kind = Contraction::Kind::MatMul;
    product.space = code->space;
    std::rotate(product.space.begin() + 1, product.space.begin() + 2, product.space.end());
    product.k = {program.inputs[code->a.operand].extents[1]};
    product.mDims = channel;
    product.nDims = 1;
    product.a = {code->a.operand, {{0, {{0, 1}}}, {0, {{summed, 1}}}}};
    for (uint32_t d = 1; d < channel; ++d)
        product.a.index.push_back({0, {{d, 1}}});
    product.b = {code->b.operand, {{0, {{channel, 1}}}, {0, {{summed, 1}}}}};
    product.b.index.resize(program.inputs[code->b.operand].extents.size());
    product.epilogue = code->epilogue;
    for (auto* accesses : {&product.epilogue.reads, &product.epilogue.writes})
        for (Access& access : *accesses)
            access = overRows(std::move(access), dims);
    product.accumulate = code->accumulate;
    KernelProgram out = program;
    out.code = std::move(product);
    return out;
}

} // namespace fuselage::gpu
