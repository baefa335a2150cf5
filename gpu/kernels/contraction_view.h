// SPDX-License-Identifier: Apache-2.0
// A Contraction as one strided product over [batch..., m..., n..., k...]: matrix products as they
// are, convolutions with groups as batch, results as m and taps and channels as k. What a
// convolution adds are bounds: taps that lie in the padding.
#pragma once

#include "gpu/emit/emit_access.h"
#include "gpu/emit/emit_kernel.h"
#include "gpu/kernels/blocked_columns.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::gpu {

/// The index along one spatial dim of A, which must lie in [0, extent).
/// Convolution: m[mDim] * stride + k[kDim] * dilation - pad.
/// Transposed: (m[mDim] + pad - k[kDim] * dilation) / stride, where that is whole.
struct TapBound {
    size_t mDim = 0, kDim = 0; ///< among the m dims, among the k dims
    int64_t stride = 1, dilation = 1, pad = 0, extent = 1;
    int64_t step = 0; ///< elements of A along this dim
};

struct ContractionView {
    Extents batch, m, n, k;
    /// Strides over [batch..., m..., n..., k...]; A's exclude `bounds` when transposed.
    KernelOperand a, b;
    std::vector<KernelOperand> readsA, readsB; ///< of the prologues, over the same dims
    std::vector<Extents> stepsA;       ///< of each of readsA along `bounds`, when transposed
    std::vector<KernelOperand> reads;  ///< over [batch..., m..., n...]
    std::vector<KernelOperand> writes; ///< the same; with a pool over its results
    std::vector<TapBound> bounds;      ///< only those that can leave the operand
    bool transposed = false;
    bool wide = false; ///< an offset or count needs 64 bits
    int64_t batchCount = 1, mCount = 1, nCount = 1, kCount = 1;
    std::optional<PackedOperand> packed;   ///< what "packed0", B, is made of
    std::optional<BlockedStorage> blocked; ///< B lies in memory in a few bits
    bool made = false; ///< "made0", B, is what a launch before this one left in scratch memory

    size_t resultDims() const { return batch.size() + m.size() + n.size(); }
    bool moves(const KernelOperand& operand, size_t first, size_t count) const;
};

ContractionView viewOf(const KernelRequest& request);

/// Lets B be packed with k innermost, where it is a constant whose dims are n's or k's alone.
/// False and unchanged when it cannot.
bool packB(const KernelRequest& request, ContractionView& view);

/// Sums of B along k, in int32, made when the weight is loaded.
struct ColumnSums {
    PackedOperand packed;
    KernelOperand operand; ///< "columnSums", over [batch..., m..., n..., k...]
};

/// None where B is no constant, or a dim of it belongs to several axes.
std::optional<ColumnSums> columnSumsOfB(const KernelRequest& request, const ContractionView& view);

/// The pointer of a B that is packed or made as a parameter; none of an operand of the program.
std::vector<ExtraParameter> packedParameters(const ContractionView& view);

/// Loops over an axis group that the operands move through, 64 bits wide when the view is.
LoopNest axisNest(const ContractionView& view, const Extents& axis, size_t first,
                  const std::vector<KernelOperand>& operands);

} // namespace fuselage::gpu
