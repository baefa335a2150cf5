// SPDX-License-Identifier: Apache-2.0
// A convolution as its kernels see it: operands with strides, spatial dims brought to two (a
// one-dimensional convolution is a picture one row high), the epilogue as text. Chooses no kernel.
#pragma once

#include "gpu/emit/emit_kernel.h"

namespace fuselage::gpu {

/// One spatial dim of a convolution.
struct ConvAxis {
    int64_t in = 1, out = 1; ///< extents
    int64_t kernel = 1, stride = 1, dilation = 1, pad = 0;
};

struct ConvSpec {
    const KernelRequest* request = nullptr;
    const Contraction* code = nullptr;
    KernelOperand x, w; ///< strides over their own dims
    std::vector<KernelOperand> reads, writes;
    ConvAxis rows, columns;
    int64_t images = 1, channels = 1, results = 1; ///< N, C, K
    int64_t channelsPerGroup = 1;
    bool flat = false; ///< one spatial dim: operands have no row dim

    /// "in0 + 5 + (n) * 96 + ..." of an operand over [N, channel, rows, columns].
    std::string offset(const KernelOperand& operand, const std::string& n, const std::string& c,
                       const std::string& y, const std::string& x) const;
    /// Stride of an operand over [N, channel, rows, columns] along one of them.
    int64_t stride(const KernelOperand& operand, size_t dim) const;

    /// Elements that one access moves along the channels of every operand in `operands`.
    bool vectors(const KernelOperand& operand, int64_t width) const;

    /// Whether `count` elements along a row, from a multiple of `count` on, are accesses of up to
    /// 16 bytes.
    bool rowVectors(const KernelOperand& operand, int64_t count) const;

    /// Whether an operand of the epilogue has one number a channel.
    bool perChannel(const KernelOperand& read) const;

    /// Whether all that the epilogue reads is so: it may be computed for places that are not there.
    bool epiloguePerChannel() const;

    /// Multiprocessors of the device; without a profile those of an H200.
    int64_t units() const;
    /// Bytes of shared memory for a block of which a multiprocessor is to hold so many.
    int64_t sharedBytesOf(int64_t blocks) const;

    /// Whether the tensor cores take both operands as they are stored: 16-bit floats, and sums in
    /// another order are allowed.
    bool takesTensorCores() const;

    /// The epilogue's function; accumulator and reads as registers.
    TapeFunction epilogue(const std::string& name) const;
    const char* accumulator() const { return registerType(code->accumulate); }
    int64_t taps() const { return rows.kernel * columns.kernel; }
};

/// Refuses what is no forward convolution with one or two spatial dims, float operands and no
/// prologue.
std::variant<ConvSpec, Reason> convSpec(const KernelRequest& request);

} // namespace fuselage::gpu
