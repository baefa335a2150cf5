// SPDX-License-Identifier: Apache-2.0
// E0221: two demands of one rule that no graph can satisfy at once, or a condition that is never
// true. Compares literals and whole expressions; solves no equations.
#include "dsl/lint.h"
#include "dsl/lint_internal.h"

#include <algorithm>
#include <cmath>

namespace fuselage::dsl {

namespace {

/// Axes may be counted from either end: 1 and -1 are no contradiction.
bool mayBeOneAxis(const Quantity& a, const Quantity& b) {
    std::optional<double> x = a.number(), y = b.number();
    if (x && y)
        return (*x < 0) != (*y < 0);
    auto first = a.items(), second = b.items();
    if (!first || !second || first->size() != second->size())
        return false;
    for (size_t i = 0; i < first->size(); ++i)
        if (mayBeOneAxis((*first)[i], (*second)[i]))
            return true;
    return false;
}

bool isAxis(const std::string& key) {
    return key.ends_with(".axis") || key.ends_with(".axes");
}

bool maybeEqual(const Quantity& a, const Quantity& b, bool axis) {
    return equal(a, b) != Truth::False || (axis && mayBeOneAxis(a, b));
}

bool disjoint(const Fact& a, const Fact& b) {
    return std::none_of(a.values.begin(), a.values.end(), [&](const Quantity& one) {
        return std::any_of(b.values.begin(), b.values.end(), [&](const Quantity& other) {
            return maybeEqual(one, other, isAxis(a.key));
        });
    });
}

bool allExcluded(const Fact& allowed, const Fact& excluded) {
    return std::all_of(allowed.values.begin(), allowed.values.end(), [&](const Quantity& one) {
        return std::any_of(excluded.values.begin(), excluded.values.end(),
                           [&](const Quantity& other) { return equal(one, other) == Truth::True; });
    });
}

bool allOutside(const Fact& allowed, const Fact& range) {
    return !isAxis(range.key) &&
           std::all_of(allowed.values.begin(), allowed.values.end(), [&](const Quantity& one) {
               std::optional<double> number = one.number();
               return number && (*number < range.low || *number > range.high);
           });
}

/// Dimensions and ranks are whole.
bool isWhole(const std::string& key) {
    return key.starts_with("%") || key.ends_with(".rank") ||
           key.find(".shape[") != std::string::npos;
}

bool apart(const Fact& a, const Fact& b) {
    double low = std::max(a.low, b.low), high = std::min(a.high, b.high);
    return isWhole(a.key) ? std::ceil(low) > std::floor(high) : low > high;
}

std::string quoted(const Fact& fact) {
    return "`" + fact.text + "`";
}

void report(const Fact& a, const Fact& b, Diagnostics& out) {
    const Fact& first = a.span.begin <= b.span.begin ? a : b;
    const Fact& second = &first == &a ? b : a;
    if (first.span.empty()) {
        Diagnostic& d = out.error("E0221", second.span, quoted(second) + " is never true");
        d.expected = quoted(first);
        d.fix = "correct the number";
        return;
    }
    Diagnostic& d =
        out.error("E0221", second.span, quoted(second) + " contradicts " + quoted(first));
    if (!(first.span == second.span))
        d.labels.push_back({first.span, "both can never hold"});
    d.fix = "drop one of the two";
}

} // namespace

bool contradict(const Fact& a, const Fact& b) {
    using Kind = Fact::Kind;
    auto kinds = [&](Kind x, Kind y) { return a.kind == x && b.kind == y; };
    if (kinds(Kind::OneOf, Kind::OneOf))
        return disjoint(a, b);
    if (kinds(Kind::OneOf, Kind::Not))
        return allExcluded(a, b);
    if (kinds(Kind::OneOf, Kind::Between))
        return allOutside(a, b);
    if (kinds(Kind::Between, Kind::Between))
        return apart(a, b);
    if (kinds(Kind::Equals, Kind::Differs))
        return a.other == b.other;
    return a.kind > b.kind && contradict(b, a);
}

void lintContradictions(const LoadedRules& loaded, Diagnostics& out) {
    for (const Rule& rule : loaded.rules.rules) {
        std::vector<Fact> facts = factsOf(rule);
        for (size_t i = 0; i < facts.size(); ++i)
            for (size_t j = i + 1; j < facts.size(); ++j) {
                bool sameTime =
                    facts[i].key == facts[j].key && together(facts[i].path, facts[j].path) &&
                    (!facts[i].when || !facts[j].when || facts[i].when == facts[j].when);
                if (sameTime && contradict(facts[i], facts[j]))
                    report(facts[i], facts[j], out);
            }
        for (const Condition& condition : rule.match.conditions)
            if (isLiteral(condition.expression) &&
                literalValue(condition.expression).truth() == Truth::False)
                out.error("E0221", condition.span, "this condition is never true").fix =
                    "correct it, or delete the rule";
    }
}

} // namespace fuselage::dsl
