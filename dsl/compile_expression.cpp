// SPDX-License-Identifier: Apache-2.0
// Expressions: names become slots, lets and dimensions, functions of the file are written out, and
// in rewrites operators become node constructions.
#include "core/graph/dtype.h"
#include "core/ops/schema_facts.h"
#include "core/rewrite/functions.h"
#include "dsl/compile_internal.h"
#include "dsl/names_elsewhere.h"
#include "dsl/suggest.h"

#include <limits>

namespace fuselage::dsl {

namespace {

using ExprKind = ast::Expr::Kind;

constexpr size_t expressionLimit = 100000;

/// Members of `gain` that gates also name alone: what kernels take says nothing of what is saved.
bool isKernelFigure(const std::string& name) {
    return name == "regs" || name == "smem";
}

/// Words that stand elsewhere, or that the language had, and what to write instead.
std::string insteadOf(const std::string& name) {
    if (isKernelFigure(name))
        return "ask it in a gate: `gate regs <= 128;`";
    if (name == "never")
        return "say when the rule is wanted, such as `gate gain.us > 0;`, or delete the rule";
    if (name == "measured")
        return "begin a gate with it: `gate measured;`, or `gate measured and gain.us > 5;`";
    if (name == "True" || name == "False")
        return didYouMean(name == "True" ? "true" : "false", "");
    if (const std::string_view type = typeElsewhere(name); !type.empty())
        return "write `\"" + std::string(type) + "\"`";
    if (dtypeFromName(name) || isValueOfSome(name))
        return "write it in quotes: `\"" + name + "\"`";
    return {};
}

/// "Op(x)[alpha == 1]" in a rewrite, as it would stand in a match.
bool comparesAttribute(const ast::Expr& expr) {
    const ast::Expr& index = expr.args[1];
    return expr.args[0].kind == ExprKind::Node && index.kind == ExprKind::Binary &&
           index.text == "==" && index.args[0].kind == ExprKind::Lower;
}

Expression make(Expression::Kind kind, const ast::Expr& expr) {
    Expression out;
    out.kind = kind;
    out.span = expr.span;
    return out;
}

Expression numberOf(double value, const ast::Expr& expr) {
    Expression out = make(Expression::Kind::Number, expr);
    out.number = value;
    out.isInteger = true;
    return out;
}

} // namespace

Expression RuleCompiler::expression(const ast::Expr& expr, const Scope& scope) {
    if (++m_expressions > expressionLimit && !withinBudget(expr.span))
        return make(Expression::Kind::None, expr);
    Expression out;
    switch (expr.kind) {
    case ExprKind::Missing:
        return make(Expression::Kind::None, expr);
    case ExprKind::Number:
        out = make(Expression::Kind::Number, expr);
        out.number = expr.text == "inf" ? std::numeric_limits<double>::infinity() : expr.number;
        out.isInteger = expr.isInteger;
        return out;
    case ExprKind::Text:
        out = make(Expression::Kind::Text, expr);
        out.text = expr.text;
        return out;
    case ExprKind::Lower:
        return lower(expr, scope);
    case ExprKind::Upper:
        return upper(expr, scope);
    case ExprKind::ListOf:
        return listOf(expr, scope);
    case ExprKind::Call:
        return call(expr, scope);
    case ExprKind::Node:
        return builtNode(expr, scope, nullptr);
    case ExprKind::Chain:
        return builtChain(expr, scope);
    case ExprKind::List:
    case ExprKind::Set:
        out = make(Expression::Kind::List, expr);
        break;
    case ExprKind::Member:
        return member(expr, scope);
    case ExprKind::Index:
        if (comparesAttribute(expr)) {
            const std::string& name = expr.args[1].args[0].text;
            Diagnostic& d = error("E0101", expr.args[1].span, "expected `=`");
            d.found = "`==`";
            d.expected = "`" + name + " = ...`";
            d.fix = "write `=`: a rewrite gives attributes, a match tests them";
            return make(Expression::Kind::None, expr);
        }
        if (expr.args[0].kind == ExprKind::Node && expr.args[1].kind == ExprKind::Lower) {
            const std::string& name = expr.args[1].text;
            if (scope.find(&Scope::values, name)) {
                Diagnostic& d = error("E0101", expr.args[1].span, "expected `...`");
                d.found = "`" + name + "`, a value of the match";
                d.fix = "write `[..." + name + "]` to copy the attributes of its node";
                return make(Expression::Kind::None, expr);
            }
        }
        out = make(Expression::Kind::Index, expr);
        break;
    case ExprKind::Slice:
        out = make(Expression::Kind::Slice, expr);
        break;
    case ExprKind::Unary:
        out = make(Expression::Kind::Unary, expr);
        break;
    case ExprKind::Binary:
        out = make(Expression::Kind::Binary, expr);
        break;
    }
    out.text = expr.text;
    for (const ast::Expr& arg : expr.args)
        out.args.push_back(expression(arg, scope));
    if (expr.kind == ExprKind::Binary) {
        checkAxis(out);
        checkDivisor(out);
    }
    if (expr.kind == ExprKind::Index && out.args[1].kind == Expression::Kind::Text) {
        Diagnostic& d = error("E0219", expr.args[1].span, "a list has no element of that name");
        d.found = "a text";
        d.expected = "a number";
        d.fix = "count from 0: `[0]` is the first element, `[-1]` the last";
    }
    bool isNegative = expr.kind == ExprKind::Unary && expr.text == "-" &&
                      out.args[0].kind == Expression::Kind::Number;
    if (!isNegative)
        return out;
    Expression folded = std::move(out.args[0]);
    folded.number = -folded.number;
    return folded;
}

Expression RuleCompiler::lower(const ast::Expr& expr, const Scope& scope) {
    const std::string& name = expr.text;
    if (m_arguments)
        if (auto found = m_arguments->find(name); found != m_arguments->end())
            return found->second;
    if (name == "_" && m_hole) {
        ++m_holeUses;
        return *m_hole;
    }
    if (name == "none")
        return make(Expression::Kind::None, expr);
    if (name == "true" || name == "false")
        return numberOf(name == "true" ? 1 : 0, expr);
    if (const uint32_t* let = m_arguments ? nullptr : scope.find(&Scope::lets, name)) {
        Expression out = make(Expression::Kind::Let, expr);
        out.slot = *let;
        out.text = name;
        return out;
    }
    const Bound* bound = m_arguments ? nullptr : scope.find(&Scope::values, name);
    if (bound && bound->slot) {
        Expression out = make(Expression::Kind::Slot, expr);
        out.slot = *bound->slot;
        out.text = name;
        return out;
    }
    if (namesRoot(expr, scope)) {
        checkRoot(expr);
        return make(Expression::Kind::None, expr);
    }
    if (dtypeFromName(name)) {
        Expression out = make(Expression::Kind::Text, expr);
        out.text = name;
        return out;
    }
    if (m_known == Known::Gate && isKernelFigure(name)) {
        Expression out = make(Expression::Kind::Member, expr);
        out.text = name;
        out.args.push_back(make(Expression::Kind::Root, expr));
        out.args.back().text = "gain";
        return out;
    }
    unbound(expr, scope);
    return make(Expression::Kind::None, expr);
}

Expression RuleCompiler::upper(const ast::Expr& expr, const Scope& scope) {
    if (const uint32_t* dim = m_arguments ? nullptr : scope.find(&Scope::dims, expr.text)) {
        Expression out = make(Expression::Kind::Dim, expr);
        out.slot = *dim;
        out.text = expr.text;
        return out;
    }
    unbound(expr, scope);
    return make(Expression::Kind::None, expr);
}

void RuleCompiler::unbound(const ast::Expr& expr, const Scope& scope) {
    const std::string& name = expr.text;
    if (scope.find(&Scope::lists, name) || scope.find(&Scope::dimLists, name)) {
        Diagnostic& d = error("E0233", expr.span, "`" + name + "` is a list here");
        d.found = "a name that `many` collects";
        d.expected = "`" + name + "[]`";
        d.fix = "write `" + name + "[]`";
        return;
    }
    std::vector<std::string> known;
    bool isUpper = expr.kind == ExprKind::Upper;
    for (const Scope* at = &scope; at && !m_arguments; at = at->parent) {
        if (isUpper)
            for (auto& [dim, index] : at->dims)
                known.push_back(dim);
        else
            for (auto& [value, bound] : at->values)
                known.push_back(value);
    }
    if (m_arguments && !isUpper)
        for (auto& [parameter, value] : *m_arguments)
            known.push_back(parameter);
    std::string near = isUpper ? "" : rootMeant(name);
    if (near.empty())
        near = closest(name, known);
    Diagnostic& d =
        error("E0230", expr.span,
              "nothing is called `" + name + "`" + (m_arguments ? " in this function" : ""));
    const std::string where = m_isForm ? "the body" : "`match`";
    d.expected = (isUpper ? "a dimension variable of a type in " : "a name bound in ") + where;
    if (!isUpper && m_known != Known::Match)
        d.expected += m_known == Known::Gate ? ", or `gain`, `device` or `total`" : ", or `total`";
    d.fix = didYouMean(near,
                       m_isForm ? "read it in the body of the form, or leave it out"
                       : m_known == Known::Gate
                           ? "compare a figure, such as `gain.us > 0`, or bind the name in `match`"
                           : "bind it in `match` or with `let`");
    if (std::string instead = insteadOf(name); !instead.empty())
        d.fix = std::move(instead);
}

Expression RuleCompiler::listOf(const ast::Expr& expr, const Scope& scope) {
    if (auto* slot = scope.find(&Scope::lists, expr.text)) {
        Expression out = make(Expression::Kind::SlotList, expr);
        out.slot = *slot;
        out.text = expr.text;
        return out;
    }
    if (auto* dim = scope.find(&Scope::dimLists, expr.text)) {
        Expression out = make(Expression::Kind::DimList, expr);
        out.slot = *dim;
        out.text = expr.text;
        return out;
    }
    bool single = scope.find(&Scope::values, expr.text) || scope.find(&Scope::dims, expr.text);
    if (!single) {
        unbound(expr, scope);
    } else {
        Diagnostic& d = error("E0233", expr.span, "`" + expr.text + "` is no list");
        d.found = "a name that is bound once";
        d.expected = "a name bound inside of `many`";
        d.fix = "write `" + expr.text + "`";
    }
    return make(Expression::Kind::None, expr);
}

Expression RuleCompiler::call(const ast::Expr& expr, const Scope& scope) {
    const Names& names = *scope.names;
    if (auto own = names.functions.find(expr.text); own != names.functions.end())
        return callFunction(expr, *own->second, scope);
    Expression out = make(Expression::Kind::Call, expr);
    out.text = expr.text;
    for (const ast::Expr& arg : expr.args)
        out.args.push_back(expression(arg, scope));
    for (const ast::NamedExpr& named : expr.named)
        out.named.push_back({named.name.text, expression(named.value, scope)});

    const FunctionRow* row = findFunction(expr.text);
    if (!row) {
        std::vector<std::string> known;
        for (const FunctionRow& candidate : functionRows())
            known.emplace_back(candidate.name);
        for (auto& [name, function] : names.functions)
            known.push_back(name);
        Diagnostic& d = error("E0206", expr.span, "there is no function `" + expr.text + "`");
        d.expected = "one of " + listed(known, 40);
        d.fix = didYouMean(closest(expr.text, known), "write one of these, or define it with `fn`");
        return out;
    }
    size_t given = expr.args.size() + expr.named.size();
    bool fits = expr.args.size() <= static_cast<size_t>(row->maxArguments) &&
                given >= static_cast<size_t>(row->minArguments);
    if (!fits) {
        Diagnostic& d = error("E0207", expr.span, "wrong number of arguments");
        d.found = std::to_string(given);
        d.expected = "`" + std::string(row->signature) + "`";
        d.fix = "call it as `" + std::string(row->signature) + "`";
    }
    return out;
}

Expression RuleCompiler::callFunction(const ast::Expr& expr, const ast::Function& function,
                                      const Scope& scope) {
    for (const ast::Function* outer : m_functionStack)
        if (outer == &function) {
            Diagnostic& d = error("E0212", expr.span, "function `" + expr.text + "` calls itself");
            d.labels.push_back({function.name.span, "defined here"});
            d.fix = "write it without recursion";
            return make(Expression::Kind::None, expr);
        }
    if (expr.args.size() != function.parameters.size() || !expr.named.empty()) {
        Diagnostic& d = error("E0207", expr.span, "wrong number of arguments");
        d.found = std::to_string(expr.args.size() + expr.named.size());
        d.expected = std::to_string(function.parameters.size());
        d.labels.push_back({function.name.span, "defined here"});
        d.fix = "give one positional argument for each parameter";
        return make(Expression::Kind::None, expr);
    }
    std::map<std::string, Expression> arguments;
    for (size_t i = 0; i < expr.args.size(); ++i)
        arguments[function.parameters[i].text] = expression(expr.args[i], scope);

    Scope inner;
    inner.names = &m_library.namesOf(function.name.span.source);
    const auto* outerArguments = m_arguments;
    m_arguments = &arguments;
    m_functionStack.push_back(&function);
    Expression out = expression(function.body, inner);
    m_functionStack.pop_back();
    m_arguments = outerArguments;
    return out;
}

Expression RuleCompiler::builtNode(const ast::Expr& expr, const Scope& scope,
                                   const Expression* source) {
    Expression out = make(Expression::Kind::Node, expr);
    out.text = expr.text;
    if (!m_inRewrite) {
        Diagnostic& d = error("E0242", expr.span, "a node can only be built in `rewrite`");
        d.found = "`" + expr.text + "(...)`";
        d.fix = "move it into `rewrite { ... }`, or match it in `match`";
        return out;
    }
    const Expression* outerHole = m_hole;
    size_t outerUses = m_holeUses;
    m_hole = source;
    m_holeUses = 0;
    for (const ast::Expr& arg : expr.args)
        out.args.push_back(expression(arg, scope));
    if (source && m_holeUses == 0)
        out.args.insert(out.args.begin(), *source);
    if (m_holeUses > 1) {
        Diagnostic& d = error("E0241", expr.span, "`_` stands more than once in a step");
        d.fix = "name the value with an assignment of its own";
    }
    m_hole = outerHole;
    m_holeUses = outerUses;
    for (const ast::NamedExpr& named : expr.named)
        if (!named.isSpread())
            out.named.push_back({named.name.text, expression(named.value, scope)});

    Span name = expr.span;
    name.end = std::min(name.end, name.begin + static_cast<uint32_t>(expr.text.size()));
    const size_t before = m_diagnostics.all().size();
    const bool isClass = scope.names->classes.contains(expr.text);
    const auto meant =
        isClass ? std::nullopt : operatorsNamed({expr.text, name}, *scope.names, m_diagnostics);
    if (meant && !meant->ops.empty()) {
        out.op = meant->custom.empty() ? meant->ops[0] : Op::Unknown;
        out.custom = meant->custom.empty() ? nullptr : meant->custom[0];
        checkBuilt(expr, out.custom ? factsOf(*out.custom) : factsOf(out.op), out.args.size(),
                   !out.custom && specOf(out.op));
        copyAttributes(expr, out, scope);
        carryAttributes(out);
        if (const DeclaredOperator* declared = declaredBody(expr.text, scope))
            return writtenOutNode(expr, *declared, std::move(out));
        return out;
    }
    m_errors += m_diagnostics.all().size() > before ? 1 : 0;
    if (meant)
        return out;
    std::vector<std::string> known = operatorNames();
    known.insert(known.end(), publishedNames().begin(), publishedNames().end());
    Diagnostic& d = error("E0201", expr.span, "there is no operator `" + expr.text + "`");
    d.fix = operatorFix(expr.text, known,
                        m_isForm ? "write the name of an ONNX operator"
                                 : "write the name of an ONNX operator, or another one with its "
                                   "domain: `com.acme." +
                                       expr.text + "`");
    return out;
}

Expression RuleCompiler::builtChain(const ast::Expr& expr, const Scope& scope) {
    Expression current = expression(expr.args[0], scope);
    for (size_t i = 1; i < expr.args.size(); ++i) {
        const ast::Expr& step = expr.args[i];
        if (step.kind != ExprKind::Node && step.kind != ExprKind::Upper) {
            Diagnostic& d = error("E0241", step.span, "a step must be an operator");
            d.found = "`" + std::string(m_library.sources().text(step.span)) + "`";
            d.fix = "write `Op` or `Op(_, ...)[attribute = value]`";
            return current;
        }
        current = builtNode(step, scope, &current);
    }
    return current;
}

} // namespace fuselage::dsl
