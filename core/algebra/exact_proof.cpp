// SPDX-License-Identifier: Apache-2.0
#include "core/algebra/exact_proof.h"

#include "core/algebra/walk.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

using namespace algebra;

constexpr uint32_t mostWays = 3000;
constexpr size_t mostNans = 8; ///< variables that are tried as NaN, alone and together
constexpr int mostRounds = 7;  ///< of finding what conditions settle

bool isNumeral(const Expression& of, double number) {
    return of.kind == Expression::Kind::Number && of.number == number;
}

bool readsOf(const Expression& of, SlotIndex node, const char* attribute) {
    return of.kind == Expression::Kind::Parameter && of.slot == node && of.text == attribute;
}

bool calls(const Expression& of, const char* function) {
    return of.kind == Expression::Kind::Call && of.text == function && of.args.size() == 1 &&
           of.named.empty();
}

bool compares(const Expression& of, const char* comparison, double number) {
    return of.kind == Expression::Kind::Binary && of.text == comparison &&
           isNumeral(of.args[1], number) && calls(of.args[0], "max");
}

/// "max(m.pads) == 0".
bool hasMaximum(const Expression& of, SlotIndex node, const char* attribute, double number) {
    return compares(of, "==", number) && readsOf(of.args[0].args[0], node, attribute);
}

/// "max(m.pads - concat([m.kernel_shape, m.kernel_shape])) < 0".
bool isNarrower(const Expression& of, SlotIndex node) {
    if (!compares(of, "<", 0))
        return false;
    const Expression& gap = of.args[0].args[0];
    if (gap.kind != Expression::Kind::Binary || gap.text != "-" ||
        !readsOf(gap.args[0], node, "pads") || !calls(gap.args[1], "concat"))
        return false;
    const Expression& both = gap.args[1].args[0];
    return both.kind == Expression::Kind::List && both.args.size() == 2 &&
           readsOf(both.args[0], node, "kernel_shape") &&
           readsOf(both.args[1], node, "kernel_shape");
}

bool testsZeros(const Term& term) {
    return std::any_of(term.tests.begin(), term.tests.end(), [](const AttributeTest& test) {
        const std::vector<Expression>& items = test.value.args;
        return test.name == "pads" && test.comparison == "==" &&
               test.value.kind == Expression::Kind::List &&
               std::all_of(items.begin(), items.end(),
                           [](const Expression& item) { return isNumeral(item, 0); });
    });
}

/// Every MaxPool of the pattern has no border, or one that is narrower than its window: the maximum
/// of a window in the border alone is -inf, which a function behind it may turn into a number.
bool leavesNoWindowEmpty(const Rule& rule) {
    auto says = [&](auto what) {
        return std::any_of(
            rule.match.conditions.begin(), rule.match.conditions.end(),
            [&](const Condition& each) { return !each.when && what(each.expression); });
    };
    return std::all_of(rule.terms.begin(), rule.terms.end(), [&](const Term& term) {
        const bool pools =
            term.kind == Term::Kind::Node &&
            std::find(term.ops.begin(), term.ops.end(), Op::MaxPool) != term.ops.end();
        if (!pools || testsZeros(term))
            return true;
        if (!term.slot)
            return false;
        const SlotIndex node = *term.slot;
        auto has = [&](const char* attribute, double number) {
            return says(
                [&](const Expression& of) { return hasMaximum(of, node, attribute, number); });
        };
        return has("pads", 0) || (has("dilations", 1) &&
                                  says([&](const Expression& of) { return isNarrower(of, node); }));
    });
}

/// One way through the rule, in one arithmetic.
class Way {
public:
    Way(const PreparedRule& rule, Arithmetic arithmetic, DType type, const algebra::Ways& ways,
        const std::set<std::string>& ranked)
        : m_rule(&rule), m_arithmetic(arithmetic), m_type(type), m_start(ways), m_ranked(ranked) {}

    /// Empty: both sides are equal.
    std::string obstacle();

    bool mayComputeIntegers() const { return m_hasIntegers; }

