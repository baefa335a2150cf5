// SPDX-License-Identifier: Apache-2.0
// Makes expressions and says whether two are equal. Which laws hold depends on the arithmetic: real
// numbers have them all, the bits of floats almost none, integers those of a ring. What it calls
// equal is; what it does not may be equal all the same.
#pragma once

#include "core/algebra/expr.h"
#include "core/graph/dtype.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::algebra {

enum class Arithmetic : uint8_t {
    Reals,    ///< rounding and overflow aside
    Bits,     ///< floats as they are stored; NaN is one value
    Integers, ///< modulo a power of two; quotients are functions that nothing is known of
};

/// What must hold for an operator to give a number, or to stay within its type.
struct Demand {
    enum class Kind : uint8_t {
        NotZero,
        NotNegative,
        Positive,
        Grows,   ///< no demand of real numbers: an exponential or logarithm of this may leave its
                 ///< type
        HasRest, ///< of any numbers: a view of this, in which -1 stands for nothing where another
                 ///< dimension is 0
    };

    Kind kind = Kind::NotZero;
    Expr of;
};

/// Sums along axes and moves read elements of other places than that of their result.
enum class Reach : uint8_t { Everywhere, SamePlace };

class Algebra {
public:
    /// `tapeType`: of what elementwise operators compute.
    Algebra(Arithmetic arithmetic, DType tapeType)
        : m_arithmetic(arithmetic), m_tapeType(tapeType) {}

    DType tapeType() const { return m_tapeType; }

    Arithmetic arithmetic() const { return m_arithmetic; }

    Expr number(double value);
    Expr whole(int64_t value) const;
    Expr nan() const;
    Expr variable(const std::string& name, ShapeSources shape, bool isUniform = false);
    /// The function of tapes or operators with that name; `tag` holds what else it depends on.
    Expr make(const std::string& function, std::vector<Expr> arguments,
              const std::string& tag = {});

    Expr add(const Expr& a, const Expr& b) { return make("add", {a, b}); }

    Expr subtract(const Expr& a, const Expr& b) { return make("sub", {a, b}); }

    Expr multiply(const Expr& a, const Expr& b) { return make("mul", {a, b}); }

    Expr divide(const Expr& a, const Expr& b) { return make("div", {a, b}); }

    bool equal(const Expr& a, const Expr& b);
    bool isPositive(const Expr& expr) const;
    bool isNonNegative(const Expr& expr) const;
    bool isConstantOn(const Expr& expr, const std::string& axes) const;

    const Atom& atom(AtomId id) const { return m_atoms[id]; }

    /// All atoms in it, those inside of arguments first.
    std::vector<AtomId> atomsOf(const Expr& expr, Reach reach = Reach::Everywhere) const;
    Expr substitute(const Expr& expr, AtomId atom, const Expr& by, Reach reach = Reach::Everywhere);

    /// Where operators put what they demand; null: nowhere.
    std::vector<Demand>* demands = nullptr;

    /// Words that are known to mean the same, set before anything is made.
    std::map<std::string, std::string> aliases;

    /// Variables that are NaN, by name; set before anything is made, so that none cancels.
    std::set<std::string> nans;

    /// What was taken for granted, in words: "0.1666666667 for 1/6".
    const std::set<std::string>& notes() const { return m_notes; }

    void note(std::string what) { m_notes.insert(std::move(what)); }

private:
    Expr ofPolynomial(Polynomial over, ShapeSources shape);
    Expr ofAtom(AtomId atom);
    Expr quotient(Polynomial over, Polynomial under, ShapeSources shape);
    Expr withoutRoots(const Expr& expr, bool isOver);
    Expr literal(const std::string& text, bool isPositive);
    Expr apply(const std::string& function, std::vector<Expr> arguments, const std::string& tag,
               std::optional<ShapeSources> shape = {});
    void noteTraits(Atom& atom) const;
    ShapeSources joined(const std::vector<Expr>& arguments) const;
    std::optional<Expr> ofNan(const std::string& function);
    std::optional<Expr> arithmeticOf(const std::string& function, const std::vector<Expr>& in);
    std::optional<Expr> bitsOf(const std::string& function, const std::vector<Expr>& in);
    std::optional<Expr> pieceOf(const std::string& function, const std::vector<Expr>& in,
                                const std::string& tag);
    std::optional<Expr> conditionOf(const std::string& function, const std::vector<Expr>& in);
    std::optional<Expr> realOf(const std::string& function, const std::vector<Expr>& in);
    std::optional<Expr> reduced(const std::string& function, const Expr& body,
                                const std::string& tag);
    std::optional<Expr> moved(const std::string& function, const std::vector<Expr>& in,
                              const std::string& tag);
    using MaximumOf = std::function<Expr(const Expr&)>;
    std::optional<Expr> overMaximum(const std::string& function, const std::vector<Expr>& in,
                                    const std::string& tag);
    std::optional<Expr> throughQuotient(const Expr& body, const std::string& function,
                                        const std::vector<Expr>& in, const std::string& tag);
    std::optional<Expr> byHalves(const Atom& select, const MaximumOf& pick,
                                 const std::string& function, const std::string& tag);
    bool isFixed(const Expr& expr, const std::string& function, const std::string& tag) const;
    bool commutes(const std::string& function) const;
    bool isPickOfBits(const std::string& function) const;
    int directionIn(const Expr& expr, AtomId of) const;
    Expr exponential(const Expr& of);
    Expr logarithm(const Expr& of);
    Expr logarithmOf(const Polynomial& polynomial, const ShapeSources& shape);
    Expr power(const Expr& base, int64_t exponent);
    Expr root(const Expr& of);
    Expr rootOf(const Fraction& number);
    bool isNegativeFirst(const Expr& expr) const;
    bool isPositive(const Polynomial& polynomial) const;
    bool isNonNegative(const Polynomial& polynomial) const;
    bool isNonNegative(const Monomial& monomial) const;
    std::optional<double> literalOf(const Expr& expr) const;
    void demand(Demand::Kind kind, const Expr& of);

    Arithmetic m_arithmetic;
    DType m_tapeType;
    std::vector<Atom> m_atoms;
    std::set<std::string> m_notes;
    std::map<std::string, ShapeSources> m_reducedFrom; ///< by the word for a reduced shape
};

/// A note of a proof that no longer holds where a window has none of the elements.
inline constexpr const char* noEmptyWindow = "no window lies in the border alone";

/// Whether an element of the result depends on the elements at its own place alone.
bool keepsPlaces(const std::string& function);

} // namespace fuselage::algebra
