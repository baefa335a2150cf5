// SPDX-License-Identifier: Apache-2.0
// The part of a pointwise program that only constants reach, computed once while preparing: what
// BatchNormalization makes of its four parameters is two numbers a channel, not a root and a
// division for every element.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

struct FoldedPointwise {
    Pointwise program;                 ///< may read operands after the given ones
    std::vector<OperandLayout> inputs; ///< the given ones, then results, which are constants
    int64_t bytes = 0;                 ///< of operands that the program reads no longer
};

/// Folds where all constants that meet lie along the same dimensions of the space, in types that
/// hold what a register holds.
FoldedPointwise foldConstantPart(const Pointwise& program, const PrepareContext& context);

} // namespace fuselage::cpu
