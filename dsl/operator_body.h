// SPDX-License-Identifier: Apache-2.0
// The body of an `op` item, written like a pattern, as the statements of a rewrite: what can be
// matched and has one way to be built. Says what cannot be built; knows no names of operators.
#pragma once

#include "core/support/diagnostic.h"
#include "dsl/ast.h"

namespace fuselage::dsl {

/// Its statements in an order in which each reads only what those before it make; empty after
/// E0212, E0224 or E0247.
std::vector<ast::RewriteStatement> buildingStatements(const ast::Operator& item,
                                                      Diagnostics& diagnostics);

} // namespace fuselage::dsl
