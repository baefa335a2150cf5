// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution: a channel of the result depends on one channel of the operand. A thread
// owns a patch of results of some neighbouring channels and walks down the rows that they need.
#pragma once

#include "gpu/kernels/conv_spec.h"

namespace fuselage::gpu {

/// Patch of a thread and of a block, and what it costs.
struct DepthwiseShape {
    int width = 1;  ///< neighbouring channels
    int strip = 1;  ///< results along a row
    int height = 1; ///< rows of results
    int lanes = 1;  ///< threads of a block along the channels
    int places = 1; ///< patches of a block
    bool channelsFastest = false;
    int registers = 0;                ///< of a thread, estimated
    double instructionsPerResult = 0; ///< lane instructions, counted in the emitted loops
    /// Channels that one thread stages of a tap, where the weight is a constant and comes packed
    /// tap by tap; 0: element by element.
    int staged = 0;

    int64_t blockChannels() const { return int64_t{width} * lanes; }
    int threads() const { return lanes * places; }
    /// Threads that stage a tap together, and taps that the block stages at a time.
    int64_t perTap() const { return blockChannels() / staged; }
    int64_t tapsAtOnce() const { return threads() / perTap(); }
    /// Weights between taps in shared memory. Where the taps of a channel are staged side by side:
    /// an odd number of threads' channels, so that they lie in many banks.
    int64_t weightRow() const {
        return staged > 0 ? blockChannels() : int64_t{width} * ((lanes + 1) | 1);
    }
};

/// The shape with the shortest predicted issue time; a reason when none is legal.
std::variant<DepthwiseShape, Reason> depthwiseShape(const ConvSpec& spec);

/// Lane instructions of one thread over the results of its patch.
double depthwiseInstructions(const ConvSpec& spec, const DepthwiseShape& shape);

/// Columns of the operand that a strip of results reads, from the first one on.
std::vector<int64_t> depthwiseColumns(const ConvSpec& spec, int strip);

/// How a thread of one channel reads a row that lies along memory: whole accesses of `elements`,
/// the first one `lead` elements before the strip's first column.
struct DepthwiseChunks {
    int64_t count = 0; ///< of accesses; 0: column by column
    int64_t elements = 0, lead = 0;
};

DepthwiseChunks depthwiseChunks(const ConvSpec& spec, const DepthwiseShape& shape);

EmitResult emitDepthwiseTiled(const KernelRequest& request);

} // namespace fuselage::gpu
