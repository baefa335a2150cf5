// SPDX-License-Identifier: Apache-2.0
// What a rule demands, as a flat list of comparisons: of attributes, ranks, dimensions, element
// types and conditions. Only for lints.
#pragma once

#include "core/rewrite/pattern.h"
#include "core/rewrite/quantity.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fuselage::dsl {

/// Alternatives taken on the way to a term: the Choice and which of its terms.
using Path = std::vector<std::pair<TermId, uint32_t>>;

/// False when the two take different alternatives of one choice.
bool together(const Path& a, const Path& b);

/// Several facts with one key hold at once.
struct Fact {
    enum class Kind : uint8_t {
        OneOf,   ///< one of `values`
        Not,     ///< none of `values`
        Between, ///< low <= it <= high
        Equals,  ///< the same as the expression `other`
        Differs, ///< another than the expression `other`
    };

    std::string key;  ///< what is compared
    std::string text; ///< the demand as the message shows it
    Kind kind = Kind::OneOf;
    Quantity::List values;
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    std::string other;
    Path path;
    std::optional<SlotIndex> when; ///< as in Condition
    Span span;                     ///< empty: true by itself
};

std::vector<Fact> factsOf(const Rule& rule);

/// No value satisfies both.
bool contradict(const Fact& a, const Fact& b);

/// True for an expression that reads no name.
bool isLiteral(const Expression& expression);

/// The value of such an expression.
Quantity literalValue(const Expression& expression);

} // namespace fuselage::dsl
