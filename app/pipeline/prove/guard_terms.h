// SPDX-License-Identifier: Apache-2.0
// What a `where` of a rule could ask, as its text and compiled: dimensions, ranks, values of
// constants, attributes of named nodes, and which of them are equal or ordered.
#pragma once

#include "core/rewrite/pattern.h"

#include <string>
#include <vector>

namespace fuselage::app {

struct GuardTerm {
    enum class Kind : uint8_t {
        Truth,  ///< true or false by itself
        Number, ///< to be compared with a number
    };

    std::string text; ///< "min(p.value)", "a.strides == b.strides"
    Expression expression;
    Kind kind = Kind::Number;
    bool readsContents = false; ///< of constants
};

std::vector<GuardTerm> guardTerms(const Rule& rule);

} // namespace fuselage::app
