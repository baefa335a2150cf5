// SPDX-License-Identifier: Apache-2.0
// Operators in rules against the op table: number and names of operands, names and types of
// attributes. Operators whose row says nothing yet are not checked.
#include "core/ops/op_table.h"
#include "dsl/compile_internal.h"
#include "dsl/names_elsewhere.h"
#include "dsl/suggest.h"

#include <algorithm>

namespace fuselage::dsl {

namespace {

std::string attributeFix(const std::string& near, bool hasSome) {
    return didYouMean(near, hasSome ? "write one of the attributes listed"
                                    : "leave it out: there is none to write");
}

/// Attributes and, since operators move parameters between the two, inputs.
std::vector<std::string> parameterNames(const std::vector<OperatorFacts>& all) {
    std::vector<std::string> out;
    for (const OperatorFacts& facts : all) {
        for (const AttributeSchema& schema : facts.attributes)
            out.push_back(schema.name);
        out.insert(out.end(), facts.inputs.begin(), facts.inputs.end());
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

bool isList(const std::string& type) {
    return type == "ints" || type == "floats" || type == "strings";
}

/// Why a literal cannot be a value of that attribute type; empty when it can, or is no literal.
std::string mismatch(const ast::Expr& value, const std::string& type) {
    using Kind = ast::Expr::Kind;
    bool isNumber = value.kind == Kind::Number || (value.kind == Kind::Unary && value.text == "-" &&
                                                   value.args[0].kind == Kind::Number);
    bool isWhole =
        value.kind == Kind::Number ? value.isInteger : isNumber && value.args[0].isInteger;
    if (value.kind == Kind::List)
        return isList(type) ? "" : "a list";
    if (value.kind == Kind::Text)
        return type == "string" ? "" : "a string";
    if (!isNumber)
        return "";
    if (type == "int" && !isWhole)
        return "a number that is not whole";
    return type == "int" || type == "float" ? "" : "a number";
}

std::string attributeTypeText(const std::string& type) {
    if (type == "ints")
        return "a list of integers, `[1, 1]`";
    if (type == "floats")
        return "a list of numbers, `[0.5, 1]`";
    if (type == "strings")
        return "a list of strings";
    if (type == "string")
        return "a string in quotes";
    return type == "int" ? "an integer" : type == "float" ? "a number" : "a " + type;
}

std::vector<OperatorFacts> factsOf(const OperatorSet& ops) {
    std::vector<OperatorFacts> out;
    for (Op op : ops.ops)
        if (op != Op::Unknown && op != Op::Fused)
            out.push_back(dsl::factsOf(op));
    for (const CustomOperatorPtr& custom : ops.custom)
        out.push_back(dsl::factsOf(*custom));
    return out;
}

} // namespace

const AttributeSchema* OperatorFacts::attribute(const std::string& wanted) const {
    for (const AttributeSchema& schema : attributes)
        if (schema.name == wanted)
            return &schema;
    return nullptr;
}

bool OperatorFacts::hasInput(const std::string& wanted) const {
    return std::find(inputs.begin(), inputs.end(), wanted) != inputs.end();
}

std::string OperatorFacts::attributesText() const {
    std::vector<std::string> names;
    for (const AttributeSchema& schema : attributes)
        names.push_back(schema.name);
    return name + " has " +
           (names.empty()
                ? "no attributes"
                : (names.size() == 1 ? "the attribute " : "the attributes ") + listed(names));
}

OperatorFacts factsOf(Op op) {
    const OpRow& row = rowOf(op);
    return {row.name,
            hasSchema(op),
            inputNamesOf(op),
            static_cast<size_t>(row.minInputs),
            row.maxInputs == variadic ? SIZE_MAX : static_cast<size_t>(row.maxInputs),
            row.maxOutputs == variadic ? SIZE_MAX : static_cast<size_t>(row.maxOutputs),
            attributesOf(op),
            false};
}

OperatorFacts factsOf(const CustomOperator& custom) {
    return {custom.text(),    custom.isKnown,    custom.inputs,     custom.minInputs,
            custom.maxInputs, custom.maxOutputs, custom.attributes, true};
}

const AttributeSchema* attributeNamed(Op op, const std::string& name) {
    for (const AttributeSchema& schema : attributesOf(op))
        if (schema.name == name)
            return &schema;
    return nullptr;
}

bool isInputName(Op op, const std::string& name) {
    const std::vector<std::string>& names = inputNamesOf(op);
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string schemaText(Op op) {
    return factsOf(op).attributesText();
}

void RuleCompiler::checkNode(const ast::Term& term, const OperatorSet& ops, size_t operands,
                             bool open) {
    const std::vector<OperatorFacts> all = factsOf(ops);
    if (all.empty() || !std::all_of(all.begin(), all.end(),
                                    [](const OperatorFacts& facts) { return facts.isKnown; }))
        return;
    const OperatorFacts& first = all[0];
    const std::vector<std::string> parameters =
        term.tests.empty() ? std::vector<std::string>() : parameterNames(all);
    auto knows = [&](const std::string& name) {
        return std::find(parameters.begin(), parameters.end(), name) != parameters.end();
    };
    for (const ast::Test& test : term.tests) {
        const std::string& name = test.attribute.text;
        if (!knows(name)) {
            Diagnostic& d = error("E0214", test.attribute.span,
                                  term.name.text + " has no attribute `" + name + "`");
            d.notes.push_back(first.attributesText());
            const bool hasSome = std::any_of(all.begin(), all.end(), [](const auto& facts) {
                return !facts.attributes.empty();
            });
            d.fix = attributeFix(attributeMeant(name, parameters), hasSome);
            continue;
        }
        bool isSet = test.comparison == "in";
        const AttributeSchema* schema = all.size() == 1 ? first.attribute(name) : nullptr;
        std::string wrong;
        std::string wanted = schema ? attributeTypeText(schema->type) : "";
        if (isSet && test.value.kind == ast::Expr::Kind::Number) {
            wrong = "a number";
            wanted = "a set, `{0, 1}`";
        } else if (schema && !isSet) {
            wrong = mismatch(test.value, schema->type);
        }
        if (!wrong.empty()) {
            Diagnostic& d = error("E0219", test.value.span,
                                  "`" + name + "` of " + term.name.text + " has another type");
            d.found = wrong;
            d.expected = wanted;
            d.fix = "compare with " + wanted;
        }
    }
    size_t most = 0;
    for (const OperatorFacts& facts : all)
        most = std::max(most, facts.maxInputs);
    if (!open && operands > most) {
        Diagnostic& d = error("E0205", term.span, term.name.text + " has fewer operands");
        bool readsChain = operands > term.args.size();
        d.found = std::to_string(term.args.size()) + " operands" +
                  (readsChain ? " and what stands before `->`" : "");
        d.expected = "at most " + std::to_string(most) +
                     (first.inputs.empty() ? "" : " (" + listed(first.inputs) + ")");
        d.fix = readsChain             ? "put `_` where that value goes"
                : first.inputs.empty() ? "remove the operands"
                                       : "remove the operands behind `" + first.inputs.back() + "`";
    }
    for (const ast::Arg& arg : term.args) {
        if (!arg.name || std::any_of(all.begin(), all.end(), [&](const OperatorFacts& facts) {
                return facts.hasInput(arg.name->text);
            }))
            continue;
        Diagnostic& d = error("E0218", arg.name->span,
                              term.name.text + " has no input `" + arg.name->text + "`");
        d.expected = "one of " + listed(first.inputs);
        d.fix = didYouMean(attributeMeant(arg.name->text, first.inputs),
                           "write one of these names, or none");
    }
}

void RuleCompiler::checkGiven(const ast::NamedExpr& named, const OperatorFacts& facts) {
    const AttributeSchema* schema = facts.attribute(named.name.text);
    if (!schema && (facts.isCustom || !facts.hasInput(named.name.text))) {
        Diagnostic& d = error("E0214", named.name.span,
                              facts.name + " has no attribute `" + named.name.text + "`");
        d.notes.push_back(facts.attributesText());
        d.fix = attributeFix(attributeMeant(named.name.text, parameterNames({facts})),
                             !facts.attributes.empty());
    } else if (schema) {
        std::string wrong = mismatch(named.value, schema->type);
        if (wrong.empty())
            return;
        Diagnostic& d = error("E0219", named.value.span,
                              "`" + named.name.text + "` of " + facts.name + " has another type");
        d.found = wrong;
        d.expected = attributeTypeText(schema->type);
        d.fix = "write " + attributeTypeText(schema->type);
    }
}

void RuleCompiler::checkCount(const std::string& name, const Span& span, size_t operands,
                              const OperatorFacts& facts) {
    if (!facts.isKnown || (operands <= facts.maxInputs && operands >= facts.minInputs))
        return;
    Diagnostic& d = error("E0205", span, "wrong number of operands for " + name);
    d.found = std::to_string(operands);
    const std::string most = facts.maxInputs == SIZE_MAX ? " or more"
                             : facts.maxInputs == facts.minInputs
                                 ? ""
                                 : " to " + std::to_string(facts.maxInputs);
    d.expected = std::to_string(facts.minInputs) + most + " (" + listed(facts.inputs) + ")";
    d.fix = "give the operands that the operator has";
}

void RuleCompiler::checkBuilt(const ast::Expr& expr, const OperatorFacts& facts, size_t operands,
                              bool mayCarry) {
    if (!facts.isKnown)
        return;
    checkCount(expr.text, expr.span, operands, facts);
    for (const ast::NamedExpr& named : expr.named)
        if (!named.isSpread())
            checkGiven(named, facts);
    if (!mayCarry)
        checkRequired(expr.text, expr.span, expr.named, facts);
}

void RuleCompiler::checkRequired(const std::string& op, const Span& span,
                                 const std::vector<ast::NamedExpr>& named,
                                 const OperatorFacts& facts) {
    for (const AttributeSchema& schema : facts.attributes) {
        const bool given = std::any_of(named.begin(), named.end(), [&](const ast::NamedExpr& n) {
            return n.isSpread() || n.name.text == schema.name;
        });
        if (!schema.required || given)
            continue;
        Diagnostic& d = error("E0222", span, op + " needs the attribute `" + schema.name + "`");
        d.expected = attributeTypeText(schema.type);
        const std::string text = schema.name + (m_isForm ? " == ..." : " = ...");
        d.fix = named.empty() ? "add `[" + text + "]`" : "add `, " + text + "` before its `]`";
    }
}

} // namespace fuselage::dsl
