// SPDX-License-Identifier: Apache-2.0
// All kernel variants; within one kind of program the always-correct one is last.
#include "gpu/emit/emit.h"
#include "gpu/emit/fold_constants.h"
#include "gpu/kernels/attention.h"
#include "gpu/kernels/contraction.h"
#include "gpu/kernels/copy.h"
#include "gpu/kernels/depthwise.h"
#include "gpu/kernels/few_channels.h"
#include "gpu/kernels/group.h"
#include "gpu/kernels/library_view.h"
#include "gpu/kernels/pointwise.h"
#include "gpu/kernels/row.h"
#include "gpu/kernels/window.h"

#include <algorithm>
#include <string_view>

namespace fuselage::gpu {

std::span<const VariantRow> kernelVariants() {
    static const VariantRow rows[] = {
        {"pointwise_vector", "Pointwise", emitPointwiseVector,
         "up to 8 consecutive elements a thread, accesses of 16 bytes"},
        {"pointwise_plain", "Pointwise", emitPointwisePlain,
         "one element a thread: any type, stride and size", true},
        {"row_warp", "Row", emitRowWarp, "a warp a row of up to 1024, kept in registers"},
        {"row_block", "Row", emitRowBlock, "a block a row, kept in registers"},
        {"row_two_pass", "Row", emitRowTwoPass, "a block a row of any length, read every pass"},
        {"row_outer", "Row", emitRowOuter, "32 neighbouring rows a block, contiguous across rows"},
        {"row_plain", "Row", emitRowPlain, "a thread a row: any type, stride and size", true},
        {"depthwise_tiled", "Contraction", emitDepthwiseTiled,
         "a patch of results of some channels a thread, rows loaded ahead"},
        {"stem_pool", "Contraction", emitStemPool,
         "pictures of few channels with the pool: sums stay in shared memory"},
        {"conv_direct", "Contraction", emitConvDirect,
         "pictures of few channels: picture and weights in shared memory"},
        {"attention_tensor", "Attention", emitAttentionTensor,
         "16 queries a warp on matrix units, scores stay in registers"},
        {"attention_tiled", "Attention", emitAttentionTiled,
         "tiles of queries and keys with a running maximum and sum"},
        {"attention_plain", "Attention", emitAttentionPlain,
         "an element a thread: any type, stride and size", true},
        {"copy_vector", "Copy", emitCopyVector,
         "accesses of 16 bytes, one range of blocks a piece"},
        {"copy_transpose", "Copy", emitCopyTranspose, "tiles of 32 x 32 through shared memory"},
        {"copy_plain", "Copy", emitCopyPlain, "one element a thread: any type, stride and size",
         true},
        {"window_row", "Window", emitWindowRow,
         "some results along the last dim and some channels a thread, each element loaded once"},
        {"window_plain", "Window", emitWindowPlain, "one result a thread: any window", true},
        {"bulk_192x128", "Contraction", emitBulk192x128,
         "tensor cores of sm_90 and its copy engine, 192 x 128 results a warpgroup, two in turn"},
        {"bulk_128x128", "Contraction", emitBulk128x128,
         "tensor cores of sm_90 and its copy engine, 128 x 128 results a warpgroup, two in turn"},
        {"bulk_64x256", "Contraction", emitBulk64x256,
         "tensor cores of sm_90 and its copy engine, 64 x 256 results a warpgroup, two in turn"},
        {"bulk_64x128", "Contraction", emitBulk64x128,
         "tensor cores of sm_90 and its copy engine, 64 x 128 results a warpgroup, two in turn"},
        {"bulk_128x64", "Contraction", emitBulk128x64,
         "tensor cores of sm_90 and its copy engine, 128 x 64 results a warpgroup, two in turn"},
        {"warpgroup_128x256", "Contraction", emitWarpgroup128x256,
         "tensor cores of sm_90 from shared memory, 128 x 256 results a block of 256 threads"},
        {"warpgroup_128x128", "Contraction", emitWarpgroup128x128,
         "tensor cores of sm_90 from shared memory, 128 x 128 results a block of 256 threads"},
        {"warpgroup_128x64", "Contraction", emitWarpgroup128x64,
         "tensor cores of sm_90 from shared memory, 128 x 64 results a block of 256 threads"},
        {"tensor_256x128", "Contraction", emitTensor256x128,
         "tensor cores, 256 x 128 results a block of 256 threads"},
        {"tensor_128x128", "Contraction", emitTensor128x128,
         "tensor cores, 128 x 128 results a block of 256 threads"},
        {"tensor_128x64", "Contraction", emitTensor128x64,
         "tensor cores, 128 x 64 results a block of 128 threads"},
        {"tensor_64x128", "Contraction", emitTensor64x128,
         "tensor cores, 64 x 128 results a block of 128 threads"},
        {"tensor_64x64", "Contraction", emitTensor64x64,
         "tensor cores, 64 x 64 results a block of 128 threads"},
        {"tensor_64x32", "Contraction", emitTensor64x32,
         "tensor cores, 64 x 32 results a block of 128 threads"},
        {"tensor_32x64", "Contraction", emitTensor32x64,
         "tensor cores, 32 x 64 results a block of 128 threads"},
        {"tensor_16x64", "Contraction", emitTensor16x64,
         "tensor cores, 16 x 64 results a block of 128 threads"},
        {"tensor_128x64_split", "Contraction", emitTensor128x64Split,
         "the same with k in parts, added by a second kernel"},
        {"tensor_64x64_split", "Contraction", emitTensor64x64Split,
         "the same with k in parts, added by a second kernel"},
        {"tensor_32x64_split", "Contraction", emitTensor32x64Split,
         "the same with k in parts, added by a second kernel"},
        {"tensor_16x64_split", "Contraction", emitTensor16x64Split,
         "the same with k in parts, added by a second kernel"},
        {"float_128x128", "Contraction", emitFloat128x128,
         "float32 products, 8 x 8 results a thread"},
        {"float_64x64", "Contraction", emitFloat64x64, "float32 products, 4 x 8 results a thread"},
        {"float_64x64_split", "Contraction", emitFloat64x64Split,
         "the same with k in parts, added by a second kernel"},
        {"gemv_split", "Contraction", emitGemvSplit,
         "up to 8 rows against a streamed weight, threads share k"},
        {"contract_plain", "Contraction", emitContractPlain,
         "one result a thread: any type, stride, convolution and pool", true},
        {"gather", "Library", emitGather, "elements that an index chooses, 16 bytes a thread"},
        {"resize_table", "Library", emitResize, "sources and weights of each position in a table"},
        {"recurrent", "Library", emitRecurrent, "a block a sequence, a warp a row of the gates"},
        {"group", "Group", emitGroup, "small independent programs by ranges of blocks"},
    };
    return rows;
}

Candidates emitAll(const EmitRequest& request) {
    Candidates out;
    const std::unique_ptr<FoldedRequest> folded = foldConstants(request);
    for (const VariantRow& row : kernelVariants()) {
        if (std::string_view(row.program) != kindOf(*request.program))
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
