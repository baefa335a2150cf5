// SPDX-License-Identifier: Apache-2.0
// Powers that are products: x^2 and x^3. Executors multiply where the general power would take
// fifty times longer, and the cost model counts what they do.
#pragma once

#include "core/ops/tape.h"

namespace fuselage {

/// The products that instruction `at` of the tape takes: 1 for a square, 2 for a cube of floats; 0:
/// it is no such power.
inline int productsOfPower(const Tape& tape, const TapeInstruction& at) {
    if (at.op != TapeOp::Pow || !isFloat(at.type))
        return 0;
    uint16_t reg = at.operand[1];
    while (tape.code[reg].op == TapeOp::Cast)
        reg = tape.code[reg].operand[0];
    const TapeInstruction& exponent = tape.code[reg];
    if (exponent.op != TapeOp::Constant || !isFloat(exponent.type))
        return 0;
    return exponent.number == 2 ? 1 : exponent.number == 3 ? 2 : 0;
}

} // namespace fuselage
