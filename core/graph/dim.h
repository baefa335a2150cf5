// SPDX-License-Identifier: Apache-2.0
// One dimension of a shape: a number, a polynomial over named symbols ("12*N", "H*W+1"), or
// unknown. Equal polynomials are equal Dims, so dynamic-batch graphs match like static ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fuselage {

struct DimExpression; // interned polynomial, private to dim.cpp

class Dim {
public:
    /// Unknown.
    Dim() = default;

    Dim(int64_t value) : m_kind(Kind::Number), m_value(value) {}

    static Dim unknown() { return {}; }

    /// The symbol of that name; equal names are equal dims.
    static Dim symbol(const std::string& name);

    bool isNumber() const { return m_kind == Kind::Number; }

    bool isSymbolic() const { return m_kind == Kind::Expression; }

    bool isUnknown() const { return m_kind == Kind::Unknown; }

    /// The number; only when isNumber().
    int64_t value() const { return m_value; }

    std::optional<int64_t> number() const {
        return isNumber() ? std::optional(m_value) : std::nullopt;
    }

    /// "4", "N", "12*N", "?".
    std::string text() const;

    /// Replaces symbols by numbers; the result is a number when all symbols are given.
    Dim bind(const std::map<std::string, int64_t>& values) const;

    /// The smallest value this can have when every symbol is at least zero (they are extents); none
    /// when that does not bound it.
    std::optional<int64_t> lowerBound() const;

    /// The names of the symbols used, sorted.
    std::vector<std::string> symbols() const;

    /// True only when both are known and certainly equal; unknown equals nothing.
    friend bool operator==(const Dim& a, const Dim& b);

    friend Dim operator+(const Dim& a, const Dim& b);
    friend Dim operator-(const Dim& a, const Dim& b);
    friend Dim operator*(const Dim& a, const Dim& b);

    /// Floor division; exact when the divisor divides every coefficient, else an opaque symbol.
    static Dim divide(const Dim& a, const Dim& b);
    static Dim ceilDivide(const Dim& a, const Dim& b);

private:
    enum class Kind : uint8_t { Unknown, Number, Expression };

    friend struct DimExpression;
    static Dim fromExpression(DimExpression expression);
    static DimExpression expressionOf(const Dim& dim);

    Kind m_kind = Kind::Unknown;
    int64_t m_value = 0;
    const DimExpression* m_expression = nullptr;
};

/// True when both are known and certainly different (numbers that differ, or a constant offset).
bool certainlyDifferent(const Dim& a, const Dim& b);

} // namespace fuselage
