// SPDX-License-Identifier: Apache-2.0
// E0220: operators that a rule asks for in a form that their schema does not allow, so that no
// valid graph holds them. A class is at fault only when all of its operators are.
#include "core/ops/op_schema.h"
#include "core/ops/op_table.h"
#include "core/ops/schema_facts.h"
#include "dsl/lint.h"
#include "dsl/resolve.h"
#include "dsl/suggest.h"

#include <algorithm>

namespace fuselage::dsl {

namespace {

/// What is wrong with one operator of a term; empty message: nothing.
struct Impossible {
    Span span;
    std::string message;
    std::string found;
    std::string expected;
    std::string fix;
};

/// Shapes, axes, indices: what a pattern may leave to a constant.
bool areIntegers(ElementTypes types) {
    return (types.allows(DType::Int64) || types.allows(DType::Int32)) &&
           !types.allows(DType::Float32);
}

/// False: a list of numbers that are not 0, 1, ... in some order.
bool mayBeOrder(const Expression& value) {
    std::vector<double> numbers;
    for (const Expression& item : value.args)
        if (item.kind == Expression::Kind::Number)
            numbers.push_back(item.number);
    if (value.kind != Expression::Kind::List || numbers.size() != value.args.size())
        return true;
    std::sort(numbers.begin(), numbers.end());
    for (size_t i = 0; i < numbers.size(); ++i)
        if (numbers[i] != static_cast<double>(i))
            return false;
    return true;
}

class SchemaLint {
public:
    SchemaLint(const Rule& rule, Diagnostics& out) : m_rule(rule), m_out(out) {}

    void run() {
        for (const Term& term : m_rule.terms)
            if (term.kind == Term::Kind::Node && !term.ops.empty())
                checkTerm(term);
    }

private:
    using Check = Impossible (SchemaLint::*)(const Term&, Op) const;

    void checkTerm(const Term& term) {
        if (!std::all_of(term.ops.begin(), term.ops.end(), hasSchema))
            return;
        for (Check check : {&SchemaLint::opset, &SchemaLint::arity, &SchemaLint::elements})
            reportIfAll(term, [&](Op op) { return (this->*check)(term, op); });
        for (const AttributeTest& test : term.tests)
            reportIfAll(term, [&](Op op) { return valueOf(test, op); });
    }

    template <typename F> void reportIfAll(const Term& term, F problemOf) {
        Impossible first = problemOf(term.ops[0]);
        bool all = std::all_of(term.ops.begin(), term.ops.end(),
                               [&](Op op) { return !problemOf(op).message.empty(); });
        if (!all)
            return;
        Diagnostic& d = m_out.error("E0220", first.span, std::move(first.message));
        d.found = std::move(first.found);
        d.expected = std::move(first.expected);
        d.fix = std::move(first.fix);
    }

    Impossible opset(const Term& term, Op op) const {
        const OpRow& row = rowOf(op);
        bool tooOld = *row.domain == '\0' && m_rule.maxOpset > 0 && row.since >= m_rule.maxOpset;
        if (!tooOld || term.ofSpec)
            return {};
        return {term.span, std::string("no graph that this rule applies to has ") + row.name,
                "opset below " + std::to_string(m_rule.maxOpset),
                "opset " + std::to_string(row.since) + " or newer, which brought it",
                "write `opset >= " + std::to_string(row.since) + ";` above the rule"};
    }

    size_t positionOf(const Argument& argument, size_t index, Op op) const {
        const std::vector<std::string>& names = inputNamesOf(op);
        if (argument.name.empty())
            return index;
        return static_cast<size_t>(std::find(names.begin(), names.end(), argument.name) -
                                   names.begin());
    }

