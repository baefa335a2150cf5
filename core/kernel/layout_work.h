// SPDX-License-Identifier: Apache-2.0
// What a kernel does because of the order in which its operands lie in memory, beside what it does
// on operands that lie as it walks them. Knows programs and strides; prices are core/cost's.
#pragma once

#include "core/kernel/program.h"

#include <vector>

namespace fuselage {

/// Strides in elements, parallel to a program's inputs and outputs. Null: the operand lies as the
/// kernel walks it, of a Copy row after row.
struct OperandStrides {
    std::vector<const Extents*> inputs, outputs;
    bool follows = false; ///< a Library routine writes in the order in which its inputs lie
};

/// Whether elements lie in the same places; strides of extents of one do not count.
bool sameOrder(const Extents& extents, const Extents& a, const Extents& b);

/// Strides with dimension 1 innermost: NHWC for [N, C, H, W].
Extents channelsLast(const Extents& extents);

/// Work of operands in a known order.
struct LaidWork {
    /// With, in `turned`, elements read along another dimension than they are written. One that
    /// costs several times as much, since runs are short or each line is met again much later,
    /// counts several times.
    Work work;
    int64_t turnedByOrder = 0; ///< the part of `turned` that other orders would not have
    int64_t packed = 0;        ///< elements that pass through memory of the kernel's own for that
    bool channelsTogether = true; ///< a convolution finds the channels of a pixel side by side
};

LaidWork laidWorkOf(const KernelProgram& program, const OperandStrides& order);

} // namespace fuselage
