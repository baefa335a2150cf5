// SPDX-License-Identifier: Apache-2.0
// Laws of elements that hold for all numbers: those of floats as they are stored, of quotients of
// polynomials, of maxima, selections and conditions.
#include "core/algebra/algebra.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace fuselage::algebra {

namespace {

/// "float16>float" and back: the wider type holds every number of the narrower one.
bool isUndone(const std::string& there, const std::string& back) {
    static const std::set<std::pair<std::string, std::string>> holds{
        {"float16", "float"}, {"float16", "double"}, {"bfloat16", "float"}, {"bfloat16", "double"},
        {"float", "double"},  {"int8", "int16"},     {"int8", "int32"},     {"int8", "int64"},
        {"uint8", "int16"},   {"uint8", "int32"},    {"uint8", "int64"},    {"int16", "int32"},
        {"int16", "int64"},   {"int32", "int64"},    {"int32", "double"},   {"int16", "float"},
        {"int8", "float"},    {"uint8", "float"}};
    const size_t middle = there.find('>');
    if (middle == std::string::npos)
        return false;
    const std::string narrow = there.substr(0, middle), wide = there.substr(middle + 1);
    return holds.contains({narrow, wide}) && back == wide + ">" + narrow;
}

} // namespace

/// NaN goes through all arithmetic; comparisons with it are false.
std::optional<Expr> Algebra::ofNan(const std::string& function) {
    if (function == "less" || function == "lessOrEqual" || function == "equal")
        return apply("false", {}, "", ShapeSources{});
    if (function == "isNan")
        return apply("true", {}, "", ShapeSources{});
    if (function == "isInf")
        return apply("false", {}, "", ShapeSources{});
    if (function == "select" || function == "Cast" || function == "QuantizeLinear")
        return std::nullopt;
    return nan();
}

/// What holds for floats as they are stored. Sums and products are functions that may be turned.
std::optional<Expr> Algebra::bitsOf(const std::string& function, const std::vector<Expr>& in) {
    auto inner = [&](size_t i) -> const Atom* {
        auto id = atomOf(in[i]);
        return id ? &m_atoms[*id] : nullptr;
    };
    auto isLiteral = [&](size_t i, double value) {
        auto found = literalOf(in[i]);
        return found && *found == value && std::signbit(*found) == std::signbit(value);
    };
    auto negated = [&](const Expr& of) { return make("neg", {of}); };
    if (function == "neg" && inner(0)->function == "neg")
        return inner(0)->arguments[0];
    if (function == "neg")
        if (auto value = literalOf(in[0]))
            return number(-*value);
    if (function == "add")
        for (size_t i : {0U, 1U})
            if (isLiteral(i, -0.0))
                return in[1 - i];
    if (function == "sub")
        return isLiteral(1, 0.0) ? in[0] : make("add", {in[0], negated(in[1])});
    if (function == "mul")
        for (size_t i : {0U, 1U}) {
            if (isLiteral(i, 1))
                return in[1 - i];
            if (isLiteral(i, -1))
                return negated(in[1 - i]);
        }
    if (function == "div" && isLiteral(1, 1))
        return in[0];
    if (function == "div" && isLiteral(1, -1))
        return negated(in[0]);
    if (function == "pow" && isLiteral(1, 1))
        return in[0];
    if (function == "abs" && (inner(0)->function == "neg" || inner(0)->function == "abs"))
        return make("abs", {inner(0)->arguments[0]});
    return std::nullopt;
}

/// Reals: a quotient of polynomials. Integers: a polynomial; their quotient is cut, so it is no
/// law's business.
std::optional<Expr> Algebra::arithmeticOf(const std::string& function,
                                          const std::vector<Expr>& in) {
    const bool isReal = m_arithmetic == Arithmetic::Reals;
    auto combined = [&](const Fraction& sign) {
        auto left = product(in[0].over, in[1].under), right = product(in[1].over, in[0].under),
             under = product(in[0].under, in[1].under);
        if (in[0].under == in[1].under) {
            left = in[0].over;
            right = in[1].over;
            under = in[0].under;
        }
        Expr out;
        out.isBroken = true;
        return left && right && under ? quotient(plus(*left, *right, sign), *under, joined(in))
                                      : out;
    };
    if (function == "add")
        return combined(Fraction(1));
    if (function == "sub")
        return combined(Fraction(-1));
    if (function == "neg")
        return quotient(plus({}, in[0].over, Fraction(-1)), in[0].under, in[0].shape);
    const bool divides = function == "div" && isReal;
    if (function != "mul" && !divides)
        return std::nullopt;
    if (divides)
        demand(Demand::Kind::NotZero, in[1]);
    auto over = product(in[0].over, divides ? in[1].under : in[1].over);
    auto under = product(in[0].under, divides ? in[1].over : in[1].under);
    Expr out;
    out.isBroken = true;
    return over && under ? quotient(std::move(*over), std::move(*under), joined(in)) : out;
}

