// SPDX-License-Identifier: Apache-2.0
// The kernel of one tensor-core tile: a pipeline of copies into shared memory, matrix products from
// it, and the epilogue on sums that went through a slab of shared memory so that neighbours lie in
// one thread. With a split of k, partial sums go to scratch memory, and of the blocks of a tile the
// one that is last adds them.
#pragma once

#include "gpu/kernels/contraction_epilogue.h"
#include "gpu/kernels/tensor_operand.h"
#include "gpu/kernels/zero_shift.h"

namespace fuselage::gpu {

struct TensorPlan {
    const KernelRequest& request;
    const ContractionView& view;
    const TensorTile& tile;
    int splits = 1;
    std::optional<ZeroShift> zeros; ///< of 8-bit integers that warpgroups multiply

    int64_t tilesM() const { return (view.mCount + tile.m - 1) / tile.m; }
    int64_t tilesN() const { return (view.nCount + tile.n - 1) / tile.n; }
    int64_t blocks() const { return view.batchCount * tilesM() * tilesN(); }
    int kElements() const; ///< of a tile
    int64_t tilesK() const { return (view.kCount + kElements() - 1) / kElements(); }
};

/// What no tile computes, with tensor cores or without, with those of warpgroups.
std::optional<Reason> refuseTensorProgram(const KernelRequest& request, const Contraction& code,
                                          bool matrix, bool warpgroup);

/// What no tile of 8-bit integers computes, with products of single warps or of warpgroups.
std::optional<Reason> refuseIntegerProgram(const KernelRequest& request, const Contraction& code,
                                           bool warpgroup);

/// Bytes of partial sums.
int64_t partialBytes(const TensorPlan& plan);

KernelPart tensorPart(const TensorPlan& plan, const EpilogueText& epilogue);

} // namespace fuselage::gpu
