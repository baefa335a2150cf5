// SPDX-License-Identifier: Apache-2.0
// Tile sizes of convolutions with few channels: as many results as fit, since every part of them
// stages the picture anew; for tensor cores the tile that is predicted to be done first, else as
// large a one as leaves room for two blocks on a multiprocessor.
#include "core/graph/type.h"
#include "gpu/kernels/few_channels.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostChannels = 4;
constexpr int64_t plainBlocks = 3; ///< whose memory fits a multiprocessor, without tensor cores
constexpr int64_t mostRows = 32, mostColumns = 64; ///< of a tile's results, where all are tried
/// Of a multiprocessor, which leaves 128 registers a thread: with 72 the sums spill.
constexpr int64_t mostWarps = 16;

/// Whether a place's taps begin at a multiple of 16 bytes wherever it is, and padding the rows of
/// taps for that costs few steps.
void chooseFragments(const ConvSpec& spec, FewChannelsShape& shape) {
    const int64_t words = shape.channels / 2, row = spec.columns.kernel * words;
    shape.tapColumns = spec.columns.kernel;
    const int64_t asTheyAre = shape.steps(spec), padded = spec.rows.kernel * ((row + 7) / 8);
    shape.fragments = spec.columns.stride * words % 4 == 0 && 8 * padded <= 9 * asTheyAre;
    if (shape.fragments)
        shape.tapColumns = roundUp(row, 8) / words;
}

/// Words of a row of the picture such that the 32 words of a fragment lie in 32 banks, also where
/// its places go on in the next row of sums and its pairs in the next row of taps; else the fewest.
/// Where rows must begin at multiples of 16 bytes: such that the fewest of them share banks.
int64_t pairPitch(const ConvSpec& spec, const FewChannelsShape& shape) {
    const int64_t words = shape.channels / 2, least = shape.inColumns * words;
    const int64_t line = shape.convColumns * spec.columns.stride * words;
    if (shape.fragments) {
        auto shared = [&](int64_t pitch) { // of the 8 units of 16 bytes that lie in all banks
            const int64_t shift = ((spec.rows.stride * pitch - line) / 4 % 8 + 8) % 8;
            return std::min(shift, 8 - shift);
        };
        int64_t best = roundUp(least, 4);
        for (int64_t pitch = best; pitch < least + 32; pitch += 4)
            if (shared(pitch) < shared(best))
                best = pitch;
        return best;
    }
    const int64_t taps = spec.columns.kernel * words;
    for (int64_t pitch = least; pitch < least + 32; ++pitch)
        if ((spec.rows.stride * pitch - line) % 32 == 0 &&
            (spec.rows.dilation * pitch - taps) % 4 == 0 && pitch % words == 0)
            return pitch;
    return least;
}

/// What follows from the tile's results: its sums and its piece of the picture, and their memory.
void sizeTile(const ConvSpec& spec, FewChannelsShape& shape, bool pooled) {
    shape.convRows = shape.outRows;
    shape.convColumns = shape.outColumns;
    if (pooled) {
        const SlidingWindow& pool = *spec.code->poolWindow;
        shape.convRows =
            (shape.outRows - 1) * pool.strides[0] + (pool.kernel[0] - 1) * pool.dilations[0] + 1;
        shape.convColumns =
            (shape.outColumns - 1) * pool.strides[1] + (pool.kernel[1] - 1) * pool.dilations[1] + 1;
    }
    const ConvAxis &rows = spec.rows, &columns = spec.columns;
    shape.inRows = (shape.convRows - 1) * rows.stride + (rows.kernel - 1) * rows.dilation + 1;
    shape.inColumns =
        (shape.convColumns - 1) * columns.stride + (shape.tapColumns - 1) * columns.dilation + 1;
    const int64_t size = static_cast<int64_t>(sizeOf(spec.code->accumulate));
    if (shape.matrix) {
        shape.pairPitch = pairPitch(spec, shape);
        shape.pictureBytes = roundUp(shape.inRows * shape.picturePitch() * 4, 16);
        shape.weightBytes = shape.results * shape.weightPitch(spec) * 2;
        shape.offsetBytes = shape.fragments ? 0 : roundUp(shape.steps(spec) * 8 * 4, 16);
    } else {
        shape.pictureBytes =
            roundUp(shape.channels * shape.inRows * shape.picturePitch() * size, 16);
        shape.weightBytes = roundUp(shape.channels * spec.taps() * shape.results * size, 16);
        shape.offsetBytes = 0;
    }
    // A warp leaves the sums of all its 32 places.
    const int64_t cells = shape.matrix ? roundUp(shape.places(), 32) : shape.places();
    shape.cellBytes = roundUp(cells * shape.cellPitch() * (shape.narrowCells ? 2 : size), 16);
}

/// Tiles of the whole result, of each part of its channels.
int64_t tilesOf(const ConvSpec& spec, const FewChannelsShape& shape, bool pooled) {
    const Extents& out = pooled ? spec.code->poolSpace : spec.code->space;
    return spec.images * divideUp(out[2], shape.outRows) * divideUp(out[3], shape.outColumns);
}

/// As many blocks as the device holds at a time, so that each stages its weights once.
void countBlocks(const ConvSpec& spec, FewChannelsShape& shape, bool pooled) {
    const int64_t parts = divideUp(spec.results, shape.results);
    const int64_t most = spec.units() * shape.residents / parts;
    shape.blocks = std::clamp<int64_t>(tilesOf(spec, shape, pooled), 1, std::max<int64_t>(most, 1));
}

