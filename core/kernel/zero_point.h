// SPDX-License-Identifier: Apache-2.0
// Reads the prologue of a contraction of integers as what quantisation makes of it: the operand's
// element minus a zero point. For backends whose libraries take zero points.
#pragma once

#include "core/kernel/program.h"

#include <optional>

namespace fuselage {

/// A number, or the one read of the prologue.
struct ZeroPoint {
    int32_t number = 0;
    std::optional<Access> read;
};

/// None when the prologue is anything else. No prologue at all: zero.
std::optional<ZeroPoint> zeroPointOf(const std::optional<Prologue>& prologue);

} // namespace fuselage
