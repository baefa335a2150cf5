// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/variant_table.h"

#include "gpu/emit/fold_constants.h"
#include "gpu/kernels/attention.h"
#include "gpu/kernels/chain.h"
#include "gpu/kernels/contraction.h"
#include "gpu/kernels/conv_halo.h"
#include "gpu/kernels/copy.h"
#include "gpu/kernels/depthwise.h"
#include "gpu/kernels/depthwise_tensor.h"
#include "gpu/kernels/few_channels.h"
#include "gpu/kernels/group.h"
#include "gpu/kernels/library_view.h"
#include "gpu/kernels/pointwise.h"
#include "gpu/kernels/row.h"
#include "gpu/kernels/window.h"

#include <iterator>

namespace fuselage::gpu {

namespace {

void append(std::vector<VariantRow>& rows, std::vector<VariantRow> more) {
    rows.insert(rows.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

std::vector<VariantRow> allVariants() {
    std::vector<VariantRow> rows = {
        {"pointwise_vector", ProgramKind::Pointwise, emitPointwiseVector,
         "up to 8 consecutive elements a thread, accesses of 16 bytes"},
        {"pointwise_plain", ProgramKind::Pointwise, emitPointwisePlain,
         "one element a thread: any type, stride and size", true},
        {"row_warp", ProgramKind::Row, emitRowWarp,
         "a warp a row of up to 1024, kept in registers"},
        {"row_block", ProgramKind::Row, emitRowBlock, "a block a row, kept in registers"},
        {"row_two_pass", ProgramKind::Row, emitRowTwoPass,
         "a block a row of any length, read every pass"},
        {"row_outer", ProgramKind::Row, emitRowOuter,
         "32 neighbouring rows a block, contiguous across rows"},
        {"row_plain", ProgramKind::Row, emitRowPlain, "a thread a row: any type, stride and size",
         true},
        {"depthwise_tiled", ProgramKind::Contraction, emitDepthwiseTiled,
         "a patch of results of some channels a thread, rows loaded ahead"},
        {"depthwise_tensor", ProgramKind::Contraction, emitDepthwiseTensor,
         "8 results of a row as products with a band of taps, a warp a channel"},
        {"stem_pool", ProgramKind::Contraction, emitStemPool,
         "small-channel convolution with the pool: sums stay in shared memory"},
        {"conv_direct", ProgramKind::Contraction, emitConvDirect,
         "small-channel convolution: image and weights in shared memory"},
        {"conv_halo", ProgramKind::Contraction, emitConvHalo,
         "3x3 convolution by sm_90's warpgroups: all taps from one staged piece of the picture"},
        {"attention_split", ProgramKind::Attention, emitAttentionSplit,
         "few queries to many keys: these in parts, added by the block that is last"},
        {"attention_wgmma", ProgramKind::Attention, emitAttentionWgmma,
         "products of sm_90's warpgroups, 64 queries each, keys and values fetched ahead"},
        {"attention_tensor", ProgramKind::Attention, emitAttentionTensor,
         "16 queries a warp on tensor cores, scores stay in registers"},
        {"attention_tiled", ProgramKind::Attention, emitAttentionTiled,
         "tiles of queries and keys with a running maximum and sum"},
        {"attention_plain", ProgramKind::Attention, emitAttentionPlain,
         "an element a thread: any type, stride and size", true},
        {"copy_vector", ProgramKind::Copy, emitCopyVector,
         "accesses of 16 bytes, one range of blocks a piece"},
        {"copy_transpose", ProgramKind::Copy, emitCopyTranspose,
         "tiles of 32 x 32 through shared memory"},
        {"copy_plain", ProgramKind::Copy, emitCopyPlain,
         "one element a thread: any type, stride and size", true},
        {"window_row", ProgramKind::Window, emitWindowRow,
         "some results along the last dim and some channels a thread, each element loaded once"},
        {"window_plain", ProgramKind::Window, emitWindowPlain, "one result a thread: any window",
         true},
    };
    append(rows, tmaVariants());
    append(rows, tileVariants());
    append(rows, {
                     {"gemv_split", ProgramKind::Contraction, emitGemvSplit,
                      "up to 8 rows against a streamed weight, threads share k"},
                     {"contract_plain", ProgramKind::Contraction, emitContractPlain,
                      "one result a thread: any type, stride, convolution and pool", true},
                     {"gemv_nibbles", ProgramKind::Library, emitGemvNibbles,
                      "weights of 4 bits, streamed and made floats in registers"},
                     {"float8_linear", ProgramKind::Library, emitFloat8Linear,
                      "to and from floats of 8 bits, 16 bytes of the others a thread"},
                     {"gather", ProgramKind::Library, emitGather,
                      "elements that an index chooses, 16 bytes a thread"},
                     {"scatter", ProgramKind::Library, emitScatter,
                      "a thread some places, all updates in their order"},
                     {"cumulative", ProgramKind::Library, emitCumulative,
                      "running sums and products: a line in pieces, joined in order"},
                     {"resize_table", ProgramKind::Library, emitResize,
                      "sources and weights of each position in a table"},
                     {"recurrence", ProgramKind::Library, emitRecurrence,
                      "a block some columns of a state, kept in registers from token to token"},
                     {"recurrent", ProgramKind::Library, emitRecurrent,
                      "a block a sequence, a warp a row of the gates"},
                     {"topk", ProgramKind::Library, emitTopK,
                      "a block a row, its elements as keys in registers"},
                     {"group", ProgramKind::Group, emitGroup,
                      "small independent programs by ranges of blocks"},
                     {"gemv_row", ProgramKind::Chain, emitGemvRow,
                      "up to 8 rows that each block makes, then a streamed weight against them"},
                     {"chain_wgmma", ProgramKind::Chain, emitChainWgmma,
                      "two layers by products of sm_90's warpgroups, 64 rows each, hidden columns "
                      "stay in registers"},
                     {"chain_tensor", ProgramKind::Chain, emitChainTensor,
                      "two layers, 16 or 32 rows a warp on tensor cores, hidden columns stay in "
                      "registers"},
                 });
    return rows;
}

} // namespace

std::span<const VariantRow> kernelVariants() {
    static const std::vector<VariantRow> rows = allVariants();
    return rows;
}

Candidates emitAll(const KernelRequest& request) {
    Candidates out;
    const std::unique_ptr<FoldedRequest> folded = foldConstants(request);
    for (const VariantRow& row : kernelVariants()) {
        if (row.program != kindOf(*request.program))
            continue;
        EmitResult result = row.emit(folded ? folded->request : request);
        if (auto* reason = std::get_if<Reason>(&result)) {
            out.refused.push_back(std::move(*reason));
            continue;
        }
        out.accepted.push_back(std::move(std::get<KernelSet>(result)));
        if (folded)
            renumber(out.accepted.back(), *folded);
    }
    return out;
}

} // namespace fuselage::gpu
