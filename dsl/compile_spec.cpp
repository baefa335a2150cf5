// SPDX-License-Identifier: Apache-2.0
// `spec Op` becomes a choice of the operator and its forms, each written out like a pattern. In a
// rewrite that builds the operator again, its attributes come from whichever of them matched.
#include "core/onnx/operator_form.h"
#include "core/ops/op_schema.h"
#include "core/ops/op_table.h"
#include "dsl/body_pattern.h"
#include "dsl/compile_internal.h"
#include "dsl/lint_internal.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace fuselage::dsl {

namespace {

bool namesNothing(const ast::Expr& value) {
    bool plain = true;
    walkExpr(value, [&](const ast::Expr& inner) {
        plain =
            plain && inner.kind != ast::Expr::Kind::Lower && inner.kind != ast::Expr::Kind::Upper;
    });
    return plain;
}

const ast::NamedExpr* attributeOf(const ast::Form& form, const std::string& name) {
    for (const ast::NamedExpr& attribute : form.attributes)
        if (attribute.name.text == name)
            return &attribute;
    return nullptr;
}

/// Which operand of the operator an argument of the term is.
size_t operandOf(const Term& term, size_t argument, Op op) {
    const std::string& name = term.arguments[argument].name;
    const std::vector<std::string>& names = inputNamesOf(op);
    return name.empty()
               ? argument
               : static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::optional<TermId> argumentAt(const Term& term, Op op, size_t operand) {
    for (size_t i = 0; i < term.arguments.size(); ++i)
        if (operandOf(term, i, op) == operand)
            return term.arguments[i].term;
    return std::nullopt;
}

/// `Op(a, b)` rewritten to `Op(a, b)`; in either order where that is the same.
bool buildsItself(const Expression& value, const Rule& rule, const Term& self) {
    const bool isSameOperator =
        value.custom ? self.custom == std::vector{value.custom} : self.ops == std::vector{value.op};
    if (value.kind != Expression::Kind::Node || !isSameOperator ||
        value.args.size() != self.arguments.size())
        return false;
    auto isSame = [&](const Expression& built, const Argument& matched) {
        return built.kind == Expression::Kind::Slot && rule.term(matched.term).slot == built.slot;
    };
    const bool turns = hasTrait(value.op, Commutative) && value.args.size() == 2;
    return std::equal(value.args.begin(), value.args.end(), self.arguments.begin(), isSame) ||
           (turns && isSame(value.args[0], self.arguments[1]) &&
            isSame(value.args[1], self.arguments[0]));
}

} // namespace

/// What a form computes must pass the tests: an attribute that it does not state has its default.
/// One that the match would have to tell, such as an epsilon, passes no test.
bool RuleCompiler::passes(const ast::Form& form, Op op, const std::vector<AttributeTest>& tests,
                          const Scope& scope) {
    auto valueOf = [&](const std::string& name) {
        if (const ast::NamedExpr* stated = attributeOf(form, name))
            return namesNothing(stated->value) ? literalValue(expression(stated->value, scope))
                                               : Quantity::unknown("an inner value");
        for (const AttributeSchema& schema : attributesOf(op))
            if (schema.name == name && schema.fallback)
                return Quantity::attribute(*schema.fallback);
        return Quantity::unknown("no attribute");
    };
    return std::all_of(tests.begin(), tests.end(), [&](const AttributeTest& test) {
        return isLiteral(test.value) && compare(test.comparison, valueOf(test.name),
                                                literalValue(test.value)) == Truth::True;
    });
}

/// A form fits when it has a place for every argument that must be there, and none too many.
bool RuleCompiler::fits(const ast::Form& form, Op op, const Term& self) const {
    size_t operands = form.pattern.parameters.size();
    if (self.hasArguments && operands > self.arguments.size())
        return false;
    for (size_t i = 0; i < self.arguments.size(); ++i)
        if (operandOf(self, i, op) >= operands && !m_rule->term(self.arguments[i].term).mayBeAbsent)
            return false;
    return true;
}

TermId RuleCompiler::formTerm(const ast::Form& form, Op op, const Term& self, SpecUse& use) {
    const ast::Pattern& pattern = form.pattern;
    Scope inner;
    inner.names = &m_library.namesOf(form.span.source);
    inner.prefix = pattern.name.text + ".";
    for (size_t i = 0; i < pattern.parameters.size(); ++i) {
        const ast::Parameter& parameter = pattern.parameters[i];
        const NameUse& reads = useIn(pattern, parameter.name.text);
        std::optional<TermId> argument = argumentAt(self, op, i);
        const ast::TypeSpec* type = parameter.type ? &*parameter.type : nullptr;
        inner.values[parameter.name.text] =
            argument ? actual(*argument, parameter, reads, pattern)
                     : Bound{freshSlot(inner.prefix + parameter.name.text, parameter.name.span),
                             {},
                             type};
        if (type)
            declareDims(*type, inner);
    }
    TermId body = writtenOut(pattern, "form", self.span, inner).term;
    if (!use.itself)
        return body;
    SpecUse::Form taken{freshSlot(inner.prefix + "form", form.span), {}};
    for (const ast::NamedExpr& attribute : form.attributes)
        taken.attributes.emplace(attribute.name.text, expression(attribute.value, inner));
    use.forms.push_back(std::move(taken));
    return boundTerm({use.forms.back().slot, body}, self.span, self.text);
}

/// What resources/operators says that the operator stands for, of a call with these operands and
/// the attributes that the tests name; null where that depends on more.
const ast::Pattern* RuleCompiler::bodyPattern(const std::string& domain, const std::string& name,
                                              const Term& self) const {
    const bool byPosition =
        self.hasArguments &&
        std::all_of(self.arguments.begin(), self.arguments.end(), [&](const Argument& argument) {
            return argument.name.empty() && !m_rule->term(argument.term).rest;
        });
    const OpSchema* schema = publishedSchema(domain, name, INT64_MAX);
    if (!byPosition || !schema || !model_io::hasOperatorBody(domain, name))
        return nullptr;
    std::map<std::string, AttributeValue> given;
    for (const AttributeTest& test : self.tests) {
        const AttributeSchema* attribute = schema->attribute(test.name);
        if (!attribute || !isLiteral(test.value))
            return nullptr;
        const Quantity value = literalValue(test.value);
        const auto* word = value.as<std::string>();
        if (test.comparison != "==")
            continue;
        if (attribute->type == "int" && value.integerValue())
            given[test.name] = *value.integerValue();
        else if (attribute->type == "float" && value.number())
            given[test.name] = *value.number();
        else if (attribute->type == "string" && word)
            given[test.name] = *word;
        else
            return nullptr;
    }
    const auto form = model_io::operatorForm(domain, name, self.arguments.size(), given);
    const bool passes =
        form && std::all_of(self.tests.begin(), self.tests.end(), [&](const AttributeTest& test) {
            const auto decided = form->attributes.find(test.name);
            return decided != form->attributes.end() &&
                   compare(test.comparison, Quantity::attribute(decided->second),
                           literalValue(test.value)) == Truth::True;
        });
    const auto text = passes ? patternText(form->graph) : std::nullopt;
    const std::string called = (domain.empty() ? "" : domain + ".") + name;
    return text ? m_library.made("body of " + called, *text) : nullptr;
}

TermId RuleCompiler::bodyTerm(const ast::Pattern& body, const Term& self) {
    Scope inner;
    inner.names = &m_library.namesOf(body.name.span.source);
    inner.prefix = body.name.text + ".";
    for (size_t i = 0; i < body.parameters.size(); ++i) {
        const ast::Parameter& parameter = body.parameters[i];
        inner.values[parameter.name.text] =
            actual(self.arguments[i].term, parameter, useIn(body, parameter.name.text), body);
    }
    return writtenOut(body, "form", self.span, inner).term;
}

TermId RuleCompiler::spec(const ast::Term& term, Filler* filler, bool implied, Scope& scope) {
    SpecUse use;
    use.self = node(term, filler, implied, scope);
    m_rule->terms[use.self.index()].ofSpec = true;
    bool builtAgain = m_rule->isRewrite && m_patternStack.empty();
    if (builtAgain) {
        use.itself = freshSlot(term.name.text + ".itself", term.span);
        m_rule->terms[use.self.index()].slot = use.itself;
    }
    Term out = makeTerm(Term::Kind::Choice, term.span, term.name.text);
    out.alternatives.push_back({"", use.self, term.span});
    const Term self = m_rule->terms[use.self.index()]; // a copy: the table of terms grows
    for (Op op : self.ops) {
        auto known = m_forms.find(op);
        if (known == m_forms.end() || m_errors > 0)
            continue;
        for (const ast::Form* form : known->second)
            if (passes(*form, op, self.tests, scope) && fits(*form, op, self))
                out.alternatives.push_back({"", formTerm(*form, op, self, use), form->span});
    }
    // Behind the forms: what the loader writes out where no rule names the operator.
    auto addBody = [&](const std::string& domain, const std::string& name) {
        if (m_errors > 0)
            return;
        if (const ast::Pattern* body = bodyPattern(domain, name, self))
            out.alternatives.push_back({"", bodyTerm(*body, self), term.span});
    };
    for (Op op : self.ops)
        if (self.custom.empty() && !builtAgain)
            addBody(domainOf(op), nameOf(op));
    for (const CustomOperatorPtr& custom : self.custom)
        if (!custom->body)
            addBody(custom->domain, custom->name);
    if (const auto declared = scope.names->operators.find(term.name.text);
        declared != scope.names->operators.end() && declared->second.item->hasBody) {
        ast::Term plain = term; // the body is a form of its operator
        plain.prefix.clear();
        const bool outer = std::exchange(m_isWrittenOut, true);
        out.alternatives.push_back(
            {"", inlined(plain, declared->second.item->pattern, filler, implied, scope).term,
             term.span});
        m_isWrittenOut = outer;
    }
    use.choice = add(std::move(out));
    if (builtAgain)
        m_specs.push_back(use);
    return use.choice;
}

/// The one `spec` of an operator; null where there is none, or more.
const SpecUse* RuleCompiler::specOf(Op op) const {
    const SpecUse* use = nullptr;
    for (const SpecUse& each : m_specs) {
        if (m_rule->term(each.self).ops != std::vector{op})
            continue;
        if (use)
            return nullptr;
        use = &each;
    }
    return use;
}

/// The attributes that a rewrite leaves open are those of the one `spec` of that operator.
void RuleCompiler::carryAttributes(Expression& built) const {
    const SpecUse* use = specOf(built.op);
    if (!use)
        return;
    for (const AttributeSchema& schema : attributesOf(built.op)) {
        if (std::any_of(built.named.begin(), built.named.end(),
                        [&](const NamedExpression& it) { return it.name == schema.name; }))
            continue;
        Expression value;
        value.kind = Expression::Kind::Attribute;
        value.slot = *use->itself;
        value.text = schema.name;
        for (const SpecUse::Form& form : use->forms) {
            auto stated = form.attributes.find(schema.name);
            if (stated == form.attributes.end())
                continue;
            Expression where, either;
            where.kind = Expression::Kind::Where;
            where.slot = form.slot;
            where.args = {stated->second};
            either.kind = Expression::Kind::Binary;
            either.text = "??";
            either.args = {std::move(where), std::move(value)};
            value = std::move(either);
        }
        built.named.push_back({schema.name, std::move(value)});
    }
}

/// `match { y = spec Op(x); } rewrite { y = Op(x); }` is about the forms: the operator itself
/// would be replaced by itself, again and again.
void RuleCompiler::leaveItselfOut(const Assignment& assignment) {
    for (const SpecUse& use : m_specs) {
        const Term& self = m_rule->term(use.self);
        bool defined =
            std::any_of(m_rule->match.definitions.begin(), m_rule->match.definitions.end(),
                        [&](const Definition& it) {
                            return it.term == use.choice && it.slots == assignment.targets;
                        });
        if (!defined || !buildsItself(assignment.value, *m_rule, self))
            continue;
        std::vector<Term::Alternative>& ways = m_rule->terms[use.choice.index()].alternatives;
        ways.erase(ways.begin());
        if (!ways.empty())
            continue;
        Diagnostic& d = error("E0247", assignment.span,
                              "the operator replaces itself: no form of " + self.text + " is left");
        d.fix = "write a `form` of it, or drop the tests on the `spec`";
    }
}

/// A form says how an operator is written by others: the operator alone, as its head has it, is no
/// other way to write it.
void RuleCompiler::refuseItself(const ast::Form& form) {
    const Assignment& assignment = m_rule->rewrite.front();
    auto check = [&](TermId id) {
        const Term& term = m_rule->term(id);
        if (term.kind != Term::Kind::Node || !buildsItself(assignment.value, *m_rule, term) ||
            !passes(form, assignment.value.op, term.tests, m_top))
            return;
        Diagnostic& d = error("E0247", term.span,
                              "this is " + term.text + " itself, not another way to write it");
        d.fix = "write it by other operators, or delete the form";
    };
    for (const Definition& definition : m_rule->match.definitions) {
        if (definition.slots != assignment.targets)
            continue;
        check(definition.term);
        for (const Term::Alternative& each : m_rule->term(definition.term).alternatives)
            check(each.term);
    }
}

/// A form is a rewrite rule in its own right, from its body to its operator: so it is checked and
/// so it is proven.
bool RuleCompiler::compile(const ast::Form& form, Rule& out) {
    const ast::Pattern& pattern = form.pattern;
    if (pattern.results.empty()) {
        m_rule = &out;
        Diagnostic& d =
            error("E0247", pattern.name.span,
                  "form `" + pattern.name.text + "` does not say what its operator computes");
        d.fix = "define a value with a statement, `y = ...;`";
        return false;
    }
    ast::Rule rule;
    rule.name = pattern.name;
    rule.documentation = form.documentation;
    rule.span = form.span;
    ast::Match match{pattern.body, form.span};
    ast::Expr built;
    built.kind = ast::Expr::Kind::Node;
    built.text = pattern.name.text;
    built.named = form.attributes;
    built.span = pattern.name.span;
    for (const ast::Parameter& parameter : pattern.parameters) {
        ast::Expr& operand = built.args.emplace_back();
        operand.kind = ast::Expr::Kind::Lower;
        operand.text = parameter.name.text;
        operand.span = parameter.name.span;
        ast::Term value;
        value.kind = ast::Term::Kind::Value;
        value.name = parameter.name;
        value.type = parameter.type;
        value.span = parameter.name.span;
        ast::Chain chain{{{value, {}, {}, value.span}}, value.span};
        if (value.type)
            match.body.emplace_back(
                ast::Define{{}, {{{{}, std::move(chain)}}, value.span}, value.span});
    }
    ast::Assign assign{{{pattern.results[0], false}}, std::move(built), form.span};
    rule.clauses.emplace_back(std::move(match));
    rule.clauses.emplace_back(ast::Rewrite{{std::move(assign)}, form.span});
    m_isForm = true;
    bool isGood = compile(rule, out);
    if (isGood)
        refuseItself(form);
    out.name = "form " + out.name;
    out.minOpset = out.maxOpset = 0;
    if (auto op = operatorNamed(pattern.name.text); op && *rowOf(*op).domain == '\0')
        out.minOpset = rowOf(*op).since;
    if (isGood && !isSimple(pattern, 0)) {
        Diagnostic& d =
            error("E0245", pattern.name.span,
                  "a statement of a form defines one value, and reads others behind no `->`");
        d.fix = "write steps inside of each other: `Sqrt(Add(x, m))`";
    }
    for (const ast::Statement& statement : pattern.body)
        if (std::holds_alternative<ast::Many>(statement)) {
            Diagnostic& d = error("E0243", ast::spanOf(statement), "`many` stands in a form");
            d.expected = "`many` directly in the `match` of a rule";
            d.fix = "move it into a rule";
        }
    return m_errors == 0;
}

} // namespace fuselage::dsl
