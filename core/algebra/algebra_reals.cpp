// SPDX-License-Identifier: Apache-2.0
// Functions of real numbers: exponentials of sums are products, logarithms of products sums, the
// square of a root is what stands under it, odd functions take a sign out.
#include "core/algebra/algebra.h"

#include <array>
#include <cmath>

namespace fuselage::algebra {

namespace {

constexpr int64_t mostPower = 8;

bool isOdd(const std::string& function) {
    static const std::set<std::string> names{"erf",  "tanh", "sin",   "tan",  "asin",
                                             "atan", "sinh", "asinh", "atanh"};
    return names.contains(function);
}

} // namespace

Expr Algebra::power(const Expr& base, int64_t exponent) {
    Expr out = whole(1);
    for (int64_t i = 0; i < std::abs(exponent); ++i)
        out = multiply(out, base);
    return exponent < 0 ? divide(whole(1), out) : out;
}

/// One factor for each term of the exponent.
Expr Algebra::exponential(const Expr& of) {
    if (!isNumber(of.under))
        return apply("exp", {of}, "");
    const Fraction under = of.under.begin()->second;
    Expr out = whole(1);
    auto* quiet = std::exchange(demands, nullptr);
    for (const auto& [monomial, coefficient] : of.over) {
        const Fraction times = coefficient / under;
        const bool isPower = times.isWhole() && std::abs(times.over()) <= mostPower;
        const Fraction scale = isPower ? Fraction(1) : times.sign() < 0 ? -times : times;
        Expr exponent = ofPolynomial({{monomial, scale}}, of.shape);
        const auto atom = atomOf(exponent);
        Expr factor = atom && m_atoms[*atom].function == "log"
                          ? m_atoms[*atom].arguments[0]
                          : apply("exp", {std::move(exponent)}, "");
        out = multiply(out, power(factor, isPower ? times.over() : times.sign()));
    }
    demands = quiet;
    out.shape = of.shape;
    return out;
}

/// Of a positive polynomial: positive atoms that all its terms share stand apart.
Expr Algebra::logarithmOf(const Polynomial& polynomial, const ShapeSources& shape) {
    Expr out;
    Polynomial rest = polynomial;
    const Monomial first = polynomial.begin()->first;
    for (const auto& [id, exponent] : first) {
        int shared = m_atoms[id].isPositive ? exponent : 0;
        for (const auto& term : polynomial) {
            int here = 0;
            for (const auto& factor : term.first)
                here += factor.first == id ? factor.second : 0;
            shared = std::min(shared, here);
        }
        if (shared == 0)
            continue;
        Polynomial divided;
        for (const auto& [monomial, coefficient] : rest) {
            Monomial kept;
            for (const auto& [atom, times] : monomial)
                if (int left = times - (atom == id ? shared : 0); left > 0)
                    kept.emplace_back(atom, left);
            divided.emplace(std::move(kept), coefficient);
        }
        rest = std::move(divided);
        const Atom atom = m_atoms[id];
        const Expr one =
            atom.function == "exp" ? atom.arguments[0] : apply("log", {ofAtom(id)}, "");
        out = add(out, multiply(whole(shared), one));
    }
    const bool isOne = isNumber(rest) && rest.begin()->second.isOne();
    if (!isOne)
        out = add(out, apply("log", {ofPolynomial(std::move(rest), shape)}, ""));
    out.shape = shape;
    return out;
}

Expr Algebra::logarithm(const Expr& of) {
    demand(Demand::Kind::Positive, of);
    if (!isPositive(of))
        return apply("log", {of}, "");
    return subtract(logarithmOf(of.over, of.shape), logarithmOf(of.under, of.shape));
}

/// n sqrt(m) / d, m without squares.
Expr Algebra::rootOf(const Fraction& number) {
    int64_t outside = 1, inside = number.over() * number.under();
    for (int64_t factor = 2; factor * factor <= inside; ++factor)
        while (inside % (factor * factor) == 0) {
            inside /= factor * factor;
            outside *= factor;
        }
    const Expr scale = divide(whole(outside), whole(number.under()));
    return inside == 1 ? scale : multiply(scale, apply("sqrt", {whole(inside)}, ""));
}

Expr Algebra::root(const Expr& of) {
    auto value = numberOf(of);
    const bool isSmall =
        value && value->sign() > 0 && value->over() < 10000 && value->under() < 10000;
    return isSmall ? rootOf(*value) : apply("sqrt", {of}, "");
}

std::optional<Expr> Algebra::realOf(const std::string& function, const std::vector<Expr>& in) {
    if (in.empty())
        return std::nullopt;
    const bool isZero = in[0].over.empty() && !in[0].isNan;
    if (function == "exp")
        return exponential(in[0]);
    if (function == "log")
        return logarithm(in[0]);
    if (function == "log1p")
        return logarithm(add(in[0], whole(1)));
    if (function == "sqrt") {
        demand(Demand::Kind::NotNegative, in[0]);
        return isZero ? whole(0) : root(in[0]);
    }
    if (function == "pow") {
        auto exponent = numberOf(in[1]);
        if (exponent && exponent->isWhole() && std::abs(exponent->over()) <= mostPower)
            return power(in[0], exponent->over());
        const bool isRoot = exponent && exponent->under() == 2 && std::abs(exponent->over()) == 1;
        if (isRoot && exponent->over() > 0)
            return make("sqrt", {in[0]});
        if (isRoot) {
            demand(Demand::Kind::Positive, in[0]);
            return divide(whole(1), root(in[0]));
        }
        demand(Demand::Kind::Positive, in[0]);
        return std::nullopt;
    }
    static const std::set<std::string> partial{"asin", "acos", "atanh", "acosh", "tan"};
    if (partial.contains(function)) // where it is defined is its own business: on both sides alike
        demand(Demand::Kind::Positive, apply(function, in, ""));
    if (isOdd(function)) {
        if (isZero)
            return whole(0);
        if (isNegativeFirst(in[0]))
            return make("neg", {make(function, {make("neg", in)})});
    }
    if (function == "cos" || function == "cosh") {
        if (isZero)
            return whole(1);
        if (isNegativeFirst(in[0]))
            return make(function, {make("neg", in)});
    }
    return std::nullopt;
}

} // namespace fuselage::algebra
