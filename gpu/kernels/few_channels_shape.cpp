// SPDX-License-Identifier: Apache-2.0
// Tile sizes of convolutions with few channels: as many results and as large a tile as leave room
// for two blocks on a multiprocessor.
#include "core/graph/type.h"
#include "gpu/kernels/few_channels.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostChannels = 4;

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
        // Warps that share the pairs of 16 places evenly.
        const int64_t tiles = (shape.places() + 31) / 32;
        shape.warps = 8;
        for (int64_t warps = 8; warps >= 4; --warps)
            if (roundUp(tiles, warps) < roundUp(tiles, shape.warps))
                shape.warps = warps;
    } else {
        shape.pictureBytes =
            roundUp(shape.channels * shape.inRows * shape.picturePitch() * size, 16);
        shape.weightBytes = roundUp(shape.channels * spec.taps() * shape.results * size, 16);
        shape.offsetBytes = 0;
        shape.warps = 8;
    }
    // A warp leaves the sums of all its 32 places.
    const int64_t cells = shape.matrix ? roundUp(shape.places(), 32) : shape.places();
    shape.cellBytes = roundUp(cells * shape.cellPitch() * (shape.narrowCells ? 2 : size), 16);
}

/// As many blocks as the device holds at a time, so that each stages its weights once.
void countBlocks(const ConvSpec& spec, FewChannelsShape& shape, bool pooled) {
    const Extents& out = pooled ? spec.code->poolSpace : spec.code->space;
    const int64_t tiles =
        spec.images * divideUp(out[2], shape.outRows) * divideUp(out[3], shape.outColumns);
    const int64_t parts = divideUp(spec.results, shape.results);
    const DeviceProfile* profile = spec.request->profile;
    const int64_t units = profile ? static_cast<int64_t>(profile->units) : 0;
    const int64_t most = units * residentBlocks(spec, shape) / parts;
    shape.blocks = most > 0 ? std::min(tiles, most) : tiles;
}

} // namespace

int64_t FewChannelsShape::picturePitch() const {
    return matrix ? pairPitch : inColumns | 1;
}

int64_t FewChannelsShape::cellPitch() const {
    return narrowCells ? results + 8 : results + 1;
}

uint32_t residentBlocks(const ConvSpec& spec, const FewChannelsShape& shape) {
    // Older units would spill for a third block, and have no memory for it.
    return shape.matrix && spec.request->capability >= 80 ? 3 : 2;
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
    const int64_t limit = spec.sharedBytesOf(3);
    const int64_t step = shape.matrix ? 16 : 8;
    const int64_t most = std::min<int64_t>(64, roundUp(spec.results, step));
    const Extents& out = pooled ? code.poolSpace : code.space;
    auto fits = [&](int64_t results, int64_t rows, int64_t columns) {
        shape.results = results;
        shape.outRows = std::min(out[2], pooled ? rows : 2 * rows);
        shape.outColumns = std::min(out[3], pooled ? columns : 2 * columns);
        sizeTile(spec, shape, pooled);
        return shape.sharedBytes() <= limit;
    };
    auto counted = [&] {
        countBlocks(spec, shape, pooled);
        return shape;
    };
    // Every part of the results stages the picture anew, so they come before the size of the tile.
    for (int64_t results = most; results >= step;
         results = results > step ? results / 2 / step * step : 0)
        for (int64_t rows : {8, 4})
            if (fits(results, rows, 8))
                return counted();
    for (int64_t rows : {4, 2, 1})
        if (fits(step, rows, 4))
            return counted();
    return refusal("smem", fmt::format("a tile takes {} bytes of shared memory, {} are there",
                                       shape.sharedBytes(), limit));
}

} // namespace fuselage::gpu
