// SPDX-License-Identifier: Apache-2.0
// AST -> canonical .fuse text: parsing it again gives the same tree, printing that the same text.
// Keeps /// comments; other comments are not in the tree.
#pragma once

#include "dsl/ast.h"

#include <string>

namespace fuselage::dsl {

std::string print(const ast::File& file);
std::string print(const ast::Item& item);
std::string print(const ast::Choice& choice);
std::string print(const ast::Expr& expr);

} // namespace fuselage::dsl
