// SPDX-License-Identifier: Apache-2.0
// The part of a pointwise program that only constants reach (core/kernel/constant_part.h), computed
// by the tile interpreter while preparing.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

struct FoldedPointwise {
    Pointwise program;                 ///< may read operands after the given ones
    std::vector<OperandLayout> inputs; ///< the given ones, then results, which are constants
    int64_t bytes = 0;                 ///< of operands that the program reads no longer
};

/// Bytes of the operands, of the first `given`, that `before` reads and `after` does not.
int64_t bytesUnread(const Pointwise& before, const Pointwise& after,
                    const std::vector<OperandLayout>& operands, size_t given);

/// What foldConstantReads() folds.
FoldedPointwise foldConstantPart(const Pointwise& program, const PrepareContext& context);

} // namespace fuselage::cpu
