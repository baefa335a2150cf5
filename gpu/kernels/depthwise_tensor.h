// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution on tensor cores. Eight neighbouring results of a row are a product of the
// elements that they reach with a banded matrix, the taps of one row on its diagonals; sixteen such
// pieces are the rows of one product. A warp takes a channel at a time and walks down the rows.
#pragma once

#include "gpu/kernels/conv_spec.h"

namespace fuselage::gpu {

/// What a block makes, and its shared memory. Words hold two neighbours of a row of one channel.
struct DepthwiseTensorShape {
    int64_t channels = 16; ///< of a block, in eights that one access moves
    int64_t pieces = 1;    ///< side by side in a row, of eight results each
    int64_t stack = 1;     ///< of such bands one below the other; both are powers of two
    int64_t height = 1;    ///< rows of results of a band
    int64_t warps = 8;
    int64_t walked = 1;     ///< rows of the operand that a band reaches
    int64_t live = 1;       ///< rows of results that have begun and not ended, at most
    int64_t steps = 1;      ///< of 16 elements that a piece reaches
    int64_t rows = 1;       ///< of the operand that a place reaches
    int64_t words = 1;      ///< of such a row
    int64_t placeWords = 1; ///< from one place to the next
    int64_t tapRow = 1;     ///< elements of a row of taps with what is zero on both sides
    int64_t tapCopies = 1;  ///< of a row of taps: one an element further, where lanes begin so

    /// A place is `stack` bands of `pieces`; all places of a block together are 16 pieces.
    int64_t places() const { return 16 / (pieces * stack); }
    int64_t columns() const { return 8 * pieces; }
    int64_t placeHeight() const { return stack * height; }
    int64_t threads() const { return 32 * warps; }
    int64_t eights() const { return channels / 8; }
    int64_t channelWords() const { return places() * placeWords; }
    /// What shifts the channels of each next eight, so that they lie in other banks.
    int64_t eightShift() const { return 32 / eights(); }
    int64_t pictureBytes() const {
        return 4 * (channels * channelWords() + (eights() - 1) * eightShift());
    }
    int64_t tapBytes(const ConvSpec& spec) const {
        return (2 * channels * spec.rows.kernel * tapCopies * tapRow + 15) / 16 * 16;
    }
    /// What threads look up of a row, of the operand and of the results.
    int64_t rowBytes() const { return 16 * places() * (rows + placeHeight()); }
    int64_t sharedBytes(const ConvSpec& spec) const {
        return pictureBytes() + tapBytes(spec) + rowBytes();
    }
    /// Words from one band of a place to the next.
    int64_t bandWords(const ConvSpec& spec) const { return height * spec.rows.stride * words; }
};

/// The shape with the fewest predicted clocks; a reason when none is legal.
std::variant<DepthwiseTensorShape, Reason> depthwiseTensorShape(const ConvSpec& spec);

/// Blocks that a multiprocessor is to hold at a time.
uint32_t residentBlocks(const ConvSpec& spec, const DepthwiseTensorShape& shape);

EmitResult emitDepthwiseTensor(const KernelRequest& request);

} // namespace fuselage::gpu
