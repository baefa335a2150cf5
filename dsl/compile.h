// SPDX-License-Identifier: Apache-2.0
// AST -> compiled rules (core/rewrite/pattern.h): names become slots, classes operators, patterns
// and functions are written out where they are used, operators are checked against the op table.
#pragma once

#include "core/rewrite/pattern.h"
#include "dsl/resolve.h"

namespace fuselage::dsl {

/// Compiles the rules and pipelines of all files of the library. Rules with errors are left out.
RuleSet compile(const Library& library, Diagnostics& diagnostics);

} // namespace fuselage::dsl
