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
// In a cluster of two (cluster.cuh) the blocks take neighbouring tiles in step and share an
// operand: each fetches half of it for both. A stage is therefore empty when the warps of both
// blocks said so, to each producer, and a producer stays until all stages are empty once more: then
// nobody will arrive at its barriers, and all that was copied into its stages has been used.
// A warp ends its sums in boxes of 16 x 64. Of the epilogue's operands of the results' whole shape
// the widest one that TMA can read, a residual, comes in such boxes too: each warp asks for its own
// before the products of the tile, and for the next one when all lanes have read one, so that no
// result waits for memory behind the products. Nobody else waits for these boxes or fills their
// places; who writes the results over the residual has read an element before it is written.
// Operands come without prologue, k innermost, or of a convolution channels, whose places of the
// filter are then the outer part of k; the epilogue is that of all contractions. A zero
// point of 8-bit integers is no prologue: `zero_shift` makes the sums of what is stored good.
#pragma once

#include "core/graph/type.h"
#include "gpu/kernels/contraction_epilogue.h"
#include "gpu/kernels/parts.h"
#include "gpu/kernels/zero_shift.h"

#include <optional>
#include <string>
#include <variant>

namespace fuselage::gpu {

/// One warpgroup's tile: m x n results, 128 bytes of k a stage: 64 elements of 16 bits, 128 of 8.
struct TmaTile {
    const char* name; ///< "192x128"
    int m, n;         ///< 64 to 192 rows in steps of 64; 64, 128 or 256 columns
    int stages;

    int pieces() const { return m / 64; } ///< of 64 rows, one product each
    int stageBytes() const { return (m + n) * 128; }
    int ringBytes() const { return stages * stageBytes(); }
};

/// Blocks of a cluster, whose tiles lie below each other (and share B) or side by side (and share
/// A): one of the two numbers is 1.
struct TmaCluster {
    int m = 1, n = 1;

    int blocks() const { return m * n; }
};

constexpr int tmaThreads = 384, tmaRowBytes = 128;
constexpr int tmaEndRows = 16, tmaEndColumns = 64;           ///< results that a warp ends at a time
constexpr int tmaSlabBytes = tmaEndRows * tmaEndColumns * 4; ///< in which it turns their sums

/// How an operand's boxes are found: its map, and the coordinates behind k and the row as text over
/// the batch's loops, whose names begin with "a" or "b".
struct TmaOperand {
    TensorMapText map;
    std::vector<std::string> coordinates;  ///< innermost first; of tile `tileM` or `tileN`
    std::string setup;                     ///< statements before; need `batch` and the tile
    std::string stageSetup = {};           ///< statements before each copy; need `tap`
    std::vector<std::string> offsets = {}; ///< of im2col mode, behind the innermost coordinate
};

/// An operand of the epilogue that lands in boxes of what a warp ends at a time, each in a place of
/// the warp's: those of a tile use each place equally often.
struct TmaLanded {
    TmaOperand operand; ///< coordinates over `row` and `column` and its own loops of the batch
    size_t read = 0;    ///< of the view's
    int elementBytes = 0;
    int places = 0; ///< of a warp

    int boxBytes() const { return tmaEndRows * tmaEndColumns * elementBytes; }
    int bytes() const { return 8 * places * boxBytes(); } ///< of shared memory
};

struct TmaPlan {
    const KernelRequest& request;
    const ContractionView& view;
    TmaTile tile; ///< with the stages that there is room for
    TmaOperand a, b;
    TmaCluster cluster;
    int64_t taps = 1;                    ///< places of a filter, k's outer part; 1: k is one dim
    int64_t clusters = 1;                ///< that stay; of one block each where there are none
    std::optional<ZeroShift> zeros = {}; ///< of 8-bit integers
    std::optional<TmaLanded> landed = {};

