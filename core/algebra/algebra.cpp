// SPDX-License-Identifier: Apache-2.0
// Numbers, variables, quotients, and the table of atoms; which law is tried when.
#include "core/algebra/algebra.h"

#include "core/ops/tape.h"
#include "core/support/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fuselage::algebra {

namespace {

const std::set<std::string>& tapeFunctions() {
    static const std::set<std::string> names = [] {
        std::set<std::string> out{"Cast", "QuantizeLinear", "DequantizeLinear"};
        for (size_t op = 0; op < tapeOpCount; ++op)
            out.insert(nameOf(static_cast<TapeOp>(op)));
        return out;
    }();
    return names;
}

/// Whether broadcasting operands before or after it is the same.
bool keepsWidths(const std::string& function) {
    return tapeFunctions().contains(function) || function == "rmean" || function == "rmax" ||
           function == "rmin";
}

bool storesIntegers(const std::string& function) {
    return function == "QuantizeLinear" || function == "DequantizeLinear";
}

Monomial common(const Monomial& a, const Monomial& b) {
    Monomial out;
    for (const auto& [atom, exponent] : a)
        for (const auto& [other, times] : b)
            if (atom == other)
                out.emplace_back(atom, std::min(exponent, times));
    return out;
}

Monomial without(const Monomial& from, const Monomial& part) {
    Monomial out;
    for (const auto& [atom, exponent] : from) {
        int left = exponent;
        for (const auto& [other, times] : part)
            left -= atom == other ? times : 0;
        if (left > 0)
            out.emplace_back(atom, left);
    }
    return out;
}

Polynomial without(const Polynomial& from, const Monomial& part) {
    Polynomial out;
    for (const auto& [monomial, coefficient] : from)
        out.emplace(without(monomial, part), coefficient);
    return out;
}

bool isValid(const Polynomial& polynomial) {
    return std::all_of(polynomial.begin(), polynomial.end(),
                       [](const auto& term) { return term.second.valid(); });
}

Expr broken() {
    Expr out;
    out.isBroken = true;
    return out;
}

} // namespace

bool keepsPlaces(const std::string& function) {
    return tapeFunctions().contains(function);
}

/// Which of 0 and -0 is the larger one depends on their order.
bool Algebra::isPickOfBits(const std::string& function) const {
    return m_arithmetic == Arithmetic::Bits && isFloat(m_tapeType) &&
           (function == "max" || function == "min");
}

bool Algebra::commutes(const std::string& function) const {
    static const std::set<std::string> names{"add", "mul",    "max",   "min",    "and",  "or",
                                             "xor", "bitAnd", "bitOr", "bitXor", "equal"};
    return names.contains(function) && !isPickOfBits(function);
}

Expr Algebra::whole(int64_t value) const {
    Expr out;
    if (value != 0)
        out.over[{}] = Fraction(value);
    return out;
}

Expr Algebra::nan() const {
    Expr out;
    out.isNan = true;
    return out;
}

Expr Algebra::literal(const std::string& text, bool isPositive) {
    Expr out = apply("literal", {}, text, ShapeSources{});
    Atom& atom = m_atoms[*atomOf(out)];
    atom.isPositive = atom.isNonNegative = isPositive;
    atom.constantOn = {"*"};
    return out;
}

/// Of real numbers: the fraction or the root that the digits stand for.
Expr Algebra::number(double value) {
    if (m_arithmetic == Arithmetic::Bits || !std::isfinite(value))
        return literal(fmt::format("{:a}", value), value > 0);
    if (m_arithmetic == Arithmetic::Integers)
        return value == std::round(value) && std::fabs(value) < 1e15
                   ? whole(static_cast<int64_t>(value))
                   : literal(fmt::format("{:a}", value), value > 0);
    auto reads = [&](const std::string& as, double exactly) {
        if (std::fabs(exactly - value) > 1e-15 * std::fabs(value))
            m_notes.insert(fmt::format("{:.10g} for {}", value, as));
    };
    if (auto fraction = Fraction::near(value)) {
        reads(fmt::format("{}/{}", fraction->over(), fraction->under()), fraction->value());
        Expr out;
        if (!fraction->isZero())
            out.over[{}] = *fraction;
        return out;
    }
    const Expr sign = whole(value < 0 ? -1 : 1);
    auto square = Fraction::near(value * value * (1 + 1e-12));
    if (square && square->under() <= 100 && square->over() <= 1000) {
        reads(fmt::format("sqrt({}/{})", square->over(), square->under()),
              std::copysign(std::sqrt(square->value()), value));
        return multiply(sign, rootOf(*square));
    }
    square = Fraction::near(value * value * std::numbers::pi);
    if (square && square->under() <= 100 && square->over() <= 1000) {
        const std::string as = fmt::format("sqrt({}/{}/pi)", square->over(), square->under());
        reads(as, std::copysign(std::sqrt(square->value() / std::numbers::pi), value));
        return multiply(sign, literal(as, true));
    }
    return literal(fmt::format("{:a}", value), value > 0);
}

