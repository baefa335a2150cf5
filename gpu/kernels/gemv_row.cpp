// SPDX-License-Identifier: Apache-2.0
// A row in front of one product of few rows: every block makes all rows in shared memory, as a
// normalisation of a token's hidden state is a few kilobytes that the product would read anyway,
// and streams its share of the weight against them. The row's launch and its result are saved, at
// the price of making the rows once for each block; what a weight's first bytes take to arrive is
// the time in which that happens.
#include "core/graph/type.h"
#include "gpu/kernels/chain.h"
#include "gpu/kernels/gemv.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

RowsInFront rowsInFront(const KernelRequest& request, const OperandLayout& rows) {
    const auto& chain = std::get<Chain>(request.program->code);
    KernelRequest own = request;
    own.program = rowsOf(chain);
    own.outputs = {rows};
    KernelRequest readsAlone = own;
    readsAlone.outputs.clear();
    StagedRows staged = RowEmitter(own).emitStaged("@front");
    RowsInFront out;
    out.functions = ownNames(std::move(staged.functions), "row_");
    out.make = fmt::format("    @row_front({}, rows);\n", parameterList(readsAlone, {}, false));
    out.sharedBytes = staged.sharedBytes;
    out.rowBytes =
        elementCount(rows.extents).value_or(0) * static_cast<int64_t>(sizeOf(rows.dtype));
    out.blocks = blocksBehindRows * static_cast<int64_t>(multiprocessorsOf(request));
    out.numeric = staged.numeric;
    return out;
}

} // namespace

EmitResult emitGemvRow(const KernelRequest& request) {
    const char* name = "gemv_row";
    auto refuse = [&](Reason reason) {
        return finish(name, request, PartResult(std::move(reason)));
    };
    const auto& chain = std::get<Chain>(request.program->code);
    if (productCount(chain) != 1)
        return refuse(refusal("kind", "more than one product, or none behind a row"));
    if (auto reason = refuseTypes(request))
        return refuse(std::move(*reason));
    const OperandType& made = rowsOf(chain)->outputs[0];
    const OperandLayout rows{made.dtype, made.extents, rowMajorStrides(made.extents)};
    KernelProgram product = productProgram(chain, 0);
    product.code = renumbered(chain, 0, static_cast<uint32_t>(request.inputs.size()));
    KernelRequest own = request;
    own.program = &product;
    KernelRequest inMemory = own;
    inMemory.inputs.push_back(rows);
    ContractionView view = viewOf(inMemory);
    view.a.pointer = "rows";
    if (auto reason = refuseRows(view)) // most rows of a network, whose text is not made then
        return refuse(std::move(*reason));
    const RowsInFront front = rowsInFront(request, rows);
    PartResult result = gemvPart(own, view, &front);
    auto* part = std::get_if<KernelPart>(&result);
    if (part && part->sharedBytes > sharedOf(request) / blocksBehindRows)
        return refuse(refusal("support", "rows and sums do not fit in shared memory twice"));
    if (!part)
        return finish(name, request, std::move(result));
    part->residentBlocks = blocksBehindRows;
    SetNeeds needs;
    if (view.packed)
        needs.packed = {*view.packed};
    std::vector<KernelPart> launches = {std::move(*part)};
    return finishInOrder(name, request, std::move(launches), std::move(needs));
}

} // namespace fuselage::gpu