    /// Tiles that a cluster takes at a time, those beyond the results among them: how many lie
    /// below each other and side by side, and all.
    int64_t groupsM() const { return divideUp(view.mCount, int64_t{tile.m} * cluster.m); }
    int64_t groupsN() const { return divideUp(view.nCount, int64_t{tile.n} * cluster.n); }
    int64_t groups() const { return view.batchCount * groupsM() * groupsN(); }
    int64_t tiles() const { return groups() * cluster.blocks(); }
    int64_t blocks() const { return clusters * cluster.blocks(); }
    int kElements() const { return tmaRowBytes / static_cast<int>(sizeOf(a.map.element)); }
    /// Stages of a tap, and of a tile: what a tap leaves of its last one is zeros.
    int64_t slices() const { return divideUp(view.kCount / taps, kElements()); }
    int64_t tilesK() const { return taps * slices(); }
    /// Of the stages, those that k without taps would take.
    double filled() const {
        return static_cast<double>(divideUp(view.kCount, kElements())) /
               static_cast<double>(tilesK());
    }
    bool shiftsA() const { return zeros && zeros->ofA(); }
    bool shiftsB() const { return zeros && zeros->ofB(); }

    /// Rows of A and columns of B that a block fetches itself for a stage, and the bytes of
    /// operands that all blocks ask the second cache for.
    int ownRows() const { return tile.m / cluster.n; }
    int ownColumns() const { return tile.n / cluster.m; }
    int64_t fetchedBytes() const {
        return tiles() * tilesK() * (ownRows() + ownColumns()) * tmaRowBytes;
    }
    /// Boxes of what a warp ends at a time, of a tile: one warpgroup's, a quarter for each warp.
    int boxesOfWarp() const { return tile.pieces() * tile.n / tmaEndColumns; }
    int64_t landedBytes() const {
        return landed ? tiles() * tile.m * tile.n * landed->elementBytes : 0;
    }
    /// Behind the ring lie rows of ones where they are needed, the warps' slabs, the places of what
    /// lands for them, and the barriers: full and empty stages, turns, those places.
    int slabsAt() const { return tile.ringBytes() + (zeros ? zeros->onesBytes() : 0); }
    int landedAt() const { return slabsAt() + 8 * tmaSlabBytes; }
    int barriersAt() const { return landedAt() + (landed ? landed->bytes() : 0); }
    int barriers() const { return 2 * tile.stages + 2 + (landed ? 8 * landed->places : 0); }
    int sharedBytes() const { return barriersAt() + barriers() * 8; }
};

/// Its boxes are what a block fetches of a stage. Refuses an operand that TMA cannot read: k, or
/// with taps channels, not innermost, addresses or strides that are no multiples of 16 bytes, rows
/// of several strides, strides within a row. `taps`: of B, as TmaPlan::taps.
std::variant<TmaOperand, Reason> tmaOperand(const KernelRequest& request,
                                            const ContractionView& view, const TmaTile& tile,
                                            const TmaCluster& cluster, bool isA, int64_t taps = 1);

/// The operand A of a convolution by im2col mode: its columns of pixels are what a block fetches of
/// a stage, one tap's channels. Refuses what has no such map (pixel_operand.cpp) and what boxes do
/// as well: rows of one stride.
std::variant<TmaOperand, Reason> pixelOperand(const KernelRequest& request,
                                              const ContractionView& view, const TmaTile& tile,
                                              const TmaCluster& cluster);

/// Puts a dim behind the others of a map, which reach over `reach` elements, and moves that on.
/// Refuses a stride that lies within, or that is no multiple of 16 bytes.
std::optional<Reason> addDim(TensorMapText& map, int64_t extent, int64_t stride, int64_t& reach);

/// Refuses an operand that does not begin at a multiple of 16 bytes.
std::optional<Reason> refuseStart(const TensorMapText& map, const KernelOperand& operand);

/// The widest of the epilogue's reads that has all of the results' rows and columns, innermost ones
/// along n, and is boxes of a tensor, with no places yet; none where lanes take other than 4 to 16
/// bytes of a row of each.
std::optional<TmaLanded> tmaLanded(const KernelRequest& request, const ContractionView& view,
                                   const ResultLanes& lanes);

/// How the kernel ends such results: the epilogue's text must be made for it.
EpilogueEnd tmaEndOf(const ResultLanes& lanes);

KernelPart tmaPart(const TmaPlan& plan, const EpilogueText& epilogue);

} // namespace fuselage::gpu