std::optional<double> Algebra::literalOf(const Expr& expr) const {
    auto id = atomOf(expr);
    if (!id || m_atoms[*id].function != "literal")
        return std::nullopt;
    return numberIn(m_atoms[*id].tag);
}

Expr Algebra::variable(const std::string& name, ShapeSources shape, bool isUniform) {
    if (nans.contains(name))
        return nan();
    Atom atom{"", name, {}, std::move(shape), {}};
    if (isUniform)
        atom.constantOn = {"*"};
    m_atoms.push_back(std::move(atom));
    return ofAtom(static_cast<AtomId>(m_atoms.size() - 1));
}

Expr Algebra::ofAtom(AtomId atom) {
    Expr out;
    out.over[{{atom, 1}}] = Fraction(1);
    out.shape = m_atoms[atom].shape;
    return out;
}

Expr Algebra::ofPolynomial(Polynomial over, ShapeSources shape) {
    return quotient(std::move(over), {{Monomial{}, Fraction(1)}}, std::move(shape));
}

Expr Algebra::quotient(Polynomial over, Polynomial under, ShapeSources shape) {
    if (under.empty() || !isValid(over) || !isValid(under))
        return broken();
    Expr out;
    out.shape = std::move(shape);
    if (over.empty())
        return out;
    Monomial shared = over.begin()->first;
    for (const Polynomial* side : {&over, &under})
        for (const auto& term : *side)
            shared = common(shared, term.first);
    if (!shared.empty()) {
        over = without(over, shared);
        under = without(under, shared);
    }
    const Fraction lead = under.begin()->second;
    const Fraction ratio = over.begin()->second / lead;
    if (plus(over, under, -ratio).empty()) {
        out.over = {{Monomial{}, ratio}};
        return out;
    }
    for (Polynomial* side : {&over, &under})
        for (auto& term : *side)
            term.second = term.second / lead;
    out.over = std::move(over);
    out.under = std::move(under);
    if (!isValid(out.over) || !isValid(out.under))
        return broken();
    return withoutRoots(withoutRoots(out, true), false);
}

/// The square of a root is what stands under it.
Expr Algebra::withoutRoots(const Expr& expr, bool isOver) {
    const Polynomial& side = isOver ? expr.over : expr.under;
    auto squared = [&](const std::pair<AtomId, int>& factor) {
        return factor.second > 1 && m_atoms[factor.first].function == "sqrt";
    };
    bool any = std::any_of(side.begin(), side.end(), [&](const auto& term) {
        return std::any_of(term.first.begin(), term.first.end(), squared);
    });
    if (expr.isBroken || !any)
        return expr;
    Expr sum;
    for (const auto& [monomial, coefficient] : side) {
        Monomial rest;
        Expr term = whole(1);
        for (const auto& factor : monomial) {
            if (!squared(factor)) {
                rest.push_back(factor);
                continue;
            }
            const Expr under = m_atoms[factor.first].arguments[0];
            term = multiply(term, power(under, factor.second / 2));
            if (factor.second % 2 == 1)
                rest.emplace_back(factor.first, 1);
        }
        sum = add(sum, multiply(term, ofPolynomial({{rest, coefficient}}, {})));
    }
    sum.shape = expr.shape;
    Expr other = ofPolynomial(isOver ? expr.under : expr.over, expr.shape);
    auto* quiet = std::exchange(demands, nullptr);
    Expr out = isOver ? divide(sum, other) : divide(other, sum);
    demands = quiet;
    out.shape = expr.shape;
    return out;
}

