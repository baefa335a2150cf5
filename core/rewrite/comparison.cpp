// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

/// `5 < x` asks the same as `x > 5`.
std::string mirrored(std::string symbol) {
    if (symbol[0] == '<' || symbol[0] == '>')
        symbol[0] = symbol[0] == '<' ? '>' : '<';
    return symbol;
}

} // namespace

std::string textOfSide(const Quantity& side) {
    const auto number = side.number();
    const bool isShort = !number || (std::abs(*number) < 1e6 && side.integerValue());
    return isShort ? side.text() : fmt::format("{:.4g}", *number);
}

std::string Comparison::wanted() const {
    std::string text = textOfSide(limit);
    if (symbol == "in" && text.starts_with('['))
        text = "{" + text.substr(1, text.size() - 2) + "}"; // as rules write a set
    return symbol + " " + text;
}

std::optional<Comparison> failedComparison(const EvaluateContext& context,
                                           const Expression& condition, Truth truth) {
    static constexpr std::string_view symbols[] = {"==", "!=", "<", "<=", ">", ">=", "in"};
    if (condition.kind != Expression::Kind::Binary || evaluate(context, condition).truth() != truth)
        return std::nullopt;
    const Expression &left = condition.args[0], &right = condition.args[1];
    if (condition.text == "and") {
        auto first = failedComparison(context, left, truth);
        return first ? first : failedComparison(context, right, truth);
    }
    if (std::find(std::begin(symbols), std::end(symbols), condition.text) == std::end(symbols))
        return std::nullopt;
    const bool isLiteral =
        left.kind == Expression::Kind::Number || left.kind == Expression::Kind::Text;
    if (isLiteral && condition.text != "in")
        return Comparison{&condition,
                          &left,
                          true,
                          mirrored(condition.text),
                          evaluate(context, right),
                          evaluate(context, left)};
    return Comparison{&condition,
                      &right,
                      false,
                      condition.text,
                      evaluate(context, left),
                      evaluate(context, right)};
}

std::string missingIn(const EvaluateContext& context, const Expression& condition) {
    const bool isJoined =
        condition.kind == Expression::Kind::Binary || condition.kind == Expression::Kind::Unary;
    const Quantity value = evaluate(context, condition);
    if (const auto* unknown = value.as<Quantity::Unknown>(); unknown && !isJoined)
        return unknown->why;
    for (const Expression& part : condition.args)
        if (std::string missing = missingIn(context, part); !missing.empty())
            return missing;
    return {};
}

} // namespace fuselage
