// SPDX-License-Identifier: Apache-2.0
// Brings a MatMul contraction with any strides to batched matrices, or says why it cannot.
#pragma once

#include "core/kernel/loops.h"
#include "core/support/reason.h"

#include <variant>

namespace fuselage {

/// The loops of the product, each with one stride an operand.
struct MatMulLoops {
    std::vector<Loop> batch;
    Loop m, n, k; ///< extent one and strides zero where there is no such loop
};

/// Which of several loops that do not merge are the rows and columns of one product.
enum class ProductLoop : uint8_t {
    Longest,   ///< few large products
    Innermost, ///< of the contraction's space: results of one product lie together
};

/// Operands 0 and 1 are a and b, over the contraction's space and k; the others are over its space.
/// Loops of m merge in the order of the space or of a's strides, others in that of the space. What
/// does not merge into one loop of m or n repeats the multiplication. Reason "layout" when the
/// reduced dimensions do not merge.
std::variant<MatMulLoops, Reason> matMulLoops(const Contraction& program,
                                              const std::vector<StridedAccess>& operands,
                                              ProductLoop chosen = ProductLoop::Longest);

/// c[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n]; strides in elements, zero where
/// an operand does not move along a batch loop.
struct MatMulShape {
    std::vector<Loop> batch; ///< strides of a, b, c
    int64_t m = 1, n = 1, k = 1;
    int64_t aM = 0, aK = 0, bK = 0, bN = 0, cM = 0, cN = 0;
    int64_t aOffset = 0, bOffset = 0, cOffset = 0;
    /// Whether `n` are all channels of the contraction: else some are loops of `batch`, and what is
    /// given per channel does not lie along the columns.
    bool wholeRows = true;
};

/// `c` is over the contraction's space.
std::variant<MatMulShape, Reason> matMulShape(const Contraction& program, const StridedAccess& a,
                                              const StridedAccess& b, const StridedAccess& c,
                                              ProductLoop chosen = ProductLoop::Longest);

} // namespace fuselage
