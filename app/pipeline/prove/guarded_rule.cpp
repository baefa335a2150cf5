// SPDX-License-Identifier: Apache-2.0
// A guard as the language would compile it: attribute tests at the operators of that name,
// conditions of the rule's match.
#include "app/pipeline/prove/guard.h"
#include "app/pipeline/prove/guard_terms.h"
#include "core/ops/op_table.h"
#include "core/support/number_text.h"

#include <algorithm>

namespace fuselage::app {

namespace {

Expression numeral(double number, bool isInteger) {
    Expression out;
    out.kind = Expression::Kind::Number;
    out.number = number;
    out.isInteger = isInteger;
    return out;
}

/// None for tensors and graphs, which no rule writes.
std::optional<Expression> writtenOut(const AttributeValue& value) {
    Expression out;
    if (const auto* whole = std::get_if<int64_t>(&value))
        return numeral(static_cast<double>(*whole), true);
    if (const auto* number = std::get_if<double>(&value))
        return numeral(*number, false);
    if (const auto* text = std::get_if<std::string>(&value)) {
        out.kind = Expression::Kind::Text;
        out.text = *text;
        return out;
    }
    out.kind = Expression::Kind::List;
    if (const auto* whole = std::get_if<std::vector<int64_t>>(&value)) {
        for (int64_t item : *whole)
            out.args.push_back(numeral(static_cast<double>(item), true));
        return out;
    }
    return std::nullopt;
}

bool isNamed(const Term& term, const std::string& op) {
    if (term.kind != Term::Kind::Node)
        return false;
    return std::any_of(term.ops.begin(), term.ops.end(),
                       [&](Op each) { return rowOf(each).name == op; }) ||
           std::any_of(term.custom.begin(), term.custom.end(),
                       [&](const CustomOperatorPtr& each) { return each->text() == op; });
}

/// At every operator of that name that says nothing of the attribute yet.
bool addTest(Rule& rule, const Claim& claim, const AttributeValue& value) {
    const size_t bracket = claim.name.find('[');
    const std::string op = claim.name.substr(0, bracket),
                      attribute = claim.name.substr(bracket + 1, claim.name.size() - bracket - 2);
    const std::optional<Expression> wanted = writtenOut(value);
    bool isAny = false;
    for (Term& term : rule.terms) {
        const bool says =
            std::any_of(term.tests.begin(), term.tests.end(),
                        [&](const AttributeTest& test) { return test.name == attribute; });
        if (!wanted || says || !isNamed(term, op))
            continue;
        AttributeTest test;
        test.name = attribute;
        test.comparison = "==";
        test.value = *wanted;
        term.tests.push_back(std::move(test));
        isAny = true;
    }
    return isAny;
}

bool addCondition(Rule& rule, const Claim& claim) {
    const std::vector<GuardTerm> terms = guardTerms(rule);
    const auto term = std::find_if(terms.begin(), terms.end(),
                                   [&](const GuardTerm& each) { return each.text == claim.name; });
    if (term == terms.end())
        return false;
    Expression wanted;
    if (term->kind == GuardTerm::Kind::Truth) {
        wanted = term->expression;
        if (claim.text == "false") {
            wanted = Expression{};
            wanted.kind = Expression::Kind::Unary;
            wanted.text = "not";
            wanted.args = {term->expression};
        }
    } else {
        const std::pair<const char*, std::optional<double>> ends[] = {
            {">=", claim.least}, {">", claim.above}, {"<=", claim.most}, {"<", claim.below}};
        wanted.kind = Expression::Kind::Binary;
        wanted.text = "==";
        double number = claim.text.empty() ? 0 : numberIn(claim.text);
        for (const auto& [comparison, end] : ends)
            if (end) {
                wanted.text = comparison;
                number = *end;
            }
        wanted.args = {
            term->expression,
            numeral(number, number == static_cast<double>(static_cast<int64_t>(number)))};
    }
    rule.match.conditions.push_back({std::move(wanted), {}, {}});
    return true;
}

} // namespace

std::optional<Rule> guarded(const Rule& rule, const Guard& guard) {
    Rule out = rule;
    for (const Claim& claim : guard.claims) {
        const auto value = guard.values.find(claim.name);
        const bool isWritten = value != guard.values.end() ? addTest(out, claim, value->second)
                                                           : addCondition(out, claim);
        if (!isWritten)
            return std::nullopt;
    }
    return out;
}

} // namespace fuselage::app
