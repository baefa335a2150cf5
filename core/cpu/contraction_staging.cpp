// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/contraction_staging.h"

#include "core/cpu/layout.h"
#include "core/cpu/tile_pointwise.h"
#include "core/kernel/loops.h"

#include <algorithm>
#include <cstdlib>

namespace fuselage::cpu {

namespace {

/// Where the elements of the staged operand come from, and how the contraction then reads them.
struct Gathering {
    Extents extents; ///< of the staged operand
    Extents strides;
    Access from; ///< over `extents`
    Access read;
};

/// The operand itself, dense: images with channels last, filters as the model has them.
Gathering wholeOperand(const Access& access, const OperandLayout& layout, bool isImage,
                       bool packed) {
    return {layout.extents,
            !packed   ? denseLike(layout.extents, layout.strides)
            : isImage ? channelsLast(layout.extents)
                      : rowMajorStrides(layout.extents),
            identityAccess(access.operand, layout.extents.size()), access};
}

bool movesAlong(const Access& access, uint32_t loop) {
    return std::any_of(access.index.begin(), access.index.end(), [&](const DimIndex& index) {
        return std::any_of(index.terms.begin(), index.terms.end(),
                           [&](const IndexTerm& term) { return term.dim == loop; });
    });
}

/// Whether the loop runs over rows or columns of the operand's matrices.
bool isOfMatrix(const Contraction& program, bool isA, uint32_t loop) {
    const uint32_t rows = program.batchDims, columns = rows + program.mDims;
    if (loop >= program.space.size())
        return true; // what is summed
    return isA ? loop >= rows && loop < columns : loop >= columns;
}

/// One dimension for each loop of the product that moves along the operand, in the order of the
/// loops: batch, rows, columns, and what is summed innermost. What is repeated within a matrix is
/// written out.
Gathering byLoops(const Contraction& program, const Access& access, bool isA) {
    Extents loops = program.space;
    loops.insert(loops.end(), program.k.begin(), program.k.end());
    Gathering out{{}, {}, access, {access.operand, {}}};
    std::vector<uint32_t> position(loops.size(), ~0U);
    for (uint32_t loop = 0; loop < loops.size(); ++loop)
        if (loops[loop] != 1 && (movesAlong(access, loop) || isOfMatrix(program, isA, loop))) {
            position[loop] = static_cast<uint32_t>(out.extents.size());
            out.extents.push_back(loops[loop]);
            out.read.index.push_back({0, {{loop, 1}}});
        }
    for (DimIndex& index : out.from.index) {
        std::erase_if(index.terms, [&](IndexTerm term) { return position[term.dim] == ~0U; });
        for (IndexTerm& term : index.terms)
            term.dim = position[term.dim];
    }
    out.strides = rowMajorStrides(out.extents);
    return out;
}

/// A read over the operand's dims as a read over the space that `along` maps to these dims.
Access moved(const Access& read, const Access& along) {
    Access out{read.operand, {}};
    for (const DimIndex& index : read.index) {
        DimIndex composed{index.offset, {}};
        for (const IndexTerm& term : index.terms) {
            composed.offset += term.scale * along.index[term.dim].offset;
            for (const IndexTerm& inner : along.index[term.dim].terms)
                composed.terms.push_back({inner.dim, term.scale * inner.scale});
        }
        out.index.push_back(std::move(composed));
    }
    return out;
}

} // namespace

Tape castTape(DType from, DType to) {
    TapeBuilder builder;
    Scalar x = builder.input(from);
    return builder.finish({from == to ? x : cast(x, to)});
}

Tape withFloatResult(Tape tape) {
    if (tape.type(tape.outputs[0]) == DType::Float32)
        return tape;
    tape.code.push_back({TapeOp::Cast, DType::Float32, {tape.outputs[0], 0, 0}});
    tape.outputs[0] = static_cast<uint16_t>(tape.code.size() - 1);
    return tape;
}

StagedOperand stageOperand(const Contraction& program, bool isA, DType dtype, bool packed,
                           const PrepareContext& context) {
    const Access& access = isA ? program.a : program.b;
    const std::optional<Prologue>& prologue = isA ? program.prologueA : program.prologueB;
    const OperandLayout& layout = context.inputs[access.operand];
    const bool constant =
        layout.constant &&
        (!prologue ||
         std::all_of(prologue->reads.begin(), prologue->reads.end(), [&](const Access& read) {
             return context.inputs[read.operand].constant != nullptr;
         }));
    Gathering gathering = packed && program.kind == Contraction::Kind::MatMul
                              ? byLoops(program, access, isA)
                              : wholeOperand(access, layout, isA && !constant, packed || constant);
    OperandLayout staged{dtype, gathering.extents, gathering.strides, nullptr};
    Pointwise fill{gathering.extents,
                   {gathering.from},
                   prologue ? prologue->tape : castTape(layout.dtype, dtype),
                   {identityAccess(0, gathering.extents.size())}};
    if (prologue)
        for (const Access& read : prologue->reads)
            fill.reads.push_back(moved(read, gathering.from));
    PrepareContext inner{context.inputs, {staged}, context.table, context.threads, context.allowed};
    auto kernel = preparePointwise(fill, inner);
    if (!constant)
        return {std::move(staged), std::move(gathering.read), std::move(kernel)};
    auto data = std::make_shared<Tensor>(dtype, staged.extents);
    RunContext runContext{context.threads};
    std::vector<const std::byte*> inputs;
    for (const OperandLayout& input : context.inputs)
        inputs.push_back(input.constant ? input.constant->bytes() : nullptr);
    kernel->run({inputs, {data->bytes()}}, runContext);
    staged.constant = std::move(data);
    return {std::move(staged), std::move(gathering.read), nullptr};
}

} // namespace fuselage::cpu
