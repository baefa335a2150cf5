// SPDX-License-Identifier: Apache-2.0
// Canonical text of expressions, with as few parentheses as the grammar allows.
#include "dsl/print_internal.h"

namespace fuselage::dsl {

namespace {

using ExprKind = ast::Expr::Kind;

enum Strength { Arrow, Or, And, Not, Compare, Coalesce, Sum, Product, Negation, Postfix };

Strength strengthOf(const ast::Expr& expr) {
    if (expr.kind == ExprKind::Chain)
        return Arrow;
    if (expr.kind == ExprKind::Unary)
        return expr.text == "not" ? Not : Negation;
    if (expr.kind != ExprKind::Binary)
        return Postfix;
    const std::string& mark = expr.text;
    if (mark == "or")
        return Or;
    if (mark == "and")
        return And;
    if (mark == "??")
        return Coalesce;
    if (mark == "+" || mark == "-")
        return Sum;
    return mark == "*" || mark == "/" || mark == "%" ? Product : Compare;
}

std::string operand(const ast::Expr& expr, Strength needed) {
    return strengthOf(expr) < needed ? "(" + print(expr) + ")" : print(expr);
}

std::string list(const std::vector<ast::Expr>& items) {
    std::string out;
    for (const ast::Expr& item : items)
        appendItem(out, ", ", print(item));
    return out;
}

std::string namedList(const std::vector<ast::NamedExpr>& items) {
    std::string out;
    for (const ast::NamedExpr& item : items)
        appendItem(out, ", ", item.name.text + (item.isSpread() ? "" : " = ") + print(item.value));
    return out;
}

std::string call(const ast::Expr& expr) {
    std::string arguments = list(expr.args);
    if (!expr.named.empty())
        appendItem(arguments, ", ", namedList(expr.named));
    return expr.text + "(" + arguments + ")";
}

std::string node(const ast::Expr& expr) {
    std::string out = expr.text;
    if (!expr.args.empty() || expr.named.empty())
        out += "(" + list(expr.args) + ")";
    return expr.named.empty() ? out : out + "[" + namedList(expr.named) + "]";
}

} // namespace

void appendItem(std::string& out, const char* separator, const std::string& item) {
    if (!out.empty())
        out += separator;
    out += item;
}

std::string quotedText(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + "\"";
}

std::string print(const ast::Expr& expr) {
    switch (expr.kind) {
    case ExprKind::Missing:
        return "none";
    case ExprKind::Number:
    case ExprKind::Lower:
    case ExprKind::Upper:
        return expr.text;
    case ExprKind::Text:
        return quotedText(expr.text);
    case ExprKind::ListOf:
        return expr.text + "[]";
    case ExprKind::List:
        return "[" + list(expr.args) + "]";
    case ExprKind::Set:
        return "{" + list(expr.args) + "}";
    case ExprKind::Member:
        return operand(expr.args[0], Postfix) + "." + expr.text;
    case ExprKind::Index:
        return operand(expr.args[0], Postfix) + "[" + print(expr.args[1]) + "]";
    case ExprKind::Slice: {
        auto end = [](const ast::Expr& it) {
            return it.kind == ExprKind::Missing ? std::string() : print(it);
        };
        return operand(expr.args[0], Postfix) + "[" + end(expr.args[1]) + ":" + end(expr.args[2]) +
               "]";
    }
    case ExprKind::Call:
        return call(expr);
    case ExprKind::Node:
        return node(expr);
    case ExprKind::Unary:
        return expr.text == "not" ? "not " + operand(expr.args[0], Compare)
                                  : "-" + operand(expr.args[0], Postfix);
    case ExprKind::Binary: {
        Strength strength = strengthOf(expr);
        return operand(expr.args[0], strength) + " " + expr.text + " " +
               operand(expr.args[1], static_cast<Strength>(strength + 1));
    }
    case ExprKind::Chain:
        break;
    }
    std::string out;
    for (const ast::Expr& step : expr.args)
        appendItem(out, " -> ", operand(step, Or));
    return out;
}

} // namespace fuselage::dsl
