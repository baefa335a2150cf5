// SPDX-License-Identifier: Apache-2.0
#include "dsl/operator_body.h"

#include "dsl/tokens.h"
#include "dsl/walk.h"

#include <algorithm>
#include <set>

namespace fuselage::dsl {

namespace {

using ExprKind = ast::Expr::Kind;
using PartKind = ast::Term::Kind;

ast::Expr makeExpr(ExprKind kind, const Span& span, std::string text = {}) {
    ast::Expr out;
    out.kind = kind;
    out.span = span;
    out.text = std::move(text);
    return out;
}

class Translation {
public:
    Translation(const ast::Operator& item, Diagnostics& diagnostics)
        : m_item(item), m_diagnostics(diagnostics) {}

    std::vector<ast::RewriteStatement> run() {
        for (const ast::Statement& statement : m_item.pattern.body)
            add(statement);
        for (const ast::Name& result : m_item.pattern.results)
            if (m_isGood && !m_made.contains(result.text)) {
                Diagnostic& d = error("E0247", result.span,
                                      "the body of `" + m_item.pattern.name.text +
                                          "` does not define its result");
                d.expected = "`" + result.text + " = ...;` in its body";
                d.fix = "define the result with a statement";
            }
        return m_isGood ? inOrder() : std::vector<ast::RewriteStatement>();
    }

private:
    Diagnostic& error(const char* code, const Span& span, std::string message) {
        m_isGood = false;
        return m_diagnostics.error(code, span, std::move(message));
    }

    void refuse(const Span& span, const std::string& found, const std::string& fix) {
        Diagnostic& d = error("E0224", span, "the body of an operator has one way to be built");
        d.found = found;
        d.fix = fix;
    }

    void add(const ast::Statement& statement) {
        if (auto* let = std::get_if<ast::Let>(&statement)) {
            m_made.insert(let->name.text);
            m_statements.emplace_back(*let);
        } else if (auto* define = std::get_if<ast::Define>(&statement)) {
            add(*define);
        } else {
            refuse(
                ast::spanOf(statement), "a condition or a group of nodes",
                "write statements `y = Op(x);`; conditions stand in rules that use the operator");
        }
    }

    void add(const ast::Define& define) {
        ast::Assign assign;
        assign.span = define.span;
        for (const ast::Name& name : define.names) {
            assign.targets.push_back({name, false});
            m_made.insert(name.text);
        }
        if (define.names.empty())
            refuse(define.span, "a statement without a name", "name what it makes: `y = ...;`");
        assign.value = choice(define.choice.alternatives, define.choice.span);
        m_statements.emplace_back(std::move(assign));
    }

    ast::Expr choice(const std::vector<ast::Alternative>& alternatives, const Span& span) {
        if (alternatives.size() == 1)
            return chain(alternatives[0].chain);
        refuse(span, "alternatives", "keep the one that says what the operator computes");
        return {};
    }

    ast::Expr chain(const ast::Chain& chain) {
        ast::Expr out = makeExpr(ExprKind::Chain, chain.span);
        for (const ast::Step& step : chain.steps) {
            if (step.quantifier != ast::Step::Quantifier::One)
                refuse(step.span, "a step that may be missing or repeats", "write each step once");
            out.args.push_back(term(step.term));
            out.depth = std::max<uint16_t>(out.depth, out.args.back().depth + 1);
        }
        return out.args.size() == 1 ? ast::Expr(std::move(out.args[0])) : out;
    }

    ast::Expr term(const ast::Term& term) {
        if (term.capture)
            refuse(term.capture->span, "`" + term.capture->text + "@`",
                   "name the value with a statement of its own");
        switch (term.kind) {
        case PartKind::Hole:
            return makeExpr(ExprKind::Lower, term.span, "_");
        case PartKind::Value:
            if (term.mayBeAbsent || term.rest || term.type)
                refuse(term.span, "a value with a condition", "write its name alone");
            return makeExpr(ExprKind::Lower, term.name.span, term.name.text);
        case PartKind::Number:
            return number(term);
        case PartKind::Node:
            return node(term);
        case PartKind::Group:
            return choice(term.alternatives, term.span);
        case PartKind::Region:
            refuse(term.span, "a region", "write its operators");
            break;
        }
        return {};
    }

    ast::Expr number(const ast::Term& term) {
        if (!term.tolerance.empty())
            refuse(term.span, "a tolerance", "write the number alone");
        ast::Expr out = makeExpr(ExprKind::Number, term.span, term.number);
        out.number = numeralValue(term.number);
        if (!term.number.ends_with("inf"))
            return out;
        out.text = "inf";
        if (term.number == "inf")
            return out;
        ast::Expr minus = makeExpr(ExprKind::Unary, term.span, "-");
        minus.args.push_back(std::move(out));
        minus.depth = 1;
        return minus;
    }

    ast::Expr node(const ast::Term& term) {
        if (term.prefix == "flat" || term.prefix == "spec")
            refuse(term.span, "`" + term.prefix + "`", "write the operator alone");
        ast::Expr out = makeExpr(ExprKind::Node, term.span, term.name.text);
        for (const ast::Arg& arg : term.args) {
            ast::Expr operand = chain(arg.chain);
            out.depth = std::max<uint16_t>(out.depth, operand.depth + 1);
            if (arg.name)
                out.named.push_back({*arg.name, std::move(operand)});
            else
                out.args.push_back(std::move(operand));
        }
        for (const ast::Test& test : term.tests) {
            if (test.comparison != "==")
                refuse(test.span, "`" + test.comparison + "`", "say what the attribute is: `==`");
            out.named.push_back({test.attribute, test.value});
        }
        return out;
    }

    /// Names that a statement reads and the body makes.
    std::set<std::string> readsOf(const ast::RewriteStatement& statement) const {
        std::set<std::string> out;
        const ast::Expr& value =
            std::visit([](const auto& it) -> const ast::Expr& { return it.value; }, statement);
        walkExpr(value, [&](const ast::Expr& inner) {
            if (inner.kind == ExprKind::Lower && m_made.contains(inner.text))
                out.insert(inner.text);
        });
        return out;
    }

    std::vector<ast::RewriteStatement> inOrder() {
        std::vector<ast::RewriteStatement> out;
        std::set<std::string> known;
        std::vector<ast::RewriteStatement> left = std::move(m_statements);
        while (!left.empty()) {
            auto ready = std::find_if(left.begin(), left.end(), [&](const auto& statement) {
                const std::set<std::string> reads = readsOf(statement);
                return std::includes(known.begin(), known.end(), reads.begin(), reads.end());
            });
            if (ready == left.end()) {
                Diagnostic& d = error("E0212", ast::spanOf(left.front()),
                                      "what this statement reads is computed from it");
                d.fix = "read the operands, or values that do not depend on it";
                return {};
            }
            if (auto* let = std::get_if<ast::Let>(&*ready))
                known.insert(let->name.text);
            else
                for (const ast::Target& target : std::get<ast::Assign>(*ready).targets)
                    known.insert(target.name.text);
            out.push_back(std::move(*ready));
            left.erase(ready);
        }
        return out;
    }

    const ast::Operator& m_item;
    Diagnostics& m_diagnostics;
    std::set<std::string> m_made;
    std::vector<ast::RewriteStatement> m_statements;
    bool m_isGood = true;
};

} // namespace

std::vector<ast::RewriteStatement> buildingStatements(const ast::Operator& item,
                                                      Diagnostics& diagnostics) {
    return Translation(item, diagnostics).run();
}

} // namespace fuselage::dsl
