// SPDX-License-Identifier: Apache-2.0
// AST -> compiled rules (core/rewrite/pattern.h): names become slots, classes operators, patterns
// and functions are written out where they are used, operators are checked against the op table.
#pragma once

#include "core/rewrite/pattern.h"
#include "dsl/resolve.h"

namespace fuselage::dsl {

struct Compiled {
    RuleSet rules;
    std::vector<Rule> forms; ///< as rewrites from the body to the operator
};

/// Compiles the rules, forms and pipelines of all files of the library, each where it has no error.
Compiled compile(const Library& library, Diagnostics& diagnostics);

/// Whether the grammar lost something there: what is missing then was perhaps written.
bool hasSyntaxError(const Diagnostics& diagnostics, const Span& place);

} // namespace fuselage::dsl
