// SPDX-License-Identifier: Apache-2.0
// Equality of real expressions with maxima, magnitudes and selections in them: for each way that
// these may go, both sides must be equal, or the way must be impossible.
#pragma once

#include "core/algebra/algebra.h"

namespace fuselage::algebra {

/// What is known of the numbers: `of` is at least zero, above it, or zero.
struct Fact {
    enum class Kind : uint8_t { AtLeastZero, AboveZero, Zero };

    Expr of;
    Kind kind = Kind::AtLeastZero;
};

/// True only where no numbers have all of these properties at once.
bool areContradictory(const Algebra& algebra, const std::vector<Fact>& facts);

/// True only where both are equal for all numbers that have these properties.
bool agreeInAllCases(Algebra& algebra, Expr a, Expr b, std::vector<Fact> facts);

} // namespace fuselage::algebra
