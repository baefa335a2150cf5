// SPDX-License-Identifier: Apache-2.0
// What tape operations cost: the one table that counting work and refusing costly prologues read.
#pragma once

#include "core/ops/tape.h"

namespace fuselage {

struct TapeCost {
    int64_t issue = 1;           ///< machine instructions; functions are polynomials of that length
    bool transcendental = false; ///< counted as a call

    /// Tens of instructions, too many to repeat for every reuse of an operand.
    bool expensive() const { return transcendental && issue >= 6; }
};

TapeCost costOf(TapeOp op);

} // namespace fuselage
