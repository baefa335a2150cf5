// SPDX-License-Identifier: Apache-2.0
// Functions of whole tensors whose laws are known: sums and means along axes, operators that only
// give elements another place.
#include "core/algebra/algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fuselage::algebra {

namespace {

constexpr const char* positiveScales = "scales are above zero";

bool reduces(const std::string& function) {
    return function == "rsum" || function == "rmean" || function == "rmax" || function == "rmin";
}

/// Elements keep their values and get another place, which depends on shapes alone.
bool moves(const std::string& function) {
    static const std::set<std::string> names{
        "Transpose", "Reshape",      "Flatten",      "Squeeze", "Unsqueeze",
        "Slice",     "Gather",       "Expand",       "Tile",    "GatherElements",
        "GatherND",  "DepthToSpace", "SpaceToDepth", "channels"};
    return names.contains(function);
}

/// "[0, 2, 1]" as numbers; none for words.
std::optional<std::vector<int64_t>> numbersOf(const std::string& text) {
    if (text.size() < 2 || text.front() != '[' || text.back() != ']')
        return std::nullopt;
    std::vector<int64_t> out;
    const char* at = text.data() + 1;
    const char* end = text.data() + text.size() - 1;
    while (at < end) {
        int64_t number = 0;
        auto [next, error] = std::from_chars(at, end, number);
        if (error != std::errc())
            return std::nullopt;
        out.push_back(number);
        at = next;
        while (at < end && (*at == ',' || *at == ' '))
            ++at;
    }
    return out;
}

std::string composed(const std::string& inner, const std::string& outer) {
    auto first = numbersOf(inner), second = numbersOf(outer);
    if (!first || !second)
        return inner + "[" + outer + "]";
    std::vector<int64_t> out;
    for (int64_t place : *second) {
        if (place < 0 || place >= static_cast<int64_t>(first->size()))
            return inner + "[" + outer + "]";
        out.push_back((*first)[static_cast<size_t>(place)]);
    }
    return textOf(out);
}

bool isIdentity(const std::string& order, const std::string& variable) {
    if (order == "range(rank(" + variable + "))")
        return true;
    auto numbers = numbersOf(order);
    if (!numbers)
        return false;
    for (size_t i = 0; i < numbers->size(); ++i)
        if ((*numbers)[i] != static_cast<int64_t>(i))
            return false;
    return !numbers->empty();
}

} // namespace

/// A sum is linear; what does not change along its axes stands in front of it.
std::optional<Expr> Algebra::reduced(const std::string& function, const Expr& body,
                                     const std::string& tag) {
    if (!reduces(function))
        return std::nullopt;
    ShapeSources shape;
    if (!body.shape.empty()) {
        const std::string word = fmt::format("reduced({}; {})", tag, textOf(body.shape));
        m_reducedFrom[word] = body.shape;
        shape = {word};
    }
    const bool isReal = m_arithmetic == Arithmetic::Reals;
    if (isReal && function != "rsum" && isConstantOn(body, tag))
        return body;
    if (auto out = overMaximum(function, {body}, tag)) {
        out->shape = shape;
        return out;
    }
    Expr under = ofPolynomial(body.under, body.shape);
    if (!isReal || function == "rmax" || function == "rmin" || !isConstantOn(under, tag))
        return apply(function, {body}, tag, shape);
    Expr out;
    for (const auto& [monomial, coefficient] : body.over) {
        Monomial before, inside;
        for (const auto& factor : monomial) {
            const std::set<std::string>& on = m_atoms[factor.first].constantOn;
            (on.contains(tag) || on.contains("*") ? before : inside).push_back(factor);
        }
        Expr term = ofPolynomial({{before, coefficient}}, {});
        if (!inside.empty() || function == "rsum")
            term =
                multiply(term, apply(function, {ofPolynomial({{inside, Fraction(1)}}, body.shape)},
                                     tag, shape));
        out = add(out, term);
    }
    auto* quiet = std::exchange(demands, nullptr);
    out = divide(out, under);
    demands = quiet;
    out.shape = shape;
    return out;
}

std::optional<Expr> Algebra::moved(const std::string& function, const std::vector<Expr>& in,
                                   const std::string& tag) {
    if (function == "Identity")
        return in[0];
    if (function == "QuantizeLinear" && in.size() == 3 && tag.ends_with("uint8")) {
        auto id = atomOf(in[0]);
        auto isNothing = [&](const Expr& each) {
            auto literal = literalOf(each);
            return (literal && *literal == 0) || (numberOf(each) && numberOf(each)->isZero());
        };
        if (id && isNothing(in[2]) && m_atoms[*id].function == "max") {
            const std::vector<Expr> of = m_atoms[*id].arguments;
            for (size_t i : {0U, 1U})
                if (isNothing(of[i])) { // what is below zero is stored as zero
                    note(positiveScales);
                    return make(function, {of[1 - i], in[1], in[2]}, tag);
                }
        }
    }
    const auto id = atomOf(in[0]);
    if (auto out = overMaximum(function, in, tag))
        return out;
    if (!moves(function))
        return std::nullopt;
    auto placed = [&](const Expr& of) {
        std::vector<Expr> operands = in;
        operands[0] = of;
        return of.shape.empty() ? of : make(function, operands, tag);
    };
    if (id) {
        const Atom atom = m_atoms[*id];
        if (function == "Transpose" && atom.function.empty() && isIdentity(tag, atom.tag))
            return in[0];
        if (function == "Transpose" && atom.function == "Transpose") {
            std::string order = composed(atom.tag, tag);
            if (auto alias = aliases.find(order); alias != aliases.end())
                order = alias->second;
            return make("Transpose", atom.arguments, order);
        }
        const bool stores =
            atom.function == "QuantizeLinear" || atom.function == "DequantizeLinear";
        std::vector<Expr> operands = atom.arguments;
        bool fits = !operands.empty() && atom.widths.empty();
        for (size_t i = 0; i < operands.size(); ++i)
            fits = fits && ((stores && i > 0) || operands[i].shape.empty() ||
                            operands[i].shape == atom.shape);
        const bool isLocal = keepsPlaces(atom.function);
        if (!fits || !isLocal)
            return std::nullopt;
        for (size_t i = 0; i < operands.size(); ++i)
            if (i == 0 || !stores)
                operands[i] = placed(operands[i]);
        return make(atom.function, operands, atom.tag);
    }
    // A polynomial: each of its atoms, where none of them is broadcast.
    Expr out = in[0];
    std::set<AtomId> atoms;
    for (const Polynomial* side : {&in[0].over, &in[0].under})
        for (const auto& term : *side)
            for (const auto& factor : term.first)
                atoms.insert(factor.first);
    for (AtomId each : atoms)
        if (!m_atoms[each].shape.empty() && m_atoms[each].shape != in[0].shape)
            return std::nullopt;
    if (atoms.empty() || m_arithmetic == Arithmetic::Bits)
        return std::nullopt;
    auto side = [&](const Polynomial& polynomial) {
        Expr sum;
        for (const auto& [monomial, coefficient] : polynomial) {
            Expr term = ofPolynomial({{Monomial{}, coefficient}}, {});
            for (const auto& [each, exponent] : monomial)
                for (int i = 0; i < exponent; ++i)
                    term = multiply(term, placed(ofAtom(each)));
            sum = add(sum, term);
        }
        return sum;
    };
    auto* quiet = std::exchange(demands, nullptr);
    out = side(in[0].over);
    if (!isNumber(in[0].under))
        out = divide(out, side(in[0].under));
    demands = quiet;
    return out;
}

} // namespace fuselage::algebra
