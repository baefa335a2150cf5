// SPDX-License-Identifier: Apache-2.0
// Questions about the tree that need a walk over all of it: which names occur, where `_` stands,
// whether a pattern can be put in the place of a step as it is.
#pragma once

#include "dsl/ast.h"

#include <functional>
#include <string>

namespace fuselage::dsl {

/// Called for each term below; `inLaterStep` is true inside a chain step whose `_` is another one.
using TermVisitor = std::function<void(const ast::Term& term, bool inLaterStep)>;
void walkTerms(const ast::Choice& choice, const TermVisitor& visit);
void walkTerms(const ast::Chain& chain, const TermVisitor& visit, bool inLaterStep = false);
void walkTerms(const ast::Term& term, const TermVisitor& visit, bool inLaterStep = false);

using ExprVisitor = std::function<void(const ast::Expr& expr)>;
void walkExpr(const ast::Expr& expr, const ExprVisitor& visit);

/// How a name is used in the body of a pattern.
struct NameUse {
    size_t times = 0;         ///< as a value and in expressions, not counting its definition
    bool hasType = false;     ///< somewhere with a type
    bool inLaterStep = false; ///< somewhere below a step that is not the first of its chain
};

NameUse useOf(const std::string& name, const std::vector<ast::Statement>& body);

/// True when `_` of the enclosing step stands somewhere in the term.
bool mentionsHole(const ast::Term& term);

} // namespace fuselage::dsl