    /// Operands that are not written must be absent, or constants. Of those that hold data nobody
    /// means that: `MatMul(a)` would want a B of constant integers.
    Impossible arity(const Term& term, Op op) const {
        const OpRow& row = rowOf(op);
        if (!term.hasArguments || term.ofSpec || term.order == OperandOrder::Flat)
            return {};
        std::vector<bool> given(static_cast<size_t>(row.minInputs), false);
        auto give = [&](size_t position) {
            if (position < given.size())
                given[position] = true;
        };
        for (size_t i = 0; i < term.arguments.size(); ++i) {
            const Term& argument = m_rule.term(term.arguments[i].term);
            if (argument.kind == Term::Kind::Value && argument.rest)
                return {};
            give(positionOf(term.arguments[i], i, op));
        }
        for (const AttributeTest& test : term.tests)
            give(positionOf({test.name, {}}, 0, op));
        for (size_t i = 0; i < given.size(); ++i) {
            if (given[i] || areIntegers(inputTypesOf(op, i)))
                continue;
            std::string name = i < inputNamesOf(op).size() ? inputNamesOf(op)[i] : "";
            return {term.span, std::string(row.name) + " always has the operand `" + name + "`",
                    std::to_string(term.arguments.size()),
                    std::to_string(row.minInputs) + " (" + listed(inputNamesOf(op)) + ")",
                    "name it too, or leave `(...)` out"};
        }
        return {};
    }

    Impossible elements(const Term& term, Op op) const {
        for (size_t i = 0; i < term.arguments.size(); ++i) {
            const Term& argument = m_rule.term(term.arguments[i].term);
            const ElementTypes allowed = inputTypesOf(op, positionOf(term.arguments[i], i, op));
            if (!argument.type || argument.type->dtypes.empty())
                continue;
            const std::vector<DType>& types = argument.type->dtypes;
            if (std::any_of(types.begin(), types.end(),
                            [&](DType it) { return allowed.allows(it); }))
                continue;
            std::string found;
            for (DType type : types)
                found += (found.empty() ? "`" : " | `") + std::string(nameOf(type)) + "`";
            return {argument.span,
                    std::string(rowOf(op).name) + " has no operand of that element type", found,
                    allowed.text(), "write another type, or none"};
        }
        return {};
    }

    /// A literal that the attribute can never be.
    Impossible valueOf(const AttributeTest& test, Op op) const {
        if (test.comparison != "==" && test.comparison != "in")
            return {};
        if (test.name == "perm" && !mayBeOrder(test.value))
            return {test.value.span, std::string("`perm` of ") + rowOf(op).name + " is never that",
                    "", "each of the numbers from 0 on once", "write every axis once"};
        std::vector<const Expression*> literals{&test.value};
        if (test.comparison == "in") {
            literals.clear();
            for (const Expression& item : test.value.args)
                literals.push_back(&item);
        }
        std::span<const char* const> allowed = valuesOf(op, test.name);
        bool flag = isFlag(test.name);
        for (const Expression* literal : literals) {
            bool badText =
                literal->kind == Expression::Kind::Text && !allowed.empty() &&
                std::find(allowed.begin(), allowed.end(), literal->text) == allowed.end();
            bool badFlag = literal->kind == Expression::Kind::Number && flag &&
                           literal->number != 0 && literal->number != 1;
            if (!badText && !badFlag)
                continue;
            std::vector<std::string> names(allowed.begin(), allowed.end());
            std::string near = badText ? closest(literal->text, names) : "";
            return {literal->span, "`" + test.name + "` of " + rowOf(op).name + " is never that",
                    "", badText ? "one of " + listed(names) : "0 or 1",
                    didYouMean(near, "write a value that it can have")};
        }
        return {};
    }

    const Rule& m_rule;
    Diagnostics& m_out;
};

} // namespace

void lintSchema(const LoadedRules& loaded, Diagnostics& out) {
    for (const auto* rules : {&loaded.forms, &loaded.rules.rules})
        for (const Rule& rule : *rules)
            SchemaLint(rule, out).run();
}

} // namespace fuselage::dsl