    /// Also where nothing computes.
    bool mayComputeFloats() const { return m_hasFloats || !m_hasIntegers; }

    /// Variables whose ranks must be known before anything can be said.
    const std::set<std::string>& needsRanks() const { return m_needsRanks; }

    const std::set<std::string>& conditions() const { return m_conditions; }

    /// Where the decisions ended.
    const algebra::Ways& ways() const { return m_ways; }

private:
    std::string compare(Algebra& algebra, const Walk& walk, const std::vector<Demand>& before,
                        const std::vector<Demand>& after);
    std::string compareNan(const Walk& walk, const Settled& settled) const;
    bool goesAlong(const Settled& settled, std::set<std::string> nans) const;
    std::string missing(Algebra& algebra, const std::vector<Demand>& wanted,
                        const std::vector<Demand>& given, bool isNew);

    const PreparedRule* m_rule;
    Arithmetic m_arithmetic;
    DType m_type;
    algebra::Ways m_start, m_ways;
    std::set<std::string> m_ranked, m_needsRanks;
    std::set<std::string> m_conditions;
    bool m_hasIntegers = false;
    bool m_hasFloats = false;
};

bool implies(Algebra& algebra, const Demand& given, const Demand& wanted) {
    using Kind = Demand::Kind;
    const bool stronger =
        given.kind == wanted.kind || (given.kind == Kind::Positive && wanted.kind != Kind::Grows &&
                                      wanted.kind != Kind::HasRest);
    auto spread = [&](const Expr& of) { return algebra.make("channels", {of}); };
    return stronger &&
           (algebra.equal(given.of, wanted.of) || algebra.equal(spread(given.of), wanted.of) ||
            algebra.equal(given.of, spread(wanted.of)));
}

bool isView(const Atom& atom) {
    return atom.function == "Reshape" || atom.function == "Flatten";
}

/// What a view of views shows.
Expr viewed(const Algebra& algebra, Expr of) {
    for (auto id = atomOf(of); id && isView(algebra.atom(*id)); id = atomOf(of))
        of = Expr(algebra.atom(*id).arguments[0]);
    return of;
}

/// Views of one value with the same elements in the same order, behind the same functions of
/// elements: one result, since its shape stays.
bool areOneView(Algebra& algebra, const Expr& before, const Expr& after) {
    auto a = atomOf(before), b = atomOf(after);
    if (!a || !b)
        return false;
    const Atom first = algebra.atom(*a), second = algebra.atom(*b);
    if (first.arguments.empty() || second.arguments.empty())
        return false;
    if (isView(first) && isView(second))
        return algebra.equal(viewed(algebra, before), viewed(algebra, after));
    if (first.function != second.function || first.tag != second.tag ||
        first.arguments.size() != second.arguments.size() ||
        (first.function != "QuantizeLinear" && first.function != "DequantizeLinear"))
        return false;
    for (size_t i = 1; i < first.arguments.size(); ++i)
        if (!algebra.equal(first.arguments[i], second.arguments[i]))
            return false;
    return areOneView(algebra, first.arguments[0], second.arguments[0]);
}

/// A demand of one side that nothing on the other side makes.
std::string Way::missing(Algebra& algebra, const std::vector<Demand>& wanted,
                         const std::vector<Demand>& given, bool isNew) {
    for (const Demand& each : wanted) {
        if (!isNew && (each.kind == Demand::Kind::Grows || each.kind == Demand::Kind::HasRest))
            continue; // an exponential less cannot overflow
        bool isMet = std::any_of(given.begin(), given.end(), [&](const Demand& other) {
            return implies(algebra, other, each);
        });
        if (isMet)
            continue;
        if (each.kind == Demand::Kind::Grows)
            return "an exponential or logarithm that was not there may leave its type";
        if (each.kind == Demand::Kind::HasRest)
            return "-1 of a Reshape that was not there stands for nothing where a dimension is 0";
        return isNew ? "it is no number in more places than before"
                     : "it is a number where there was none";
    }
    return {};
}

