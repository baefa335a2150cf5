// SPDX-License-Identifier: Apache-2.0
// Operands of contractions that no engine reads as they lie: converted to float, with a prologue
// applied, or packed, in memory of their own. And the tapes that only convert.
#pragma once

#include "core/cpu/kernel.h"
#include "core/kernel/program.h"

#include <memory>
#include <optional>

namespace fuselage::cpu {

/// What an operand becomes.
struct StagedOperand {
    OperandLayout layout;
    Access access;                  ///< of the contraction to `layout`
    std::unique_ptr<Kernel> kernel; ///< fills `layout` from the step's inputs; null: nothing to do
};

/// Operand a of the contraction, or b, as elements of `dtype`, in the order that it has in memory;
/// `packed` in an order that every engine takes. Constants are converted here.
StagedOperand stageOperand(const Contraction& program, bool isA, DType dtype, bool packed,
                           const PrepareContext& context);

/// A tape that only converts.
Tape castTape(DType from, DType to);

/// The tape with its only result widened to float: 16-bit results keep their rounding.
Tape withFloatResult(Tape tape);

} // namespace fuselage::cpu
