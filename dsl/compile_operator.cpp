// SPDX-License-Identifier: Apache-2.0
// Operators that rules name and the op table lacks: the bodies of `op` items as rewrites, their
// attributes, `as`, and rules with those bodies written out.
#include "core/rewrite/members.h"
#include "dsl/compile_internal.h"
#include "dsl/operator_body.h"
#include "dsl/suggest.h"

#include <algorithm>
#include <functional>
#include <set>

namespace fuselage::dsl {

namespace {

using ExprKind = ast::Expr::Kind;

/// The literal as a value of that attribute type; none when it is none.
std::optional<AttributeValue> literalOf(const ast::Expr& value, const std::string& type) {
    const bool isMinus = value.kind == ExprKind::Unary && value.text == "-";
    const ast::Expr& literal = isMinus ? value.args[0] : value;
    if (literal.kind == ExprKind::Number &&
        (type == "float" || (type == "int" && literal.isInteger))) {
        const double number = isMinus ? -literal.number : literal.number;
        return type == "float" ? AttributeValue(number)
                               : AttributeValue(static_cast<int64_t>(number));
    }
    if (value.kind == ExprKind::Text && type == "string")
        return AttributeValue(value.text);
    if (value.kind != ExprKind::List || !type.ends_with('s'))
        return std::nullopt;
    std::vector<int64_t> ints;
    std::vector<double> floats;
    std::vector<std::string> strings;
    for (const ast::Expr& item : value.args) {
        std::optional<AttributeValue> one = literalOf(item, type.substr(0, type.size() - 1));
        if (!one)
            return std::nullopt;
        if (auto* number = std::get_if<int64_t>(&*one))
            ints.push_back(*number);
        else if (auto* real = std::get_if<double>(&*one))
            floats.push_back(*real);
        else
            strings.push_back(std::get<std::string>(*one));
    }
    if (type == "ints")
        return AttributeValue(std::move(ints));
    return type == "floats" ? AttributeValue(std::move(floats))
                            : AttributeValue(std::move(strings));
}

ast::Expr nameExpr(const ast::Name& name) {
    ast::Expr out;
    out.kind = ExprKind::Lower;
    out.text = name.text;
    out.span = name.span;
    return out;
}

ast::Chain chainOf(ast::Term term) {
    const Span span = term.span;
    return {{{std::move(term), {}, {}, span}}, span};
}

/// "qr, kr = com.acme.Rotary(q, k);", and `let alpha = qr.alpha;` for each attribute.
ast::Match headOf(const ast::Operator& item) {
    const ast::Pattern& pattern = item.pattern;
    ast::Term node;
    node.kind = ast::Term::Kind::Node;
    node.name = pattern.name;
    node.span = pattern.name.span;
    node.hasArguments = true;
    for (const ast::Parameter& parameter : pattern.parameters) {
        ast::Term value;
        value.kind = ast::Term::Kind::Value;
        value.name = parameter.name;
        value.span = parameter.name.span;
        node.args.push_back({{}, chainOf(std::move(value))});
    }
    ast::Match match;
    match.span = item.span;
    match.body.emplace_back(ast::Define{
        pattern.results, {{{{}, chainOf(std::move(node))}}, pattern.name.span}, item.span});
    for (const ast::OperatorAttribute& attribute : item.attributes) {
        ast::Expr value;
        value.kind = ExprKind::Member;
        value.text = attribute.name.text;
        value.span = attribute.name.span;
        value.args.push_back(nameExpr(pattern.results[0]));
        match.body.emplace_back(ast::Let{attribute.name, std::move(value), attribute.span});
    }
    return match;
}

/// The defaults that an `op` item states; reports those that are none.
std::map<std::string, AttributeValue> declaredDefaults(const ast::Operator& item,
                                                       Diagnostics& diagnostics) {
    std::map<std::string, AttributeValue> out;
    std::set<std::string> names;
    for (const auto* list : {&item.pattern.results})
        for (const ast::Name& name : *list)
            names.insert(name.text);
    for (const ast::Parameter& parameter : item.pattern.parameters)
        names.insert(parameter.name.text);
    if (names.size() < item.pattern.results.size() + item.pattern.parameters.size()) {
        Diagnostic& d = diagnostics.error("E0232", item.pattern.name.span,
                                          "an operand or result is named twice");
        d.fix = "give each a name of its own";
    }
    for (const ast::OperatorAttribute& attribute : item.attributes) {
        const std::string& name = attribute.name.text;
        if (!names.insert(name).second) {
            Diagnostic& d =
                diagnostics.error("E0232", attribute.name.span, "`" + name + "` is named twice");
            d.fix = "give the attribute another name";
        } else if (findMember(name)) {
            Diagnostic& d = diagnostics.error("E0223", attribute.name.span,
                                              "every value has a member `" + name + "`");
            d.found = "an attribute of that name";
            d.fix = "declare the attribute without a body's `" + name + "`, under another name";
        }
        if (!attribute.fallback)
            continue;
        if (auto value = literalOf(*attribute.fallback, attribute.type.text)) {
            out.emplace(name, std::move(*value));
            continue;
        }
        Diagnostic& d = diagnostics.error("E0223", attribute.fallback->span,
                                          "the default of `" + name + "` has another type");
        d.expected = "a literal of type " + attribute.type.text;
        d.fix = "write such a value, or leave the default out";
    }
    return out;
}

} // namespace

bool RuleCompiler::compile(const ast::Operator& item, Rule& out) {
    ast::Rule rule;
    rule.name = item.pattern.name;
    rule.documentation = item.documentation;
    rule.span = item.span;
    std::vector<ast::RewriteStatement> statements = buildingStatements(item, m_diagnostics);
    if (statements.empty())
        return false;
    m_body = &item;
    rule.clauses.emplace_back(headOf(item));
    rule.clauses.emplace_back(ast::Rewrite{std::move(statements), item.span});
    return compile(rule, out);
}

/// What a body makes besides its results has no place in the match.
void RuleCompiler::declareInner(const ast::Rewrite& rewrite) {
    for (const ast::RewriteStatement& statement : rewrite.body)
        if (auto* assign = std::get_if<ast::Assign>(&statement))
            for (const ast::Target& target : assign->targets)
                if (!m_top.values.contains(target.name.text))
                    m_top.values[target.name.text] = {freshSlot(target.name.text, target.name.span),
                                                      {}};
}

void RuleCompiler::clause(const ast::As& as) {
    const auto [domain, name] = splitOperator(as.name.text);
    if (m_rule->isRewrite || domain.empty()) {
        Diagnostic& d = error("E0226", as.span,
                              m_rule->isRewrite ? "a rewrite makes no fused node"
                                                : "`ai.onnx` has operators of its own");
        d.fix = m_rule->isRewrite
                    ? "build the operator in `rewrite`: `y = " + as.name.text + "(...)`"
                    : "write a domain of yours";
        return;
    }
    ExportAs out;
    out.span = as.span;
    const Names& names = *m_top.names;
    auto declared = names.operators.find(as.name.text);
    out.custom =
        declared != names.operators.end() ? declared->second.custom : publishedAs(domain, name);
    const std::optional<Op> row = operatorNamed(as.name.text);
    const OperatorFacts facts = row ? factsOf(*row) : factsOf(*out.custom);
    for (const ast::Name& operand : as.operands)
        if (auto slot = slotNamed(operand))
            out.operands.push_back(*slot);
    const bool haveLists =
        std::any_of(as.operands.begin(), as.operands.end(),
                    [&](const ast::Name& each) { return m_top.lists.contains(each.text); });
    if (!as.operands.empty() && !haveLists)
        checkCount(as.name.text, as.span, as.operands.size(), facts);
    for (const ast::NamedExpr& attribute : as.attributes) {
        if (facts.isKnown)
            checkGiven(attribute, facts);
        out.attributes.push_back({attribute.name.text, expression(attribute.value, m_top)});
    }
    if (facts.isKnown)
        checkRequired(as.name.text, as.name.span, as.attributes, facts);
    m_rule->exportAs = std::move(out);
}

const DeclaredOperator* RuleCompiler::declaredBody(const std::string& name,
                                                   const Scope& scope) const {
    if (!m_isWrittenOut)
        return nullptr;
    auto found = scope.names->operators.find(name);
    return found != scope.names->operators.end() && found->second.item->hasBody ? &found->second
                                                                                : nullptr;
}

/// Attributes in a body that is matched: what the reference tests for. One that the rule leaves
/// open has no value that the body could be written out with: such a rule is sampled.
void RuleCompiler::bindAttributes(const ast::Term& reference, const DeclaredOperator& declared,
                                  Scope& scope, Scope& inner) {
    for (const ast::OperatorAttribute& attribute : declared.item->attributes) {
        const ast::Expr* value = nullptr;
        for (const ast::Test& test : reference.tests)
            if (test.attribute.text == attribute.name.text && test.comparison == "==")
                value = &test.value;
        if (!value) {
            Diagnostic& d = error("E0222", reference.span,
                                  "the body of " + reference.name.text + " needs the attribute `" +
                                      attribute.name.text + "`");
            d.expected = "a value to write the body out with";
            const std::string given = attribute.name.text + " == ...";
            const bool isTested = std::any_of(
                reference.tests.begin(), reference.tests.end(),
                [&](const ast::Test& test) { return test.attribute.text == attribute.name.text; });
            d.fix = isTested ? "say its value, `" + given + "`, in place of a range"
                    : reference.tests.empty()
                        ? "test it: `" + reference.name.text + "(...)[" + given + "]`"
                        : "add `, " + given + "` before its `]`";
            continue;
        }
        Expression made = expression(*value, scope);
        inner.lets[attribute.name.text] = static_cast<uint32_t>(m_rule->lets.size());
        m_rule->lets.push_back({attribute.name.text, std::move(made)});
    }
}

/// What a rewrite builds, with the body of a declared operator in its place.
Expression RuleCompiler::writtenOutNode(const ast::Expr& expr, const DeclaredOperator& declared,
                                        Expression built) {
    m_namesBody = true;
    const ast::Operator& item = *declared.item;
    std::map<std::string, Expression> values;
    for (size_t i = 0; i < item.pattern.parameters.size() && i < built.args.size(); ++i)
        values[item.pattern.parameters[i].name.text] = built.args[i];
    Scope inner;
    inner.names = &m_library.namesOf(item.span.source);
    for (const ast::OperatorAttribute& attribute : item.attributes)
        if (attribute.fallback)
            values[attribute.name.text] = expression(*attribute.fallback, inner);
    for (const NamedExpression& given : built.named)
        values[given.name] = given.value;
    const auto* outerArguments = std::exchange(m_arguments, &values);
    const auto* outerHole = std::exchange(m_hole, nullptr);
    for (const ast::RewriteStatement& statement : buildingStatements(item, m_diagnostics)) {
        if (auto* let = std::get_if<ast::Let>(&statement)) {
            values[let->name.text] = expression(let->value, inner);
            continue;
        }
        const auto& assign = std::get<ast::Assign>(statement);
        if (assign.targets.size() != 1) // an expression is one value
            error("E0224", expr.span, "several outputs in a body that is written out");
        values[assign.targets[0].name.text] = expression(assign.value, inner);
    }
    m_arguments = outerArguments;
    m_hole = outerHole;
    if (item.pattern.results.size() == 1)
        return values[item.pattern.results[0].text];
    Expression all;
    all.kind = Expression::Kind::List;
    all.span = expr.span;
    for (const ast::Name& result : item.pattern.results)
        all.args.push_back(values[result.text]);
    return all;
}

bool RuleCompiler::compileWrittenOut(const ast::Rule& item, Rule& out) {
    m_isWrittenOut = true;
    return compile(item, out) && m_namesBody;
}

namespace {

/// Reports an operator whose body leads back to it.
bool containsItself(const Library& library, const ast::Operator& item, Diagnostics& diagnostics) {
    std::set<const ast::Operator*> seen;
    std::function<bool(const ast::Operator&)> reaches = [&](const ast::Operator& from) {
        const auto& known = library.namesOf(from.span.source).operators;
        bool isCircle = false;
        auto follow = [&](const std::string& name) {
            const auto next = known.find(name);
            if (next == known.end())
                return;
            isCircle = isCircle || next->second.item == &item ||
                       (seen.insert(next->second.item).second && reaches(*next->second.item));
        };
        for (const ast::Statement& statement : from.pattern.body)
            if (auto* define = std::get_if<ast::Define>(&statement))
                walkTerms(define->choice,
                          [&](const ast::Term& term, bool) { follow(term.name.text); });
        return isCircle;
    };
    if (!reaches(item))
        return false;
    Diagnostic& d = diagnostics.error("E0212", item.pattern.name.span,
                                      "operator `" + item.pattern.name.text + "` contains itself");
    d.fix = "write its body by other operators";
    return true;
}

/// A body matches its own operator, which owns it: it does not own that in turn.
void letGoOf(const CustomOperator& custom, Rule& body) {
    for (Term& term : body.terms)
        for (CustomOperatorPtr& each : term.custom)
            if (each.get() == &custom)
                each = CustomOperatorPtr(CustomOperatorPtr(), &custom);
}

} // namespace

void compileOperators(const Library& library, Diagnostics& diagnostics, PatternFacts& facts,
                      const Forms& forms, RuleSet& out) {
    for (const auto& parsed : library.files())
        for (const ast::Item& item : parsed->file.items) {
            auto* declared = std::get_if<ast::Operator>(&item);
            if (!declared || overlapsError(parsed->diagnostics, declared->span))
                continue;
            const auto& known = library.namesOf(parsed->file.source).operators;
            const auto found = known.find(declared->pattern.name.text);
            if (found == known.end() || found->second.item != declared)
                continue; // its name was taken
            CustomOperator& custom = *found->second.custom;
            for (auto& [name, value] : declaredDefaults(*declared, diagnostics))
                for (AttributeSchema& schema : custom.attributes)
                    if (schema.name == name)
                        schema.fallback = value;
            auto body = std::make_shared<Rule>();
            if (declared->hasBody && !containsItself(library, *declared, diagnostics) &&
                RuleCompiler(library, diagnostics, parsed->file, forms, facts)
                    .compile(*declared, *body)) {
                letGoOf(custom, *body);
                custom.body = std::move(body);
            }
            out.operators.push_back(found->second.custom);
        }
}

} // namespace fuselage::dsl
