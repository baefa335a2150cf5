// SPDX-License-Identifier: Apache-2.0
// Exact fractions of 64-bit integers. What does not fit is no number, and stays none through all
// arithmetic; no number equals nothing, so a proof that meets one fails.
#pragma once

#include <cstdint>
#include <optional>

namespace fuselage::algebra {

class Fraction {
public:
    Fraction() = default;
    Fraction(int64_t whole) : m_over(whole) {}
    Fraction(int64_t over, int64_t under);

    /// A fraction with a denominator up to 1000 within 1e-9 of the number, or a decimal of at most
    /// nine digits behind the point. None for others.
    static std::optional<Fraction> near(double number);

    bool valid() const { return m_under != 0; }

    bool isZero() const { return valid() && m_over == 0; }

    bool isOne() const { return m_over == 1 && m_under == 1; }

    bool isWhole() const { return m_under == 1; }

    int64_t over() const { return m_over; }

    int64_t under() const { return m_under; }

    int sign() const { return m_over > 0 ? 1 : m_over < 0 ? -1 : 0; }

    double value() const { return static_cast<double>(m_over) / static_cast<double>(m_under); }

    Fraction operator-() const { return Fraction(0) - *this; }

    friend Fraction operator+(const Fraction& a, const Fraction& b);
    friend Fraction operator-(const Fraction& a, const Fraction& b);
    friend Fraction operator*(const Fraction& a, const Fraction& b);
    friend Fraction operator/(const Fraction& a, const Fraction& b);
    friend bool operator==(const Fraction& a, const Fraction& b);

private:
    static Fraction reduced(__int128 over, __int128 under);

    int64_t m_over = 0;
    int64_t m_under = 1; ///< positive; 0: no number
};

} // namespace fuselage::algebra
