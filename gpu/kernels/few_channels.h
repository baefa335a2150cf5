// SPDX-License-Identifier: Apache-2.0
// Convolution of pictures with few channels (the first one of a network), with the pool after it if
// the program has one. A block stages the weights of some results in shared memory once; then, tile
// by tile, a piece of the picture, the tile's sums, the epilogue, the pool, and what it writes.
#pragma once

#include "gpu/kernels/conv_result.h"

namespace fuselage::gpu {

/// Sizes of a block's tiles; elements unless said.
struct FewChannelsShape {
    bool matrix = false; ///< sums by tensor cores, from 16-bit operands
    bool packed = false; ///< weights come as [result, row, column, channel]
    /// The tensor cores' halves of rows lie at multiples of 16 bytes in the picture, so that one
    /// instruction fetches a fragment: the taps of a row are padded to whole steps for that.
    bool fragments = false;
    int64_t tapColumns = 1; ///< taps of a row, padded ones with it: their weights are zero
    int64_t channels = 3;   ///< of the picture in shared memory: padded for the tensor cores
    int64_t results = 16;   ///< channels of the result a block computes
    int64_t outRows = 1, outColumns = 1;   ///< written by a block: of the pool, if there is one
    int64_t convRows = 1, convColumns = 1; ///< sums that this needs
    int64_t inRows = 1, inColumns = 1;     ///< of the picture
    int64_t pairPitch = 0;                 ///< words of its rows, for the tensor cores
    int64_t warps = 8;
    int64_t residents = 2;    ///< blocks that a multiprocessor is to hold at a time
    int64_t blocks = 1;       ///< of each part of the results; they share the tiles
    bool narrowCells = false; ///< the tile of sums holds results as they are stored
    // Shared memory: bytes of each part, in this order.
    int64_t pictureBytes = 0, weightBytes = 0, offsetBytes = 0, cellBytes = 0;

    int64_t places() const { return convRows * convColumns; }
    int64_t sharedBytes() const { return pictureBytes + weightBytes + offsetBytes + cellBytes; }
    /// Words of 32 bits of a row of the picture; elements for sums without tensor cores.
    int64_t picturePitch() const;
    /// Taps times channels, in pairs of elements, and steps of 16 elements.
    int64_t pairs(const ConvSpec& spec) const {
        return spec.rows.kernel * tapColumns * channels / 2;
    }
    int64_t steps(const ConvSpec& spec) const { return (pairs(spec) + 7) / 8; }
    int64_t weightPitch(const ConvSpec& spec) const { return steps(spec) * 16 + 8; }
    /// Elements between places in the tile of sums.
    int64_t cellPitch() const;
};

/// Tiles that fit shared memory; refused when the convolution is not of this kind.
std::variant<FewChannelsShape, Reason> fewChannelsShape(const ConvSpec& spec, bool pooled);

/// Statements that compute all sums of the tile and leave them, or the epilogue's results where a
/// pool follows, in `cells`.
std::string fewChannelsProducts(const ConvSpec& spec, const FewChannelsShape& shape,
                                const ConvResult& result);

/// Channels that a thread of the products holds when it applies the epilogue.
int epilogueWidth(const FewChannelsShape& shape);

EmitResult emitStemPool(const KernelRequest& request);
EmitResult emitConvDirect(const KernelRequest& request);

} // namespace fuselage::gpu