/// Warps that share the pairs of 16 places evenly; between them, the blocks of a multiprocessor
/// have no more than registers allow.
void chooseWarps(FewChannelsShape& shape) {
    const int64_t tiles = divideUp(shape.places(), 32), most = mostWarps / shape.residents;
    shape.warps = most;
    for (int64_t warps = most; warps >= (most + 1) / 2; --warps)
        if (roundUp(tiles, warps) < roundUp(tiles, shape.warps))
            shape.warps = warps;
}

/// Places whose sums a multiprocessor makes one after the other, counted with those that its warps
/// make beyond the tile, until the last block is done. Half of the time it is the tensor cores that
/// count, and some of the four have a warp more than others. An H200 took 11.2 ns for each at 64
/// results of 7 by 7 taps, and 0.97 to 1.10 of that (10 of 11 tiles of 2026-11-28; 1.27 the other).
double predictedPlaces(const ConvSpec& spec, const FewChannelsShape& shape, bool pooled) {
    constexpr int64_t tileOverhead = 8, weights = 64; // counted in places
    const int64_t together =
        divideUp(shape.blocks * divideUp(spec.results, shape.results), spec.units());
    const int64_t turns = divideUp(tilesOf(spec, shape, pooled), shape.blocks);
    const int64_t each = roundUp(shape.places(), shape.warps * 32) + tileOverhead;
    const auto warps = static_cast<double>(together * shape.warps);
    const double uneven =
        0.5 + 0.5 * static_cast<double>(roundUp(together * shape.warps, 4)) / warps;
    return static_cast<double>(together) * (static_cast<double>(turns * each) * uneven + weights);
}

/// The tile of these results that is predicted to be done first.
std::optional<FewChannelsShape> fastestTile(const ConvSpec& spec, FewChannelsShape shape,
                                            bool pooled) {
    const Extents& out = pooled ? spec.code->poolSpace : spec.code->space;
    std::optional<FewChannelsShape> best;
    double bestPlaces = 0;
    for (shape.outRows = 1; shape.outRows <= std::min(out[2], mostRows); ++shape.outRows)
        for (shape.outColumns = 1; shape.outColumns <= std::min(out[3], mostColumns);
             ++shape.outColumns) {
            sizeTile(spec, shape, pooled);
            for (int64_t residents : {3, 2, 1}) {
                shape.residents = residents;
                if (shape.sharedBytes() > spec.sharedBytesOf(residents))
                    continue;
                chooseWarps(shape);
                countBlocks(spec, shape, pooled);
                const double places = predictedPlaces(spec, shape, pooled);
                if (!best || places < bestPlaces) {
                    best = shape;
                    bestPlaces = places;
                }
            }
        }
    return best;
}

/// Without tensor cores: the largest of a few tiles; small ones where nothing else is left.
std::optional<FewChannelsShape> largestTile(const ConvSpec& spec, FewChannelsShape shape,
                                            bool pooled, bool small) {
    const Extents& out = pooled ? spec.code->poolSpace : spec.code->space;
    const int64_t times = pooled ? 1 : 2;
    auto fits = [&](int64_t rows, int64_t columns) {
        shape.outRows = std::min(out[2], times * rows);
        shape.outColumns = std::min(out[3], times * columns);
        sizeTile(spec, shape, pooled);
        countBlocks(spec, shape, pooled);
        return shape.sharedBytes() <= spec.sharedBytesOf(plainBlocks);
    };
    if (fits(8, 8) || fits(4, 8) || (small && (fits(4, 4) || fits(2, 4) || fits(1, 4))))
        return shape;
    return {};
}

} // namespace

int64_t FewChannelsShape::picturePitch() const {
    return matrix ? pairPitch : inColumns | 1;
}

int64_t FewChannelsShape::cellPitch() const {
    return narrowCells ? results + 8 : results + 1;
}

int epilogueWidth(const FewChannelsShape& shape) {
    return shape.matrix ? 2 : 8;
}

std::variant<FewChannelsShape, Reason> fewChannelsShape(const ConvSpec& spec, bool pooled) {
    const Contraction& code = *spec.code;
    if (code.poolWindow.has_value() != pooled)
        return refusal("support", pooled ? "no pool follows" : "a pool follows");
    if (spec.flat || code.groups != 1 || spec.channels > mostChannels || spec.taps() > 256)
        return refusal("support", "not a convolution of pictures with up to four channels");
    if (code.accumulate == DType::Float64)
        return refusal("dtype", "sums of double are not supported");
    FewChannelsShape shape;
    shape.channels = spec.channels;
    shape.tapColumns = spec.columns.kernel;
    shape.matrix = spec.columns.dilation == 1 && spec.takesTensorCores();
    if (shape.matrix) {
        shape.channels = spec.channels <= 2 ? 2 : 4;
        chooseFragments(spec, shape);
    }
    const bool constant = spec.request->constant(code.b.operand) != nullptr;
    shape.packed = shape.matrix && constant;
    shape.narrowCells =
        pooled && code.poolKind == PoolKind::Max && isNarrowFloat(spec.writes[0].dtype);
    const int64_t least = shape.matrix ? 16 : 8;
    const int64_t most = std::min<int64_t>(64, roundUp(spec.results, least));
    for (shape.results = most; shape.results >= least;
         shape.results = shape.results / 2 / least * least) {
        auto tile = shape.matrix ? fastestTile(spec, shape, pooled)
                                 : largestTile(spec, shape, pooled, shape.results == least);
        if (tile)
            return *tile;
    }
    shape.results = least;
    shape.outRows = shape.outColumns = 1;
    sizeTile(spec, shape, pooled);
    return refusal("smem", fmt::format("a tile takes {} bytes of shared memory, {} are there",
                                       shape.sharedBytes(),
                                       spec.sharedBytesOf(shape.matrix ? 1 : plainBlocks)));
}

} // namespace fuselage::gpu
