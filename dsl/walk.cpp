// SPDX-License-Identifier: Apache-2.0
#include "dsl/walk.h"

namespace fuselage::dsl {

namespace {

void walkTypeExprs(const ast::Term& term, const ExprVisitor& visit) {
    if (term.type)
        for (const ast::Dim& dim : term.type->dims)
            walkExpr(dim.value, visit);
    for (const ast::Test& test : term.tests)
        walkExpr(test.value, visit);
}

void walkChoiceExprs(const ast::Choice& choice, const ExprVisitor& visit) {
    walkTerms(choice, [&](const ast::Term& term, bool) { walkTypeExprs(term, visit); });
}

struct UseCounter {
    const std::string& name;
    NameUse use;

    void count(const ast::Expr& expr) {
        bool isName = expr.kind == ast::Expr::Kind::Lower || expr.kind == ast::Expr::Kind::ListOf;
        if (isName && expr.text == name)
            ++use.times;
    }

    void countExpr(const ast::Expr& expr) {
        walkExpr(expr, [this](const ast::Expr& e) { count(e); });
    }

    void operator()(const ast::Define& define) {
        walkTerms(define.choice, [this](const ast::Term& term, bool later) {
            if (term.kind != ast::Term::Kind::Value || term.name.text != name)
                return;
            ++use.times;
            use.hasType |= term.type.has_value() || term.rest || term.mayBeAbsent;
            use.inLaterStep |= later;
        });
        walkChoiceExprs(define.choice, [this](const ast::Expr& e) { count(e); });
    }

    void operator()(const ast::Let& let) { countExpr(let.value); }

    void operator()(const ast::Where& where) {
        for (const ast::Expr& condition : where.conditions)
            countExpr(condition);
    }

    void operator()(const ast::Unless& unless) { countBody(unless.body); }

    void operator()(const ast::Many& many) { countBody(many.body); }

    void countBody(const std::vector<ast::Statement>& body) {
        for (const ast::Statement& statement : body)
            std::visit(*this, statement);
    }
};

} // namespace

void walkTerms(const ast::Choice& choice, const TermVisitor& visit) {
    for (const ast::Alternative& alternative : choice.alternatives)
        walkTerms(alternative.chain, visit);
}

void walkTerms(const ast::Chain& chain, const TermVisitor& visit, bool inLaterStep) {
    for (size_t i = 0; i < chain.steps.size(); ++i)
        walkTerms(chain.steps[i].term, visit, inLaterStep || i > 0);
}

void walkTerms(const ast::Term& term, const TermVisitor& visit, bool inLaterStep) {
    visit(term, inLaterStep);
    for (const ast::Arg& arg : term.args)
        walkTerms(arg.chain, visit, inLaterStep);
    for (const ast::Alternative& alternative : term.alternatives)
        walkTerms(alternative.chain, visit, inLaterStep);
}

void walkExpr(const ast::Expr& expr, const ExprVisitor& visit) {
    visit(expr);
    for (const ast::Expr& arg : expr.args)
        walkExpr(arg, visit);
    for (const ast::NamedExpr& named : expr.named)
        walkExpr(named.value, visit);
}

NameUse useOf(const std::string& name, const std::vector<ast::Statement>& body) {
    UseCounter counter{name, {}};
    counter.countBody(body);
    return counter.use;
}

bool mentionsHole(const ast::Term& term) {
    bool found = false;
    walkTerms(term, [&](const ast::Term& inner, bool inLaterStep) {
        found |= inner.kind == ast::Term::Kind::Hole && !inLaterStep;
    });
    return found;
}

} // namespace fuselage::dsl