void Algebra::demand(Demand::Kind kind, const Expr& of) {
    if (!demands || m_arithmetic != Arithmetic::Reals || of.isNan || of.isBroken ||
        isPositive(of) || (kind == Demand::Kind::NotNegative && isNonNegative(of)))
        return;
    if (kind == Demand::Kind::NotZero) {
        if (of.over.size() == 1) { // a product: each factor
            for (const auto& factor : of.over.begin()->first) {
                const Atom& atom = m_atoms[factor.first];
                if (atom.isPositive)
                    continue;
                if (atom.function == "sqrt")
                    demands->push_back({Demand::Kind::Positive, atom.arguments[0]});
                else
                    demands->push_back({kind, ofAtom(factor.first)});
            }
            return;
        }
        Expr over = of;
        over.under = {{Monomial{}, Fraction(1)}};
        if (!isPositive(over))
            demands->push_back({kind, over});
        return;
    }
    demands->push_back({kind, of});
}

ShapeSources Algebra::joined(const std::vector<Expr>& arguments) const {
    ShapeSources all;
    for (const Expr& each : arguments)
        all.insert(each.shape.begin(), each.shape.end());
    // A dimension that was reduced to 1 widens nothing that it came from.
    ShapeSources out;
    for (const std::string& source : all) {
        auto from = m_reducedFrom.find(source);
        const bool absorbed =
            from != m_reducedFrom.end() && !from->second.empty() &&
            std::includes(all.begin(), all.end(), from->second.begin(), from->second.end());
        if (!absorbed)
            out.insert(source);
    }
    return out;
}

Expr Algebra::apply(const std::string& function, std::vector<Expr> arguments,
                    const std::string& tag, std::optional<ShapeSources> shape) {
    const bool turns = commutes(function) && arguments.size() == 2;
    std::string widths;
    if (!keepsWidths(function))
        for (const Expr& argument : arguments)
            widths += textOf(argument.shape);
    for (size_t id = 0; id < m_atoms.size(); ++id) {
        const Atom atom = m_atoms[id];
        if (atom.function != function || atom.tag != tag || atom.widths != widths ||
            atom.arguments.size() != arguments.size())
            continue;
        auto same = [&](bool turned) {
            for (size_t i = 0; i < arguments.size(); ++i)
                if (!equal(atom.arguments[turned ? 1 - i : i], arguments[i]))
                    return false;
            return true;
        };
        if (same(false) || (turns && same(true)))
            return ofAtom(static_cast<AtomId>(id));
    }
    Atom atom{function, tag, std::move(arguments), {}, std::move(widths)};
    if (shape)
        atom.shape = std::move(*shape);
    else if (storesIntegers(function))
        atom.shape = atom.arguments[0].shape;
    else if (tapeFunctions().contains(function))
        atom.shape = joined(atom.arguments);
    else
        atom.shape = {fmt::format("{} {}", function, m_atoms.size())};
    noteTraits(atom);
    m_atoms.push_back(std::move(atom));
    return ofAtom(static_cast<AtomId>(m_atoms.size() - 1));
}

void Algebra::noteTraits(Atom& atom) const {
    const std::string& f = atom.function;
    const std::vector<Expr>& in = atom.arguments;
    auto all = [&](auto holds) { return !in.empty() && std::all_of(in.begin(), in.end(), holds); };
    auto positive = [&](const Expr& each) { return isPositive(each); };
    auto nonNegative = [&](const Expr& each) { return isNonNegative(each); };
    const bool keepsSign = f == "rsum" || f == "rmean" || f == "rmax" || f == "rmin" || f == "min";
    if (m_arithmetic == Arithmetic::Reals) {
        atom.isPositive = f == "exp" || f == "cosh" ||
                          ((keepsSign || f == "max" || f == "sqrt") && all(positive));
        atom.isNonNegative =
            atom.isPositive || f == "abs" || f == "sqrt" || (keepsSign && all(nonNegative)) ||
            (f == "max" && std::any_of(in.begin(), in.end(), nonNegative)) ||
            (f == "select" && in.size() == 3 && nonNegative(in[1]) && nonNegative(in[2]));
    }
    if (f == "rsum" || f == "rmean" || f == "rmax" || f == "rmin")
        atom.constantOn.insert(atom.tag);
    if (!tapeFunctions().contains(f))
        return;
    std::set<std::string> axes{"*"};
    for (const Expr& each : in)
        for (const Polynomial* side : {&each.over, &each.under})
            for (const auto& term : *side)
                for (const auto& factor : term.first)
                    axes.insert(m_atoms[factor.first].constantOn.begin(),
                                m_atoms[factor.first].constantOn.end());
    for (const std::string& axis : axes)
        if (all([&](const Expr& each) { return isConstantOn(each, axis); }))
            atom.constantOn.insert(axis);
}

