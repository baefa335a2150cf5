// SPDX-License-Identifier: Apache-2.0
// What stands behind a dot, against the tables of core/rewrite/members: members of values, and of
// roots, which only some clauses know.
#include "core/rewrite/members.h"
#include "dsl/compile_internal.h"
#include "dsl/suggest.h"

#include <algorithm>

namespace fuselage::dsl {

namespace {

std::vector<std::string> membersOfRoot(const std::string& root) {
    std::vector<std::string> out;
    for (const RootRow& row : rootRows())
        if (root == row.root)
            out.emplace_back(row.name);
    return out;
}

} // namespace

std::vector<std::string> membersOfValues() {
    std::vector<std::string> out;
    for (const MemberRow& row : memberRows())
        out.emplace_back(row.name);
    return out;
}

bool RuleCompiler::namesRoot(const ast::Expr& expr, const Scope& scope) const {
    if (expr.kind != ast::Expr::Kind::Lower || !isRoot(expr.text))
        return false;
    if (m_arguments)
        return m_arguments->count(expr.text) == 0;
    const Bound* bound = scope.find(&Scope::values, expr.text);
    return !scope.find(&Scope::lets, expr.text) && !(bound && bound->slot);
}

/// Whether the clause that is compiled knows what the root stands for.
bool RuleCompiler::knowsRoot(std::string_view root) const {
    return isRoot(root) &&
           (m_known == Known::Gate || (m_known == Known::Escape && root == "total"));
}

/// The root, or member of one, that a name which nothing binds is meant for; empty when none is
/// near.
std::string RuleCompiler::rootMeant(const std::string& name) const {
    std::vector<std::string> roots;
    for (const RootRow& row : rootRows()) {
        if (!knowsRoot(row.root))
            continue;
        if (name == row.name)
            return std::string(row.root) + "." + row.name;
        roots.emplace_back(row.root);
    }
    return closest(name, roots);
}

Expression RuleCompiler::member(const ast::Expr& expr, const Scope& scope) {
    Expression out;
    out.kind = Expression::Kind::Member;
    out.span = expr.span;
    out.text = expr.text;
    const ast::Expr& object = expr.args[0];
    if (!namesRoot(object, scope)) {
        out.args.push_back(expression(object, scope));
        const Expression& of = out.args[0];
        bool ofNode = of.kind == Expression::Kind::Slot || of.kind == Expression::Kind::SlotList;
        if (ofNode && !findMember(expr.text))
            return parameter(expr, of);
        checkMember(expr, of);
        return out;
    }
    checkRoot(expr);
    Expression root;
    root.kind = Expression::Kind::Root;
    root.span = object.span;
    root.text = object.text;
    out.args.push_back(std::move(root));
    return out;
}

/// `gain.us`, or a root that stands alone.
void RuleCompiler::checkRoot(const ast::Expr& expr) {
    bool isAlone = expr.kind == ast::Expr::Kind::Lower;
    const std::string& root = isAlone ? expr.text : expr.args[0].text;
    std::vector<std::string> known = membersOfRoot(root);
    bool isTotal = root == "total";
    if (isAlone) {
        Diagnostic& d = error("E0234", expr.span, "`" + root + "` alone is no value");
        d.expected = "one of its members: " + listed(known, 20);
        d.fix = "write `" + root + "." + known.front() + "`";
    } else if (!findRoot(root, expr.text)) {
        Diagnostic& d = error("E0234", ast::spanOfMember(expr),
                              "`" + root + "` has no member `" + expr.text + "`");
        d.expected = "one of " + listed(known, 20);
        d.fix = didYouMean(closest(expr.text, known), "write one of these");
    } else if (!knowsRoot(root)) {
        Diagnostic& d =
            error("E0234", expr.span,
                  "`" + root + "` is known in `gate`" +
                      (isTotal ? " and in the condition of an `escape`" : "") + ", not here");
        d.fix = "write `gate " + root + "." + expr.text + " ...;`";
    }
}

void RuleCompiler::checkMember(const ast::Expr& expr, const Expression& object) {
    using Kind = Expression::Kind;
    const std::string& name = expr.text;
    const ast::Expr& before = expr.args[0];
    const bool isNone = before.kind == ast::Expr::Kind::Lower && before.text == "none";
    if (object.kind == Kind::None && !isNone)
        return; // an error that is told already
    bool isPlain = isNone || object.kind == Kind::Number || object.kind == Kind::Text ||
                   object.kind == Kind::Dim || object.kind == Kind::DimList;
    if (findMember(name) && !isPlain)
        return;
    Diagnostic& d =
        error("E0234", ast::spanOfMember(expr),
              isPlain ? "only values have members" : "no value has a member `" + name + "`");
    d.expected = "one of " + listed(membersOfValues(), 20) + ", of a value of `match`";
    d.fix = isPlain ? "name a value of `match` before the dot"
                    : didYouMean(closest(name, membersOfValues()),
                                 "write one of these; attributes stand behind the name of a node, "
                                 "`c.axis`");
}

} // namespace fuselage::dsl
