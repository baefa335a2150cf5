// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3 by 3 taps and strides of one by products of sm_90's warpgroups. A block stages
// a piece of the picture with what lies around it once for each slice of channels; all nine taps
// are read from there as fragments (ldmatrix), whose places may lie anywhere, and are the rows of a
// product in registers. Weights pass through shared memory as rows along k, or stay there where
// they fit.
#pragma once

#include "gpu/kernels/conv_result.h"

namespace fuselage::gpu {

/// What a block makes. A unit is `down` results of a channel, one below the other, so that a row of
/// the picture that was fetched serves up to three of them. Units are counted along rows, then down
/// the rows of units, then band by band, then by pictures: a warp takes 16 neighbours.
struct HaloShape {
    int64_t groups = 1;        ///< warpgroups of a block, 64 units each
    int64_t down = 1;          ///< results of a unit
    int64_t bands = 1;         ///< side by side in a picture, each as a picture of its own
    int64_t results = 64;      ///< channels of the result that a block computes
    int64_t channels = 64;     ///< of a slice: 16, 32 or 64
    int64_t stepChannels = 64; ///< of a stage of weights: three taps below each other
    int64_t stages = 3;        ///< of weights in shared memory: all, or two more than are ahead
    int64_t residents = 1;     ///< blocks that a multiprocessor is to hold at a time
    int64_t pictures = 2;      ///< pieces of the picture in shared memory
    int64_t blocks = 1;        ///< of each part of the results; they share the tiles
    int64_t lines = 1;         ///< of the picture, most of a tile
    int64_t linePitch = 0;     ///< bytes

    // The convolution's own extents.
    int64_t images = 1, rows = 1, columns = 1; ///< of the results
    int64_t allChannels = 1, allResults = 1;
    int64_t reads = 0; ///< operands of the epilogue

    static constexpr int64_t rowBytes = 128; ///< of weights: 64 results

    int64_t threads() const { return 128 * groups; }
    int64_t bandColumns() const { return columns / bands; }
    int64_t unitRows() const { return (rows + down - 1) / down; } ///< of a picture
    int64_t picturesUnits() const { return unitRows() * bandColumns(); }
    int64_t units() const { return images * bands * picturesUnits(); }
    int64_t tileUnits() const { return 64 * groups; }
    int64_t tiles() const { return (units() + tileUnits() - 1) / tileUnits(); }
    /// Rows of a band with the two around them; one band follows the other.
    int64_t bandLines() const { return unitRows() * down + 2; }
    /// The first of the lines that a unit reads.
    int64_t lineOf(int64_t unit) const {
        return unit / picturesUnits() * bandLines() + unit / bandColumns() % unitRows() * down;
    }
    int64_t stagedColumns() const { return bandColumns() + 2; }
    /// Bytes from a place to the next: an odd number of 16 bytes, so that eight neighbours lie in
    /// all banks.
    int64_t placePitch() const { return 2 * channels + 16; }
    int64_t pictureBytes() const { return lines * linePitch; }

    int64_t slices() const { return (allChannels + channels - 1) / channels; }
    int64_t paddedChannels() const { return slices() * channels; }
    int64_t parts() const { return (allResults + results - 1) / results; }
    int64_t paddedResults() const { return parts() * results; }
    int64_t panels() const { return (results + 63) / 64; } ///< of 64 results
    int64_t stageBytes() const { return 3 * stepChannels * rowBytes * panels(); }
    int64_t halves() const { return channels / stepChannels; } ///< stages of a column of taps
    int64_t sliceSteps() const { return 3 * halves(); }
    int64_t steps() const { return slices() * sliceSteps(); }
    /// Whether products end with each slice: groups of an odd number.
    bool drains() const { return slices() > 1 && sliceSteps() * stepChannels / 16 % 2 != 0; }
    bool stays() const { return stages == steps(); } ///< all weights
    int64_t ahead() const { return stages - 2; }
    int64_t weightBytes() const { return stages * stageBytes(); }
    int64_t sharedBytes() const { return weightBytes() + pictures * pictureBytes(); }
    /// Bytes that all blocks together copy to shared memory, where each tile has most lines.
    double copiedBytes() const {
        const double picture =
            2.0 * static_cast<double>(lines * stagedColumns() * paddedChannels());
        const double weights = 18.0 * static_cast<double>(paddedChannels() * results);
        return static_cast<double>(parts()) *
               (static_cast<double>(tiles()) * picture +
                static_cast<double>(stays() ? blocks : tiles()) * weights);
    }
    /// Registers that a thread needs, rather too many: sums, fragments, and what else there is.
    /// That is more where weights pass, with each row that is fetched, each panel and with many
    /// steps in a slice, with what the epilogue reads, and where column groups are no whole four.
    /// By where NVRTC 13 spilled (tests/gpu_compile, gpu_spills).
    int64_t registers() const {
        const int64_t passing = 8 + 16 * down + 24 * panels() + (channels > 32 ? 24 : 0);
        return down * results / 2 + (down + 2) * 8 + (stays() ? 52 : passing) + 8 * reads +
               (results % 32 == 0 ? 0 : 24);
    }
};

/// Clocks that a multiprocessor is busy, by counts of what its parts must do.
double haloClocks(const HaloShape& shape, int64_t units);

/// What these clocks leave of the peak of all multiprocessors' products, 0 to 1.
double haloShare(const HaloShape& shape, int64_t units);

/// The shape with the fewest clocks; a reason when none is legal.
std::variant<HaloShape, Reason> haloShape(const ConvSpec& spec);

EmitResult emitConvHalo(const KernelRequest& request);

} // namespace fuselage::gpu