bool Algebra::isConstantOn(const Expr& expr, const std::string& axes) const {
    for (const Polynomial* side : {&expr.over, &expr.under})
        for (const auto& term : *side)
            for (const auto& factor : term.first) {
                const std::set<std::string>& on = m_atoms[factor.first].constantOn;
                if (!on.contains(axes) && !on.contains("*"))
                    return false;
            }
    return true;
}

Expr Algebra::make(const std::string& function, std::vector<Expr> in, const std::string& tag) {
    if (std::any_of(in.begin(), in.end(), [](const Expr& each) { return each.isBroken; }))
        return broken();
    if (std::any_of(in.begin(), in.end(), [](const Expr& each) { return each.isNan; }))
        if (auto made = ofNan(function))
            return *made;
    std::optional<Expr> made;
    if (m_arithmetic == Arithmetic::Bits)
        made = bitsOf(function, in);
    else
        made = arithmeticOf(function, in);
    if (!made)
        made = pieceOf(function, in, tag);
    if (!made)
        made = conditionOf(function, in);
    if (!made && m_arithmetic == Arithmetic::Reals)
        made = realOf(function, in);
    if (made && keepsPlaces(function)) // an operand that a law drops widens the result all the same
        made->shape = storesIntegers(function) ? in[0].shape : joined(in);
    if (!made && !in.empty())
        made = reduced(function, in[0], tag);
    if (!made && !in.empty())
        made = moved(function, in, tag);
    return made ? *made : apply(function, std::move(in), tag);
}

bool Algebra::equal(const Expr& a, const Expr& b) {
    if (a.isBroken || b.isBroken || a.isNan != b.isNan)
        return false;
    if (a.isNan || (a.over == b.over && a.under == b.under))
        return true;
    if (m_arithmetic == Arithmetic::Bits)
        return false;
    const Expr difference = subtract(a, b);
    return !difference.isBroken && difference.over.empty();
}

std::vector<AtomId> Algebra::atomsOf(const Expr& expr, Reach reach) const {
    std::vector<AtomId> out;
    std::set<AtomId> seen;
    auto visit = [&](auto&& self, const Expr& each) -> void {
        for (const Polynomial* side : {&each.over, &each.under})
            for (const auto& term : *side)
                for (const auto& factor : term.first) {
                    if (!seen.insert(factor.first).second)
                        continue;
                    const Atom& atom = m_atoms[factor.first];
                    if (reach == Reach::Everywhere || keepsPlaces(atom.function))
                        for (const Expr& argument : atom.arguments)
                            self(self, argument);
                    out.push_back(factor.first);
                }
    };
    visit(visit, expr);
    return out;
}

Expr Algebra::substitute(const Expr& expr, AtomId atom, const Expr& by, Reach reach) {
    std::map<AtomId, Expr> made{{atom, by}};
    auto rebuilt = [&](auto&& self, const Expr& each) -> Expr {
        if (each.isNan || each.isBroken)
            return each;
        auto side = [&](const Polynomial& polynomial) {
            Expr sum;
            for (const auto& [monomial, coefficient] : polynomial) {
                Expr term = ofPolynomial({{Monomial{}, coefficient}}, {});
                for (const auto& [id, exponent] : monomial) {
                    auto found = made.find(id);
                    if (found == made.end()) {
                        const Atom old = m_atoms[id];
                        std::vector<Expr> arguments;
                        for (const Expr& argument : old.arguments)
                            arguments.push_back(self(self, argument));
                        const bool plain = arguments.empty() || (reach == Reach::SamePlace &&
                                                                 !keepsPlaces(old.function));
                        Expr again = plain ? ofAtom(id) : make(old.function, arguments, old.tag);
                        found = made.emplace(id, std::move(again)).first;
                    }
                    const Expr base = found->second;
                    if (m_arithmetic == Arithmetic::Bits)
                        return base; // one atom alone
                    for (int i = 0; i < exponent; ++i)
                        term = multiply(term, base);
                }
                sum = add(sum, term);
            }
            return sum;
        };
        Expr out = side(each.over);
        if (!isNumber(each.under) || each.under.begin()->second.over() != 1)
            out = divide(out, side(each.under));
        if (!out.isNan && !out.isBroken)
            out.shape = each.shape;
        return out;
    };
    auto* quiet = std::exchange(demands, nullptr);
    Expr out = rebuilt(rebuilt, expr);
    demands = quiet;
    return out;
}

} // namespace fuselage::algebra
