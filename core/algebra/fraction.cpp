// SPDX-License-Identifier: Apache-2.0
#include "core/algebra/fraction.h"

#include <cmath>
#include <limits>

namespace fuselage::algebra {

Fraction Fraction::reduced(__int128 over, __int128 under) {
    Fraction out;
    out.m_under = 0;
    if (under == 0)
        return out;
    __int128 a = over < 0 ? -over : over, b = under < 0 ? -under : under;
    while (b != 0) {
        const __int128 rest = a % b;
        a = b;
        b = rest;
    }
    const __int128 divisor = under < 0 ? -a : a;
    over /= divisor;
    under /= divisor;
    constexpr __int128 most = std::numeric_limits<int64_t>::max();
    if (over > most || over < -most || under > most)
        return out;
    out.m_over = static_cast<int64_t>(over);
    out.m_under = static_cast<int64_t>(under);
    return out;
}

Fraction::Fraction(int64_t over, int64_t under) {
    *this = reduced(over, under);
}

std::optional<Fraction> Fraction::near(double number) {
    if (!std::isfinite(number) || std::fabs(number) > 1e9)
        return std::nullopt;
    for (int64_t under = 1; under <= 1000; ++under) {
        const double over = std::round(number * static_cast<double>(under));
        const bool fits = number == 0 ? over == 0
                                      : over != 0 && std::fabs(over / static_cast<double>(under) -
                                                               number) <= 1e-9 * std::fabs(number);
        if (fits)
            return Fraction(static_cast<int64_t>(over), under);
    }
    int64_t scale = 1;
    for (int digits = 0; digits <= 9; ++digits, scale *= 10) {
        const double over = std::round(number * static_cast<double>(scale));
        const double back = over / static_cast<double>(scale);
        if (std::fabs(back - number) <= 1e-15 * std::fabs(number))
            return Fraction(static_cast<int64_t>(over), scale);
    }
    return std::nullopt;
}

Fraction operator+(const Fraction& a, const Fraction& b) {
    return Fraction::reduced(static_cast<__int128>(a.m_over) * b.m_under +
                                 static_cast<__int128>(b.m_over) * a.m_under,
                             static_cast<__int128>(a.m_under) * b.m_under);
}

Fraction operator-(const Fraction& a, const Fraction& b) {
    return Fraction::reduced(static_cast<__int128>(a.m_over) * b.m_under -
                                 static_cast<__int128>(b.m_over) * a.m_under,
                             static_cast<__int128>(a.m_under) * b.m_under);
}

Fraction operator*(const Fraction& a, const Fraction& b) {
    return Fraction::reduced(static_cast<__int128>(a.m_over) * b.m_over,
                             static_cast<__int128>(a.m_under) * b.m_under);
}

Fraction operator/(const Fraction& a, const Fraction& b) {
    if (!b.valid())
        return b;
    return Fraction::reduced(static_cast<__int128>(a.m_over) * b.m_under,
                             static_cast<__int128>(a.m_under) * b.m_over);
}

bool operator==(const Fraction& a, const Fraction& b) {
    return a.valid() && b.valid() && a.m_over == b.m_over && a.m_under == b.m_under;
}

} // namespace fuselage::algebra
