// SPDX-License-Identifier: Apache-2.0
// What to do about a syntax error. Small edits at its place are tried: only one behind which the
// grammar gets further is advised.
#pragma once

#include "dsl/tokens.h"

#include <functional>
#include <optional>

namespace fuselage::dsl {

struct SyntaxError {
    std::string_view text;
    const std::vector<Token>* tokens = nullptr;
    size_t found = 0;     ///< the token that does not fit; their number: the end of the file
    uint32_t missing = 0; ///< where what is expected would stand: behind what was written before
    std::string expected; ///< as messages say it: "`;`", "an operand"
};

/// Offset of a text's first syntax error; none: it has none.
using FirstError = std::function<std::optional<uint32_t>(const std::string& text)>;

/// Begins with a verb, or asks "did you mean ...?". Without `firstError` no edit is tried.
std::string syntaxFix(const SyntaxError& error, const FirstError& firstError);

/// What a character that other languages use is called here.
std::string_view inPlaceOf(std::string_view stray);

} // namespace fuselage::dsl