/// Whether both sides are NaN where these variables are, or neither.
bool Way::goesAlong(const Settled& settled, std::set<std::string> nans) const {
    algebra::Ways ways = m_start;
    Algebra algebra(m_arithmetic, m_type);
    algebra.aliases = settled.words;
    algebra.nans = std::move(nans);
    Walk walk(*m_rule, algebra, ways, settled, m_ranked);
    if (!walk.match() || !walk.rewrite())
        return false;
    const auto& all = walk.replacements();
    return std::all_of(all.begin(), all.end(), [&](const Replacement& each) {
        return agreeInAllCases(algebra, each.before, each.after, {});
    });
}

/// Where an input is NaN both sides are, or neither. Walked again for each: what a law cancels
/// would be gone, and its NaN with it.
std::string Way::compareNan(const Walk& walk, const Settled& settled) const {
    const std::vector<std::string> variables = walk.variables();
    if (variables.size() > mostNans)
        return "too many operands that may be NaN";
    const size_t sets = size_t(1) << variables.size();
    for (size_t set = 1; set < sets; ++set) {
        std::set<std::string> nans;
        for (size_t i = 0; i < variables.size(); ++i)
            if ((set >> i & 1U) != 0)
                nans.insert(variables[i]);
        if (!goesAlong(settled, std::move(nans)))
            return "NaN goes another way";
    }
    return {};
}

std::string Way::compare(Algebra& algebra, const Walk& walk, const std::vector<Demand>& before,
                         const std::vector<Demand>& after) {
    const bool isReal = m_arithmetic == Arithmetic::Reals;
    if (walk.replacements().empty())
        return "it replaces nothing";
    for (const Replacement& each : walk.replacements()) {
        const bool same = areOneView(algebra, each.before, each.after) ||
                          (isReal ? agreeInAllCases(algebra, each.before, each.after, walk.facts())
                                  : algebra.equal(each.before, each.after));
        if (!same)
            return fmt::format("no law makes both sides of `{}` one", each.name);
        std::set<std::string> shapes;
        for (const ShapeSources* shape : {&each.before.shape, &each.after.shape})
            for (const std::string& source : *shape) {
                const bool both =
                    each.before.shape.contains(source) && each.after.shape.contains(source);
                if (!both && !source.starts_with("literal"))
                    shapes.insert(source);
            }
        if (!shapes.empty())
            m_conditions.insert("the result keeps its shape");
    }
    std::string why = missing(algebra, after, before, true);
    return why.empty() ? missing(algebra, before, after, false) : why;
}

std::string Way::obstacle() {
    Settled settled;
    for (int round = 0; round < mostRounds; ++round) {
        m_ways = m_start;
        Algebra algebra(m_arithmetic, m_type);
        std::vector<Demand> before, after;
        algebra.demands = &before;
        algebra.aliases = settled.words;
        Walk walk(*m_rule, algebra, m_ways, settled, m_ranked);
        if (!walk.match())
            return walk.obstacle();
        m_needsRanks = walk.needsRanks();
        if (!m_needsRanks.empty() || m_ways.isLost())
            return "ranks that are not known";
        const bool isLast = walk.found() == settled || round + 1 == mostRounds;
        if (!isLast) {
            Settled more = settled;
            more.words.insert(walk.found().words.begin(), walk.found().words.end());
            more.values.insert(walk.found().values.begin(), walk.found().values.end());
            more.lengths.insert(walk.found().lengths.begin(), walk.found().lengths.end());
            if (!(more == settled)) {
                settled = more;
                continue;
            }
        }
        if (walk.isImpossible() || areContradictory(algebra, walk.facts()))
            return {};
        m_conditions = walk.conditions();
        algebra.demands = &after;
        if (!walk.rewrite())
            return walk.obstacle();
        m_hasIntegers = walk.mayComputeIntegers();
        m_hasFloats = walk.mayComputeFloats();
        std::string why = compare(algebra, walk, before, after);
        if (why.empty() && m_arithmetic == Arithmetic::Reals)
            why = compareNan(walk, settled);
        for (const std::string& reading : algebra.notes())
            if (reading != noEmptyWindow)
                m_conditions.insert(reading);
            else if (why.empty() && !leavesNoWindowEmpty(m_rule->rule))
                why = "a window may lie in the border alone";
        return why;
    }
    return "conditions that do not settle";
}

} // namespace

