// SPDX-License-Identifier: Apache-2.0
// Products of sm_90's warpgroups from stages that TMA fills (tma.cuh). A block stays
// for many tiles and has three warpgroups with a role each. One thread of the first fills a ring of
// stages, tile after tile, and waits only where a stage is not empty yet. The other two take turns:
// each multiplies a whole tile alone and then ends its results while its neighbour multiplies the
// next one, so that an epilogue costs no time of the tensor cores as long as it is shorter than a
// tile's products: erf-GELU of 192 x 128 results is 6,000 cycles of issue beside 9,200 of products
// with k = 768, which a kernel whose warpgroups end a tile together adds to each tile. A turn ends
// when the last stage of its tile was full: a barrier tells two phases apart and no more, so nobody
// may wait for a stage whose phase before has not ended.
// Operands come without prologue, k innermost; the epilogue is that of all contractions.
#pragma once

#include "gpu/kernels/contraction_epilogue.h"

#include <optional>
#include <string>
#include <variant>

namespace fuselage::gpu {

/// One warpgroup's tile: m x n results, k of 64 elements a stage.
struct TmaTile {
    const char* name; ///< "192x128"
    int m, n;         ///< 64 to 192 rows in steps of 64; 64, 128 or 256 columns
    int stages;

    int pieces() const { return m / 64; } ///< of 64 rows, one product each
    int stageBytes() const { return (m + n) * 128; }
    int ringBytes() const { return stages * stageBytes(); }
};

constexpr int tmaThreads = 384, tmaRowBytes = 128;
constexpr int tmaSlabBytes = 16 * 64 * 4; ///< in which a warp turns its sums, 64 columns at a time

/// How an operand's boxes are found: its map, and the coordinates behind k and the row as text over
/// the batch's loops, whose names begin with "a" or "b".
struct TmaOperand {
    TensorMapText map;
    std::vector<std::string> coordinates; ///< innermost first; of tile `tileM` or `tileN`
    std::string setup;                    ///< statements before; need `batch`
};

struct TmaPlan {
    const KernelRequest& request;
    const ContractionView& view;
    const TmaTile& tile;
    TmaOperand a, b;
    int64_t blocks = 1; ///< that stay

    int64_t tilesM() const { return (view.mCount + tile.m - 1) / tile.m; }
    int64_t tilesN() const { return (view.nCount + tile.n - 1) / tile.n; }
    int64_t tiles() const { return view.batchCount * tilesM() * tilesN(); }
    int64_t tilesK() const { return (view.kCount + 63) / 64; }
    int sharedBytes() const {
        return tile.ringBytes() + 8 * tmaSlabBytes + (2 * tile.stages + 2) * 8;
    }
};

/// Refuses an operand that TMA cannot read: k not innermost, addresses or strides that
/// are no multiples of 16 bytes, rows of several strides, strides within a row.
std::variant<TmaOperand, Reason> tmaOperand(const KernelRequest& request,
                                            const ContractionView& view, const TmaTile& tile,
                                            bool isA);

/// How the kernel ends such results: the epilogue's text must be made for it.
EpilogueEnd tmaEndOf(const ResultLanes& lanes);

KernelPart tmaPart(const TmaPlan& plan, const EpilogueText& epilogue);

} // namespace fuselage::gpu
