// SPDX-License-Identifier: Apache-2.0
// One element of a symbolic tensor: a quotient of polynomials over atoms. An atom is a variable or
// a function of such quotients. Only `Algebra` makes them, since an atom is a number in its table.
#pragma once

#include "core/algebra/fraction.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fuselage::algebra {

using AtomId = uint32_t;

/// Atoms with their powers, by atom; powers are at least 1.
using Monomial = std::vector<std::pair<AtomId, int>>;

/// Coefficients, none of them zero.
using Polynomial = std::map<Monomial, Fraction>;

/// What a shape is broadcast from, in words; a number of rank 0 has none.
using ShapeSources = std::set<std::string>;

struct Expr {
    Polynomial over;
    Polynomial under{{Monomial{}, Fraction(1)}};
    ShapeSources shape;
    bool isNan = false;    ///< as data: NaN stands where a number should
    bool isBroken = false; ///< a number or a polynomial became too large: equals nothing
};

/// A function of elements; how it behaves is decided when it is made.
struct Atom {
    std::string function; ///< "exp", "max", "MatMul"; "" for a variable
    std::string tag;      ///< attributes; the name of a variable
    std::vector<Expr> arguments;
    ShapeSources shape;
    std::string widths; ///< of arguments, where the function depends on their shapes
    bool isPositive = false;
    bool isNonNegative = false;
    std::set<std::string> constantOn; ///< axes along which it does not change; "*": all
};

Polynomial plus(const Polynomial& a, const Polynomial& b, const Fraction& times);
/// None when it has too many terms.
std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b);
Monomial product(const Monomial& a, const Monomial& b);

/// The number, when the expression is one.
std::optional<Fraction> numberOf(const Expr& expr);
/// The atom, when the expression is one alone.
std::optional<AtomId> atomOf(const Expr& expr);
bool isNumber(const Polynomial& polynomial);

/// "[0, 2, 1]".
std::string textOf(const std::vector<int64_t>& numbers);
std::string textOf(const ShapeSources& words);

} // namespace fuselage::algebra
