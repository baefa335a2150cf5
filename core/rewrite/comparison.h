// SPDX-License-Identifier: Apache-2.0
// Why a condition does not hold: the comparison that fails and both of its sides, or what is not
// known.
#pragma once

#include "core/rewrite/evaluate.h"

#include <optional>
#include <string>

namespace fuselage {

/// A comparison that does not hold: what was found, and what it is compared with.
struct Comparison {
    const Expression* whole = nullptr;
    const Expression* limitAt = nullptr;
    bool turned = false; ///< the limit stands first
    std::string symbol;  ///< as read from `found` to `limit`
    Quantity found, limit;

    /// As rules write it: "> 1000".
    std::string wanted() const;
};

/// Numbers that are not whole, or large, with four digits.
std::string textOfSide(const Quantity& side);

/// The comparison for which a condition is false (or, as `truth` says, not known); of several
/// joined by `and`, the first. None where the condition is not that, or for another reason.
std::optional<Comparison> failedComparison(const EvaluateContext& context,
                                           const Expression& condition, Truth truth = Truth::False);

/// What is missing where a condition is not known; empty where nothing is.
std::string missingIn(const EvaluateContext& context, const Expression& condition);

} // namespace fuselage
