// SPDX-License-Identifier: Apache-2.0
// Operators in rules against the op table: number and names of operands, names and types of
// attributes. Operators whose row says nothing yet are not checked.
#include "core/ops/op_table.h"
#include "dsl/compile_internal.h"
#include "dsl/suggest.h"

#include <algorithm>

namespace fuselage::dsl {

namespace {

std::vector<std::string> attributeNames(Op op) {
    std::vector<std::string> out;
    for (const AttributeSchema& schema : attributesOf(op))
        out.push_back(schema.name);
    return out;
}

std::string attributeFix(const std::string& near, const std::vector<Op>& ops) {
    if (!near.empty())
        return "did you mean `" + near + "`?";
    const bool some =
        std::any_of(ops.begin(), ops.end(), [](Op op) { return !attributesOf(op).empty(); });
    return some ? "write one of the attributes listed" : "leave it out: there is none to write";
}

/// Attributes and, since operators move parameters between the two, inputs.
std::vector<std::string> parameterNames(const std::vector<Op>& ops) {
    std::vector<std::string> out;
    for (Op op : ops) {
        std::vector<std::string> names = attributeNames(op);
        out.insert(out.end(), names.begin(), names.end());
        const std::vector<std::string>& inputs = inputNamesOf(op);
        out.insert(out.end(), inputs.begin(), inputs.end());
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

bool allKnown(const std::vector<Op>& ops) {
    return !ops.empty() && std::all_of(ops.begin(), ops.end(), hasSchema);
}

} // namespace

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
    const OpRow& row = rowOf(op);
    std::vector<std::string> names = attributeNames(op);
    return std::string(row.name) + " has " +
           (names.empty()
                ? "no attributes"
                : (names.size() == 1 ? "the attribute " : "the attributes ") + listed(names));
}

void RuleCompiler::checkNode(const ast::Term& term, const std::vector<Op>& ops, size_t operands,
                             bool open) {
    if (!allKnown(ops))
        return;
    const std::vector<std::string> parameters =
        term.tests.empty() ? std::vector<std::string>() : parameterNames(ops);
    auto knows = [&](const std::string& name) {
        return std::find(parameters.begin(), parameters.end(), name) != parameters.end();
    };
    for (const ast::Test& test : term.tests) {
        const std::string& name = test.attribute.text;
        if (!knows(name)) {
            std::string near = closest(name, parameters);
            Diagnostic& d = error("E0214", test.attribute.span,
                                  term.name.text + " has no attribute `" + name + "`");
            d.notes.push_back(schemaText(ops[0]));
            d.fix = attributeFix(near, ops);
            continue;
        }
        bool isSet = test.comparison == "in";
        const AttributeSchema* schema = ops.size() == 1 ? attributeNamed(ops[0], name) : nullptr;
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
    int most = 0;
    for (Op op : ops)
        most = std::max(most, rowOf(op).maxInputs);
    if (!open && most < variadic && operands > static_cast<size_t>(most)) {
        Diagnostic& d = error("E0205", term.span, term.name.text + " has fewer operands");
        bool readsChain = operands > term.args.size();
        d.found = std::to_string(term.args.size()) + " operands" +
                  (readsChain ? " and what stands before `->`" : "");
        d.expected = "at most " + std::to_string(most) + " (" + listed(inputNamesOf(ops[0])) + ")";
        d.fix = readsChain ? "put `_` where that value goes"
                           : "remove the operands behind `" + inputNamesOf(ops[0]).back() + "`";
    }
    for (const ast::Arg& arg : term.args) {
        if (!arg.name || std::any_of(ops.begin(), ops.end(),
                                     [&](Op op) { return isInputName(op, arg.name->text); }))
            continue;
        std::string near = closest(arg.name->text, inputNamesOf(ops[0]));
        Diagnostic& d = error("E0218", arg.name->span,
                              term.name.text + " has no input `" + arg.name->text + "`");
        d.expected = "one of " + listed(inputNamesOf(ops[0]));
        d.fix = near.empty() ? "write one of these names, or none" : "did you mean `" + near + "`?";
    }
}

void RuleCompiler::checkBuilt(const ast::Expr& expr, Op op, size_t operands) {
    if (!hasSchema(op))
        return;
    const OpRow& row = rowOf(op);
    bool fits = operands <= static_cast<size_t>(row.maxInputs) || row.maxInputs == variadic;
    if (!fits || operands < static_cast<size_t>(row.minInputs)) {
        Diagnostic& d = error("E0205", expr.span, "wrong number of operands for " + expr.text);
        d.found = std::to_string(operands);
        d.expected = std::to_string(row.minInputs) + " to " + std::to_string(row.maxInputs) + " (" +
                     listed(inputNamesOf(op)) + ")";
        d.fix = "give the operands that the operator has";
    }
    for (const ast::NamedExpr& named : expr.named) {
        if (named.isSpread())
            continue;
        const AttributeSchema* schema = attributeNamed(op, named.name.text);
        if (!schema && !isInputName(op, named.name.text)) {
            std::string near = closest(named.name.text, parameterNames({op}));
            Diagnostic& d = error("E0214", named.name.span,
                                  expr.text + " has no attribute `" + named.name.text + "`");
            d.notes.push_back(schemaText(op));
            d.fix = attributeFix(near, {op});
        } else if (schema) {
            std::string wrong = mismatch(named.value, schema->type);
            if (wrong.empty())
                continue;
            Diagnostic& d =
                error("E0219", named.value.span,
                      "`" + named.name.text + "` of " + expr.text + " has another type");
            d.found = wrong;
            d.expected = attributeTypeText(schema->type);
            d.fix = "write " + attributeTypeText(schema->type);
        }
    }
    for (const AttributeSchema& schema : attributesOf(op)) {
        bool given =
            std::any_of(expr.named.begin(), expr.named.end(), [&](const ast::NamedExpr& n) {
                return n.isSpread() || n.name.text == schema.name;
            });
        if (!schema.required || given || specOf(op))
            continue;
        Diagnostic& d =
            error("E0222", expr.span, expr.text + " needs the attribute `" + schema.name + "`");
        d.expected = attributeTypeText(schema.type);
        const std::string text = schema.name + (m_isForm ? " == ..." : " = ...");
        d.fix = expr.named.empty() ? "add `[" + text + "]`" : "add `, " + text + "` before its `]`";
    }
}

} // namespace fuselage::dsl
