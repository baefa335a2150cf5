// SPDX-License-Identifier: Apache-2.0
// Tile sizes of convolutions with few channels: as many results and as large a tile as leave room
// for two blocks on a multiprocessor.
#include "core/graph/type.h"
#include "gpu/kernels/few_channels.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostChannels = 4;
constexpr int64_t everywhere = 48 << 10; ///< shared memory that every device gives a block

bool narrow(DType type) {
    return isFloat(type) && sizeOf(type) == 2;
}

int64_t roundUp(int64_t x, int64_t to) {
    return (x + to - 1) / to * to;
}

/// Whether the tensor cores take the operands, and how many channels they see.
bool chooseMatrix(const ConvSpec& spec, FewChannelsShape& shape) {
    const KernelRequest& request = *spec.request;
    const uint32_t needed = spec.x.dtype == DType::BFloat16 ? 80 : 75;
    if (!narrow(spec.x.dtype) || spec.w.dtype != spec.x.dtype || request.strict ||
        request.allowed < NumericClass::Reassociated || spec.columns.dilation != 1 ||
        (request.capability != 0 && request.capability < needed))
        return false;
    shape.channels = spec.channels <= 2 ? 2 : 4;
    return true;
}

/// Words of a row of the picture such that the 32 words of a fragment lie in 32 banks, also where
/// its places go on in the next row of sums and its pairs in the next row of taps; else the fewest.
int64_t pairPitch(const ConvSpec& spec, const FewChannelsShape& shape) {
    const int64_t words = shape.channels / 2, least = shape.inColumns * words;
    const int64_t line = shape.convColumns * spec.columns.stride * words;
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
        (shape.convColumns - 1) * columns.stride + (columns.kernel - 1) * columns.dilation + 1;
    const int64_t size = static_cast<int64_t>(sizeOf(spec.code->accumulate));
    if (shape.matrix) {
        shape.pairPitch = pairPitch(spec, shape);
        shape.pictureBytes = roundUp(shape.inRows * shape.picturePitch() * 4, 16);
        shape.weightBytes = shape.results * shape.weightPitch(spec) * 2;
        shape.offsetBytes = roundUp(shape.steps(spec) * 8 * 4, 16);
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
    shape.cellBytes =
        roundUp(shape.places() * shape.cellPitch() * (shape.narrowCells ? 2 : size), 16);
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
    shape.matrix = chooseMatrix(spec, shape);
    const bool constant = spec.request->constant(code.b.operand) != nullptr;
    shape.packed = shape.matrix && constant;
    shape.narrowCells = pooled && code.poolKind == PoolKind::Max && narrow(spec.writes[0].dtype);
    const DeviceProfile* profile = spec.request->profile;
    const int64_t limit =
        profile && profile->sharedBytesPerUnit > 0
            ? std::clamp<int64_t>(static_cast<int64_t>(profile->sharedBytesPerUnit / 3) - 1024,
                                  everywhere, 96 << 10)
            : everywhere;
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
    // Every block stages the picture anew, so results come before the size of the tile.
    for (int64_t results = most; results >= step;
         results = results > step ? results / 2 / step * step : 0)
        for (int64_t rows : {8, 4})
            if (fits(results, rows, 8))
                return shape;
    for (int64_t rows : {4, 2, 1})
        if (fits(step, rows, 4))
            return shape;
    return refusal("smem", fmt::format("a tile takes {} bytes of shared memory, {} are there",
                                       shape.sharedBytes(), limit));
}

} // namespace fuselage::gpu