namespace {

/// All ways through one rule.
class Proving {
public:
    explicit Proving(const Rule& rule)
        : m_isExact(rule.numeric == NumericClass::Exact), m_prepared(prepareRule(rule)) {}

    ExactProof run(Progress& progress);

private:
    Way tried(Arithmetic arithmetic, DType type, std::string& obstacle) const;
    std::string oneWay();
    std::string floats(const Way& bits, std::string why);
    std::string integers();
    void keep(const Way& way);

    bool m_isExact;
    std::unique_ptr<PreparedRule> m_prepared;
    Ways m_ways, m_ended;
    std::set<std::string> m_ranked, m_conditions;
    bool m_areBits = true;
    bool m_isAgain = false; ///< from the first way on, with ranks
};

Way Proving::tried(Arithmetic arithmetic, DType type, std::string& obstacle) const {
    Way way(*m_prepared, arithmetic, type, m_ways, m_ranked);
    obstacle = way.obstacle();
    return way;
}

void Proving::keep(const Way& way) {
    m_conditions.insert(way.conditions().begin(), way.conditions().end());
    m_ended = way.ways();
}

std::string Proving::floats(const Way& bits, std::string why) {
    if (why.empty()) {
        keep(bits);
        return {};
    }
    if (m_isExact)
        return why + ", bit for bit";
    const Way reals = tried(Arithmetic::Reals, DType::Float32, why);
    keep(reals);
    m_areBits = false;
    return why;
}

std::string Proving::integers() {
    std::string why;
    Way way = tried(Arithmetic::Bits, DType::Int32, why);
    if (!why.empty())
        way = tried(Arithmetic::Integers, DType::Int32, why);
    keep(way);
    return why.empty() ? why : why + ", of integers";
}

std::string Proving::oneWay() {
    std::string why;
    const Way bits = tried(Arithmetic::Bits, DType::Float32, why);
    m_isAgain = m_ranked.empty() && !bits.needsRanks().empty();
    if (m_isAgain) {
        m_ranked = bits.needsRanks();
        m_ended = {};
        return {};
    }
    const bool isKnown = bits.mayComputeFloats() || bits.mayComputeIntegers();
    bool hasIntegers = bits.mayComputeIntegers();
    if (!isKnown || bits.mayComputeFloats()) {
        std::string found = floats(bits, why);
        if (!found.empty())
            return found;
        if (!why.empty()) { // the bits' walk may have ended early
            std::string again;
            hasIntegers = tried(Arithmetic::Reals, DType::Float32, again).mayComputeIntegers();
        }
    }
    return hasIntegers ? integers() : std::string();
}

ExactProof Proving::run(Progress& progress) {
    ExactProof proof;
    do {
        if (++proof.ways > mostWays || progress.cancelled()) {
            proof.obstacle = fmt::format("more than {} ways through the pattern", mostWays);
            return proof;
        }
        proof.obstacle = oneWay();
        if (!proof.obstacle.empty())
            return proof;
        m_ways = m_ended;
    } while (m_isAgain || m_ways.next());
    proof.level = m_areBits ? ExactProof::Level::Bits : ExactProof::Level::Reals;
    if (!m_areBits)
        m_conditions.insert("no infinite inputs, nothing leaves its type on the way");
    proof.conditions.assign(m_conditions.begin(), m_conditions.end());
    return proof;
}

} // namespace

ExactProof proveExactly(const Rule& rule, Progress& progress) {
    if (rule.isRewrite)
        return Proving(rule).run(progress);
    ExactProof proof;
    proof.obstacle = "a fused node is what it replaces: its kernels are tested, not proved";
    return proof;
}

} // namespace fuselage
