// SPDX-License-Identifier: Apache-2.0
// The largest element after a function that never falls is that function of the largest element:
// maxima of windows and along axes. A function that never rises turns the largest into the
// smallest. One layer is taken off at a time, so that a maximum ends at what nothing is known of.
#include "core/algebra/algebra.h"

#include <algorithm>

namespace fuselage::algebra {

namespace {

constexpr const char* noEmptyAxis = "no axis that is reduced has 0 elements";
constexpr const char* nanAlike = "a maximum treats NaN alike in front of a function and behind it";

bool isWindow(const std::string& function) {
    return function == "MaxPool" || function == "GlobalMaxPool";
}

bool alongAxes(const std::string& function) {
    return function == "rmax" || function == "rmin";
}

/// Never falls, of every number.
bool neverFalls(const std::string& function) {
    static const std::set<std::string> names{"exp",   "tanh", "erf",   "atan", "sinh",
                                             "asinh", "sign", "floor", "ceil", "roundEven"};
    return names.contains(function);
}

/// The coefficients of one atom and what stands without it; none where it has another power.
std::optional<std::pair<Polynomial, Polynomial>> linearIn(const Polynomial& polynomial, AtomId of) {
    std::pair<Polynomial, Polynomial> out;
    for (const auto& [monomial, coefficient] : polynomial) {
        Monomial rest;
        int power = 0;
        for (const auto& factor : monomial)
            if (factor.first == of)
                power = factor.second;
            else
                rest.push_back(factor);
        if (power > 1)
            return std::nullopt;
        (power == 1 ? out.first : out.second).emplace(std::move(rest), coefficient);
    }
    return out;
}

} // namespace

/// Rises or falls with an atom: 1 or -1, as (a x + b) / (c x + d) does; 0: not known.
int Algebra::directionIn(const Expr& expr, AtomId of) const {
    const auto over = linearIn(expr.over, of), under = linearIn(expr.under, of);
    if (!over || !under)
        return 0;
    if (under->first.empty()) {
        const Polynomial negated = plus({}, over->first, Fraction(-1));
        const int sign = isPositive(over->first) ? 1 : isPositive(negated) ? -1 : 0;
        return isPositive(under->second) ? sign : 0;
    }
    const bool isPlain = isNumber(over->first) && isNumber(over->second) &&
                         isNumber(under->first) && isNumber(under->second);
    if (!isPlain || !isPositive(expr.under)) // a pole lies between
        return 0;
    auto valueOf = [](const Polynomial& number) {
        return number.empty() ? Fraction(0) : number.begin()->second;
    };
    const Fraction gap = valueOf(over->first) * valueOf(under->second) -
                         valueOf(over->second) * valueOf(under->first);
    return gap.valid() ? gap.sign() : 0;
}

/// Whether no atom of it moves with the places that a maximum is taken over.
bool Algebra::isFixed(const Expr& expr, const std::string& function, const std::string& tag) const {
    if (!isWindow(function))
        return isConstantOn(expr, tag);
    auto isOne = [&](const auto& term) {
        return std::all_of(term.first.begin(), term.first.end(),
                           [&](const auto& factor) { return m_atoms[factor.first].shape.empty(); });
    };
    return std::all_of(expr.over.begin(), expr.over.end(), isOne) &&
           std::all_of(expr.under.begin(), expr.under.end(), isOne);
}

/// One slope below zero and another one above, none of them negative. `pick` takes the maximum.
std::optional<Expr> Algebra::byHalves(const Atom& select, const MaximumOf& pick,
                                      const std::string& function, const std::string& tag) {
    const auto condition = atomOf(select.arguments[0]);
    if (!condition)
        return std::nullopt;
    const Atom compares = m_atoms[*condition];
    if (compares.function != "less" && compares.function != "lessOrEqual")
        return std::nullopt;
    const size_t inner = compares.arguments[1].over.empty() ? 0 : 1;
    const Expr of = compares.arguments[inner], zero = compares.arguments[1 - inner];
    if (!zero.over.empty() || zero.isNan || of.over.empty() ||
        (isWindow(function) && of.shape != select.shape))
        return std::nullopt;
    auto* quiet = std::exchange(demands, nullptr);
    std::vector<Expr> slopes{divide(select.arguments[1], of), divide(select.arguments[2], of)};
    std::optional<Expr> out;
    if (std::all_of(slopes.begin(), slopes.end(), [&](const Expr& slope) {
            return isFixed(slope, function, tag) && isNonNegative(slope);
        })) {
        const Expr picked = pick(of);
        const std::vector<Expr> compared =
            inner == 0 ? std::vector{picked, zero} : std::vector{zero, picked};
        out = make("select", {make(compares.function, compared), multiply(slopes[0], picked),
                              multiply(slopes[1], picked)});
    }
    demands = quiet;
    return out;
}

/// Through a quotient that one atom alone moves.
std::optional<Expr> Algebra::throughQuotient(const Expr& body, const std::string& function,
                                             const std::vector<Expr>& in, const std::string& tag) {
    std::set<AtomId> moving;
    for (const Polynomial* side : {&body.over, &body.under})
        for (const auto& term : *side)
            for (const auto& factor : term.first)
                if (!isFixed(ofAtom(factor.first), function, tag))
                    moving.insert(factor.first);
    if (moving.size() != 1)
        return std::nullopt;
    const AtomId atom = *moving.begin();
    const int direction = directionIn(body, atom);
    const bool isPool = isWindow(function);
    if (direction == 0 || (isPool && (direction < 0 || m_atoms[atom].shape != body.shape)))
        return std::nullopt;
    std::vector<Expr> operands = in;
    operands[0] = ofAtom(atom);
    const char* turned = function == "rmax" ? "rmin" : "rmax";
    auto* quiet = std::exchange(demands, nullptr);
    const Expr picked = make(direction > 0 ? function : turned, operands, tag);
    auto side = [&](const Polynomial& polynomial) {
        const auto parts = linearIn(polynomial, atom);
        return add(multiply(ofPolynomial(parts->first, {}), picked),
                   ofPolynomial(parts->second, {}));
    };
    Expr out = divide(side(body.over), side(body.under));
    demands = quiet;
    return out;
}

std::optional<Expr> Algebra::overMaximum(const std::string& function, const std::vector<Expr>& in,
                                         const std::string& tag) {
    const bool isPool = isWindow(function);
    if (m_arithmetic == Arithmetic::Bits || (!isPool && !alongAxes(function)) || in[0].isNan)
        return std::nullopt;
    const bool isReal = m_arithmetic == Arithmetic::Reals;
    const MaximumOf picked = [&](const Expr& of) {
        std::vector<Expr> operands = in;
        operands[0] = of;
        return make(function, operands, tag);
    };
    auto isOneNumber = [&](const Expr& expr) {
        return isPool ? expr.shape.empty() : isConstantOn(expr, tag);
    };
    std::optional<Expr> out;
    if (const auto id = atomOf(in[0])) {
        const Atom atom = m_atoms[*id];
        const std::vector<Expr>& of = atom.arguments;
        if (isPool && atom.function == "QuantizeLinear") {
            note("scales are above zero");
            std::vector<Expr> stored = of;
            stored[0] = picked(of[0]);
            return make(atom.function, stored, atom.tag);
        }
        const bool picks = atom.function == "max" || atom.function == "min";
        for (size_t i = 0; picks && !out && i < 2; ++i)
            if (isOneNumber(of[1 - i]))
                out = make(atom.function, {picked(of[i]), of[1 - i]}, atom.tag);
        if (isReal && neverFalls(atom.function))
            out = make(atom.function, {picked(of[0])}, atom.tag);
        if (isReal && atom.function == "select")
            out = byHalves(atom, picked, function, tag);
    } else if (isReal && !isFixed(in[0], function, tag)) {
        out = throughQuotient(in[0], function, in, tag);
    }
    if (!out)
        return std::nullopt;
    note(nanAlike);
    if (!isPool)
        note(noEmptyAxis);
    if (function == "MaxPool")
        note(noEmptyWindow);
    return out;
}

} // namespace fuselage::algebra
