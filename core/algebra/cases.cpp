// SPDX-License-Identifier: Apache-2.0
#include "core/algebra/cases.h"

#include <algorithm>

namespace fuselage::algebra {

namespace {

constexpr size_t mostRows = 1500;
constexpr int mostSplits = 400;
constexpr int deepest = 14;

/// Sum of terms + constant >= 0, or > 0.
struct Row {
    Polynomial sum;
    bool isStrict = false;
};

bool isSettled(const Row& row) {
    return isNumber(row.sum);
}

bool fails(const Row& row) {
    const int sign = row.sum.empty() ? 0 : row.sum.begin()->second.sign();
    return isSettled(row) && (sign < 0 || (sign == 0 && row.isStrict));
}

bool hasNumbers(const Row& row) {
    return std::all_of(row.sum.begin(), row.sum.end(),
                       [](const auto& term) { return term.second.valid(); });
}

/// Fourier and Motzkin: each product of atoms is a variable of its own.
bool hasNoSolution(std::vector<Row> rows) {
    for (;;) {
        std::map<Monomial, std::pair<size_t, size_t>> signs;
        for (const Row& row : rows) {
            if (fails(row))
                return true;
            for (const auto& [monomial, coefficient] : row.sum)
                if (!monomial.empty())
                    ++(coefficient.sign() > 0 ? signs[monomial].first : signs[monomial].second);
        }
        if (signs.empty())
            return false;
        auto cost = [](const auto& entry) { return entry.second.first * entry.second.second; };
        const auto cheapest =
            std::min_element(signs.begin(), signs.end(),
                             [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
        const Monomial variable = cheapest->first;
        std::vector<Row> left, below, above;
        for (Row& row : rows) {
            auto found = row.sum.find(variable);
            if (found == row.sum.end())
                left.push_back(std::move(row));
            else
                (found->second.sign() > 0 ? below : above).push_back(std::move(row));
        }
        for (const Row& low : below)
            for (const Row& high : above) {
                const Fraction ratio = -(low.sum.at(variable) / high.sum.at(variable));
                Row made{plus(low.sum, high.sum, ratio), low.isStrict || high.isStrict};
                if (hasNumbers(made))
                    left.push_back(std::move(made));
            }
        if (left.size() > mostRows)
            return false;
        rows = std::move(left);
    }
}

/// A condition and what it makes of the piece.
struct Way {
    std::vector<Fact> facts;
    Expr value;
};

Expr negated(Algebra& algebra, const Expr& of) {
    return algebra.make("neg", {of});
}

std::vector<Way> waysOf(Algebra& algebra, const Atom& piece) {
    using Kind = Fact::Kind;
    const std::vector<Expr>& in = piece.arguments;
    if (piece.function == "abs")
        return {{{{in[0], Kind::AtLeastZero}}, in[0]},
                {{{negated(algebra, in[0]), Kind::AboveZero}}, negated(algebra, in[0])}};
    if (piece.function != "select") {
        const Expr gap = algebra.subtract(in[0], in[1]);
        const bool isMax = piece.function == "max";
        return {{{{gap, Kind::AtLeastZero}}, in[isMax ? 0 : 1]},
                {{{negated(algebra, gap), Kind::AboveZero}}, in[isMax ? 1 : 0]}};
    }
    auto condition = atomOf(in[0]);
    std::vector<Fact> holds, fails;
    if (condition) {
        const Atom what = algebra.atom(*condition);
        if (what.function == "less" || what.function == "lessOrEqual") {
            const bool strict = what.function == "less";
            const Expr gap = algebra.subtract(what.arguments[1], what.arguments[0]);
            holds = {{gap, strict ? Kind::AboveZero : Kind::AtLeastZero}};
            fails = {{negated(algebra, gap), strict ? Kind::AtLeastZero : Kind::AboveZero}};
        } else if (what.function == "equal") {
            holds = {{algebra.subtract(what.arguments[1], what.arguments[0]), Kind::Zero}};
        }
    }
    return {{holds, in[1]}, {fails, in[2]}};
}

bool isPiece(const std::string& function) {
    return function == "max" || function == "min" || function == "abs" || function == "select";
}

bool isPlain(const Expr& of) {
    return numberOf(of) || atomOf(of);
}

/// Sums of integers may leave their type, so only numbers and atoms have an order.
bool isPlain(const Algebra& algebra, const Atom& piece) {
    if (piece.function == "abs")
        return false;
    for (const Expr& argument : piece.arguments) {
        auto id = atomOf(argument);
        const bool compares = id && (algebra.atom(*id).function == "less" ||
                                     algebra.atom(*id).function == "lessOrEqual" ||
                                     algebra.atom(*id).function == "equal");
        const std::vector<Expr> inside =
            compares ? algebra.atom(*id).arguments : std::vector{argument};
        if (!std::all_of(inside.begin(), inside.end(),
                         [](const Expr& each) { return isPlain(each); }))
            return false;
    }
    return true;
}

class Cases {
public:
    explicit Cases(Algebra& algebra) : m_algebra(algebra) {}

    bool agree(Expr a, Expr b, std::vector<Fact> facts, int depth);

private:
    std::optional<AtomId> pieceIn(const Expr& a, const Expr& b);
    Reach reachOf(AtomId atom) const;
    void useEqualities(Expr& a, Expr& b, std::vector<Fact>& facts);
    bool solve(Expr& a, Expr& b, std::vector<Fact>& facts, const Expr& zero);

    Algebra& m_algebra;
    int m_splits = 0;
};

/// What is known of an element holds at its place; of a number that all places share, everywhere.
Reach Cases::reachOf(AtomId atom) const {
    return m_algebra.atom(atom).constantOn.contains("*") ? Reach::Everywhere : Reach::SamePlace;
}

/// The first whose own operands have no piece in them.
std::optional<AtomId> Cases::pieceIn(const Expr& a, const Expr& b) {
    for (const Reach reach : {Reach::SamePlace, Reach::Everywhere})
        for (const Expr* side : {&a, &b})
            for (AtomId id : m_algebra.atomsOf(*side, reach))
                if (isPiece(m_algebra.atom(id).function) &&
                    (reach == Reach::SamePlace || reachOf(id) == reach))
                    return id;
    return std::nullopt;
}

/// Where the expression is zero an atom of it is what the rest says.
bool Cases::solve(Expr& a, Expr& b, std::vector<Fact>& facts, const Expr& zero) {
    for (const auto& [monomial, coefficient] : zero.over) {
        if (monomial.size() != 1 || monomial[0].second != 1)
            continue;
        const AtomId atom = monomial[0].first;
        if (!m_algebra.atom(atom).function.empty())
            continue;
        size_t readers = 0;
        for (const auto& term : zero.over)
            for (const auto& factor : term.first)
                readers += factor.first == atom ? 1 : 0;
        Expr rest = zero;
        rest.under = {{Monomial{}, Fraction(1)}};
        rest.over.erase(monomial);
        const std::vector<AtomId> inside = m_algebra.atomsOf(rest);
        if (readers != 1 || std::find(inside.begin(), inside.end(), atom) != inside.end())
            continue;
        Expr scale;
        scale.over = {{Monomial{}, -coefficient}};
        const Expr value = m_algebra.divide(rest, scale);
        const bool isShared =
            reachOf(atom) == Reach::Everywhere && m_algebra.isConstantOn(value, "*");
        const Reach reach = isShared ? Reach::Everywhere : Reach::SamePlace;
        a = m_algebra.substitute(a, atom, value, reach);
        b = m_algebra.substitute(b, atom, value, reach);
        for (Fact& fact : facts)
            fact.of = m_algebra.substitute(fact.of, atom, value, reach);
        return true;
    }
    return false;
}

void Cases::useEqualities(Expr& a, Expr& b, std::vector<Fact>& facts) {
    for (size_t i = 0; i < facts.size(); ++i) {
        if (facts[i].kind == Fact::Kind::AboveZero || facts[i].of.over.empty())
            continue;
        std::vector<Fact> strictly = facts;
        strictly[i].kind = Fact::Kind::AboveZero;
        const bool isZero =
            facts[i].kind == Fact::Kind::Zero || areContradictory(m_algebra, strictly);
        if (isZero && solve(a, b, facts, Expr(facts[i].of)))
            return;
    }
}

bool Cases::agree(Expr a, Expr b, std::vector<Fact> facts, int depth) {
    if (m_algebra.equal(a, b))
        return true;
    useEqualities(a, b, facts);
    if (m_algebra.equal(a, b))
        return true;
    auto piece = pieceIn(a, b);
    if (!piece || depth > deepest || ++m_splits > mostSplits)
        return false;
    const Atom atom = m_algebra.atom(*piece);
    if (m_algebra.arithmetic() == Arithmetic::Integers && !isPlain(m_algebra, atom))
        return false;
    for (const Way& way : waysOf(m_algebra, atom)) {
        std::vector<Fact> more = facts;
        more.insert(more.end(), way.facts.begin(), way.facts.end());
        if (areContradictory(m_algebra, more))
            continue;
        const Reach reach = reachOf(*piece);
        if (!agree(m_algebra.substitute(a, *piece, way.value, reach),
                   m_algebra.substitute(b, *piece, way.value, reach), std::move(more), depth + 1))
            return false;
    }
    return true;
}

} // namespace

bool areContradictory(const Algebra& algebra, const std::vector<Fact>& facts) {
    std::vector<Row> rows;
    for (const Fact& fact : facts) {
        if (fact.of.isNan || fact.of.isBroken)
            continue;
        const bool keepsSign = isNumber(fact.of.under) && fact.of.under.begin()->second.sign() > 0;
        Expr under = fact.of;
        std::swap(under.over, under.under);
        under.under = {{Monomial{}, Fraction(1)}};
        if (!keepsSign && !algebra.isPositive(under))
            continue;
        rows.push_back({fact.of.over, fact.kind == Fact::Kind::AboveZero});
        if (fact.kind == Fact::Kind::Zero)
            rows.push_back({plus({}, fact.of.over, Fraction(-1)), false});
    }
    const size_t given = rows.size();
    for (size_t i = 0; i < given && given <= 7; ++i)
        for (size_t j = i + 1; j < given; ++j)
            if (auto both = product(rows[i].sum, rows[j].sum))
                rows.push_back({*both, rows[i].isStrict && rows[j].isStrict});
    std::set<Monomial> seen;
    for (const Row& row : rows)
        for (const auto& term : row.sum)
            if (!term.first.empty())
                seen.insert(term.first);
    for (const Monomial& monomial : seen) {
        Expr alone;
        alone.over = {{monomial, Fraction(1)}};
        if (algebra.isNonNegative(alone))
            rows.push_back({alone.over, algebra.isPositive(alone)});
    }
    return hasNoSolution(std::move(rows));
}

bool agreeInAllCases(Algebra& algebra, Expr a, Expr b, std::vector<Fact> facts) {
    return Cases(algebra).agree(std::move(a), std::move(b), std::move(facts), 0);
}

} // namespace fuselage::algebra
