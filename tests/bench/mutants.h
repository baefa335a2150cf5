// SPDX-License-Identifier: Apache-2.0
// Rules one step away from a given one, as a person would get them wrong: a guard is missing, an
// attribute, a constant, an axis, an operator or an operand is another one.
#pragma once

#include "core/rewrite/pattern.h"

#include <string>
#include <vector>

namespace fuselage::bench {

struct Mutant {
    Rule rule;
    std::string kind; ///< "guard dropped"
    std::string what; ///< "condition 2", "Softmax[axis]"
};

/// All mutants of a rewrite rule, in a fixed order. Some of them mean what the rule means.
std::vector<Mutant> mutantsOf(const Rule& rule);

} // namespace fuselage::bench
