// SPDX-License-Identifier: Apache-2.0
#include "core/algebra/expr.h"

namespace fuselage::algebra {

namespace {

constexpr size_t mostTerms = 600;

}

Polynomial plus(const Polynomial& a, const Polynomial& b, const Fraction& times) {
    Polynomial out = a;
    for (const auto& [monomial, coefficient] : b) {
        auto [entry, isNew] = out.try_emplace(monomial, Fraction(0));
        entry->second = entry->second + coefficient * times;
        if (entry->second.isZero())
            out.erase(entry);
    }
    return out;
}

Monomial product(const Monomial& a, const Monomial& b) {
    Monomial out;
    auto left = a.begin(), right = b.begin();
    while (left != a.end() || right != b.end()) {
        if (right == b.end() || (left != a.end() && left->first < right->first))
            out.push_back(*left++);
        else if (left == a.end() || right->first < left->first)
            out.push_back(*right++);
        else {
            out.emplace_back(left->first, left->second + right->second);
            ++left, ++right;
        }
    }
    return out;
}

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
    if (a.size() * b.size() > mostTerms * 10)
        return std::nullopt;
    Polynomial out;
    for (const auto& [m, c] : a)
        for (const auto& [n, d] : b) {
            auto [entry, isNew] = out.try_emplace(product(m, n), Fraction(0));
            entry->second = entry->second + c * d;
            if (entry->second.isZero())
                out.erase(entry);
        }
    if (out.size() > mostTerms)
        return std::nullopt;
    return out;
}

std::string textOf(const std::vector<int64_t>& numbers) {
    std::string out = "[";
    for (int64_t number : numbers)
        out += (out.size() > 1 ? ", " : "") + std::to_string(number);
    return out + "]";
}

std::string textOf(const ShapeSources& words) {
    std::string out = "[";
    for (const std::string& word : words)
        out += (out.size() > 1 ? ", " : "") + word;
    return out + "]";
}

bool isNumber(const Polynomial& polynomial) {
    return polynomial.empty() || (polynomial.size() == 1 && polynomial.begin()->first.empty());
}

std::optional<Fraction> numberOf(const Expr& expr) {
    if (expr.isNan || expr.isBroken || !isNumber(expr.over) || !isNumber(expr.under))
        return std::nullopt;
    const Fraction over = expr.over.empty() ? Fraction(0) : expr.over.begin()->second;
    const Fraction out = over / expr.under.begin()->second;
    return out.valid() ? std::optional(out) : std::nullopt;
}

std::optional<AtomId> atomOf(const Expr& expr) {
    if (expr.isNan || expr.isBroken || !isNumber(expr.under) || expr.over.size() != 1)
        return std::nullopt;
    const auto& [monomial, coefficient] = *expr.over.begin();
    bool alone = monomial.size() == 1 && monomial[0].second == 1 &&
                 coefficient == expr.under.begin()->second;
    return alone ? std::optional(monomial[0].first) : std::nullopt;
}

} // namespace fuselage::algebra