/// Maxima, minima, magnitudes, roundings and casts: their laws need no arithmetic.
std::optional<Expr> Algebra::pieceOf(const std::string& function, const std::vector<Expr>& in,
                                     const std::string& tag) {
    const bool isReal = m_arithmetic == Arithmetic::Reals;
    auto inner = [&](const Expr& of) -> std::optional<Atom> {
        auto id = atomOf(of);
        return id ? std::optional(m_atoms[*id]) : std::nullopt;
    };
    if (function == "max" || function == "min") {
        if (equal(in[0], in[1]))
            return in[0];
        for (size_t i : {0U, 1U}) {
            auto within = inner(in[i]);
            if (!within || within->function != function)
                continue;
            for (size_t place : {0U, 1U})
                if (equal(within->arguments[place], in[1 - i]) &&
                    (place != i || !isPickOfBits(function))) // of zeros the same one is picked
                    return in[i];
        }
        const bool takesFirst = isReal && isNonNegative(subtract(in[0], in[1]));
        const bool takesSecond = isReal && isNonNegative(subtract(in[1], in[0]));
        if (takesFirst || takesSecond)
            return in[takesFirst == (function == "max") ? 0 : 1];
    }
    if (function == "abs" && isReal) {
        if (isNonNegative(in[0]))
            return in[0];
        if (isNegativeFirst(in[0]))
            return make("abs", {make("neg", in)});
    }
    if (function == "Cast")
        if (auto within = inner(in[0]);
            within && within->function == "Cast" && isUndone(within->tag, tag))
            return within->arguments[0];
    const bool settles = function == "floor" || function == "ceil" || function == "roundEven" ||
                         function == "sign" || function == "abs";
    if (auto within = settles ? inner(in[0]) : std::nullopt; within && within->function == function)
        return in[0];
    return std::nullopt;
}

std::optional<Expr> Algebra::conditionOf(const std::string& function, const std::vector<Expr>& in) {
    auto named = [&](const Expr& of) {
        auto id = atomOf(of);
        return id ? m_atoms[*id].function : std::string();
    };
    auto truth = [&](bool value) {
        return apply(value ? "true" : "false", {}, "", ShapeSources{});
    };
    if (function == "not") {
        const std::string what = named(in[0]);
        if (what == "not")
            return m_atoms[*atomOf(in[0])].arguments[0];
        if (what == "true" || what == "false")
            return truth(what == "false");
    }
    if (function == "and" || function == "or")
        for (size_t i : {0U, 1U}) {
            const std::string what = named(in[i]);
            if (what == "true" || what == "false")
                return (what == "true") == (function == "and") ? in[1 - i] : in[i];
        }
    if (function == "select") {
        const std::string what = named(in[0]);
        if (what == "true" || what == "false")
            return in[what == "true" ? 1 : 2];
        if (what == "not")
            return make("select", {m_atoms[*atomOf(in[0])].arguments[0], in[2], in[1]});
        if (equal(in[1], in[2]))
            return in[1];
    }
    if (m_arithmetic != Arithmetic::Bits &&
        (function == "less" || function == "lessOrEqual" || function == "equal"))
        if (auto gap = numberOf(subtract(in[1], in[0])))
            return truth(function == "less"          ? gap->sign() > 0
                         : function == "lessOrEqual" ? gap->sign() >= 0
                                                     : gap->isZero());
    return std::nullopt;
}

bool Algebra::isNegativeFirst(const Expr& expr) const {
    return !expr.over.empty() && expr.over.begin()->second.sign() < 0;
}

bool Algebra::isNonNegative(const Monomial& monomial) const {
    return std::all_of(monomial.begin(), monomial.end(), [&](const auto& factor) {
        return factor.second % 2 == 0 || m_atoms[factor.first].isNonNegative;
    });
}

bool Algebra::isNonNegative(const Polynomial& polynomial) const {
    return m_arithmetic == Arithmetic::Reals &&
           std::all_of(polynomial.begin(), polynomial.end(), [&](const auto& term) {
               return term.second.sign() > 0 && isNonNegative(term.first);
           });
}

bool Algebra::isPositive(const Polynomial& polynomial) const {
    auto isLarger = [&](const auto& term) {
        return std::all_of(term.first.begin(), term.first.end(),
                           [&](const auto& factor) { return m_atoms[factor.first].isPositive; });
    };
    return isNonNegative(polynomial) && std::any_of(polynomial.begin(), polynomial.end(), isLarger);
}

bool Algebra::isPositive(const Expr& expr) const {
    return !expr.isNan && !expr.isBroken && isPositive(expr.over) && isPositive(expr.under);
}

bool Algebra::isNonNegative(const Expr& expr) const {
    return !expr.isNan && !expr.isBroken && isNonNegative(expr.over) && isPositive(expr.under);
}

} // namespace fuselage::algebra
