// SPDX-License-Identifier: Apache-2.0
#include "core/graph/dim.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

namespace fuselage {

/// A sum of monomials; a monomial is a sorted list of symbol names (with repetition) and a
/// coefficient. The empty list is the constant term.
struct DimExpression {
    std::map<std::vector<std::string>, int64_t> terms;

    std::string text() const {
        std::string out;
        // The constant reads best last, so it is printed after the symbols.
        for (auto it = terms.rbegin(); it != terms.rend(); ++it) {
            const auto& [names, factor] = *it;
            int64_t shown = factor;
            if (!out.empty()) {
                out += factor < 0 ? "-" : "+";
                shown = factor < 0 && factor != INT64_MIN ? -factor : factor;
            }
            if (names.empty() || shown != 1)
                out += std::to_string(shown) + (names.empty() ? "" : "*");
            for (size_t i = 0; i < names.size(); ++i)
                out += (i ? "*" : "") + names[i];
        }
        return out.empty() ? "0" : out;
    }
};

namespace {

/// Expressions live as long as the program: equal text, equal pointer.
const DimExpression* intern(const DimExpression& expression) {
    static std::mutex mutex;
    static std::unordered_map<std::string, std::unique_ptr<DimExpression>> pool;
    std::lock_guard lock(mutex);
    auto& slot = pool[expression.text()];
    if (!slot)
        slot = std::make_unique<DimExpression>(expression);
    return slot.get();
}

/// Shape arithmetic of real models stays far below; that of hostile ones may double at every node.
constexpr size_t maxTerms = 128, maxSymbolText = 1024;

std::string grouped(const Dim& dim) {
    std::string text = dim.text();
    return text.find_first_of("+-*") == std::string::npos ? text : "(" + text + ")";
}

} // namespace

Dim Dim::fromExpression(DimExpression expression) {
    std::erase_if(expression.terms, [](const auto& term) { return term.second == 0; });
    if (expression.terms.empty())
        return 0;
    if (expression.terms.size() == 1 && expression.terms.begin()->first.empty())
        return expression.terms.begin()->second;
    Dim out;
    out.m_kind = Kind::Expression;
    out.m_expression = intern(expression);
    return out;
}

DimExpression Dim::expressionOf(const Dim& dim) {
    if (dim.isNumber())
        return {{{{}, dim.m_value}}};
    return *dim.m_expression;
}

Dim Dim::symbol(const std::string& name) {
    return fromExpression({{{{name}, 1}}});
}

std::string Dim::text() const {
    if (isUnknown())
        return "?";
    return isNumber() ? std::to_string(m_value) : m_expression->text();
}

bool operator==(const Dim& a, const Dim& b) {
    if (a.m_kind != b.m_kind || a.isUnknown())
        return false;
    return a.isNumber() ? a.m_value == b.m_value : a.m_expression == b.m_expression;
}

Dim operator+(const Dim& a, const Dim& b) {
    if (a.isUnknown() || b.isUnknown())
        return {};
    if (a.isNumber() && b.isNumber()) {
        int64_t sum = 0;
        return __builtin_add_overflow(a.m_value, b.m_value, &sum) ? Dim() : Dim(sum);
    }
    DimExpression sum = Dim::expressionOf(a);
    for (const auto& [names, factor] : Dim::expressionOf(b).terms)
        if (__builtin_add_overflow(sum.terms[names], factor, &sum.terms[names]))
            return {};
    return sum.terms.size() > maxTerms ? Dim() : Dim::fromExpression(std::move(sum));
}

Dim operator*(const Dim& a, const Dim& b) {
    if (a.isUnknown() || b.isUnknown())
        return {};
    DimExpression product;
    for (const auto& [aNames, aFactor] : Dim::expressionOf(a).terms)
        for (const auto& [bNames, bFactor] : Dim::expressionOf(b).terms) {
            std::multiset<std::string> merged(aNames.begin(), aNames.end());
            merged.insert(bNames.begin(), bNames.end());
            int64_t factor = 0;
            std::vector<std::string> names(merged.begin(), merged.end());
            if (names.size() > 16 || __builtin_mul_overflow(aFactor, bFactor, &factor) ||
                __builtin_add_overflow(product.terms[names], factor, &product.terms[names]) ||
                product.terms.size() > maxTerms)
                return {};
        }
    return Dim::fromExpression(std::move(product));
}

Dim operator-(const Dim& a, const Dim& b) {
    return a + b * Dim(-1);
}

Dim Dim::divide(const Dim& a, const Dim& b) {
    if (a.isUnknown() || b.isUnknown() || (b.isNumber() && b.m_value == 0))
        return {};
    if (a == b)
        return 1;
    if (b == Dim(-1)) // INT64_MIN / -1 traps
        return Dim(0) - a;
    if (a.isNumber() && b.isNumber()) {
        int64_t quotient = a.m_value / b.m_value;
        bool adjust = a.m_value % b.m_value != 0 && (a.m_value < 0) != (b.m_value < 0);
        return quotient - (adjust ? 1 : 0);
    }
    // One monomial divides exactly when its factor and each of its names divide every term.
    DimExpression divisor = expressionOf(b);
    if (divisor.terms.size() == 1) {
        const auto& [names, factor] = *divisor.terms.begin();
        DimExpression quotient;
        bool exact = true;
        for (const auto& [aNames, aFactor] : expressionOf(a).terms) {
            std::multiset<std::string> rest(aNames.begin(), aNames.end());
            exact = exact && factor != -1 && aFactor % factor == 0;
            for (const std::string& name : names) {
                auto found = rest.find(name);
                exact = exact && found != rest.end();
                if (found != rest.end())
                    rest.erase(found);
            }
            if (!exact)
                break;
            quotient.terms[{rest.begin(), rest.end()}] += aFactor / factor;
        }
        if (exact)
            return fromExpression(std::move(quotient));
    }
    std::string name = "floor(" + grouped(a) + "/" + grouped(b) + ")";
    return name.size() > maxSymbolText ? Dim() : symbol(name);
}

Dim Dim::ceilDivide(const Dim& a, const Dim& b) {
    return Dim(0) - divide(Dim(0) - a, b);
}

Dim Dim::bind(const std::map<std::string, int64_t>& values) const {
    if (!isSymbolic())
        return *this;
    Dim sum = 0;
    for (const auto& [names, factor] : m_expression->terms) {
        Dim product = factor;
        for (const std::string& name : names) {
            auto found = values.find(name);
            product = product * (found != values.end() ? Dim(found->second) : symbol(name));
        }
        sum = sum + product;
    }
    return sum;
}

std::optional<int64_t> Dim::lowerBound() const {
    if (!isSymbolic())
        return number();
    int64_t constant = 0;
    for (const auto& [names, factor] : m_expression->terms) {
        if (names.empty()) {
            constant = factor;
            continue;
        }
        // floor((N-3)/2) is a symbol that may be negative.
        auto maybeNegative = [](const std::string& name) {
            return name.starts_with("floor(") && name.find('-') != std::string::npos;
        };
        if (factor < 0 || std::any_of(names.begin(), names.end(), maybeNegative))
            return std::nullopt;
    }
    return constant;
}

std::vector<std::string> Dim::symbols() const {
    std::set<std::string> names;
    if (isSymbolic())
        for (const auto& [monomial, factor] : m_expression->terms)
            names.insert(monomial.begin(), monomial.end());
    return {names.begin(), names.end()};
}

bool certainlyDifferent(const Dim& a, const Dim& b) {
    if (a.isUnknown() || b.isUnknown())
        return false;
    Dim difference = a - b;
    return difference.isNumber() && difference.value() != 0;
}

} // namespace fuselage
