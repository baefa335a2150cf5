// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/mutants.h"

#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>

namespace fuselage::bench {

namespace {

/// An operator of the same operands that computes something else.
std::optional<Op> siblingOf(Op op) {
    static constexpr std::pair<Op, Op> siblings[] = {
        {Op::Add, Op::Sub},         {Op::Mul, Op::Div},
        {Op::Max, Op::Min},         {Op::ReduceMean, Op::ReduceSum},
        {Op::Relu, Op::Abs},        {Op::Exp, Op::Softplus},
        {Op::Sigmoid, Op::Tanh},    {Op::Sqrt, Op::Exp},
        {Op::Floor, Op::Ceil},      {Op::Greater, Op::GreaterOrEqual},
        {Op::Less, Op::LessOrEqual}};
    for (const auto& [a, b] : siblings)
        if (op == a || op == b)
            return op == a ? b : a;
    return std::nullopt;
}

/// Changes an expression in one way; what was changed, empty where the way does not apply.
using Change = std::function<std::string(Expression&)>;

std::string otherNumber(Expression& it, double (*change)(double)) {
    if (it.kind != Expression::Kind::Number || change(it.number) == it.number)
        return {};
    const double before = it.number;
    it.number = change(before);
    return fmt::format("{} -> {}", before, it.number);
}

std::string otherOperator(Expression& it) {
    const auto sibling = it.kind == Expression::Kind::Node ? siblingOf(it.op) : std::optional<Op>();
    if (!sibling)
        return {};
    const std::string what = fmt::format("{} -> {}", rowOf(it.op).name, rowOf(*sibling).name);
    it.op = *sibling;
    return what;
}

std::string swappedOperands(Expression& it) {
    const bool hasOrder =
        it.kind == Expression::Kind::Node && it.args.size() > 1 && !hasTrait(it.op, Commutative);
    if (!hasOrder)
        return {};
    std::swap(it.args[0], it.args[1]);
    return rowOf(it.op).name;
}

std::string droppedOperand(Expression& it) {
    const bool mayGo = it.kind == Expression::Kind::Node &&
                       static_cast<int>(it.args.size()) > rowOf(it.op).minInputs;
    if (!mayGo)
        return {};
    it.args.pop_back();
    return rowOf(it.op).name;
}

std::string droppedAttribute(Expression& it, size_t which) {
    if (it.kind != Expression::Kind::Node || which >= it.named.size())
        return {};
    const std::string what = fmt::format("{}[{}]", rowOf(it.op).name, it.named[which].name);
    it.named.erase(it.named.begin() + static_cast<std::ptrdiff_t>(which));
    return what;
}

void visit(Expression& it, const std::function<void(Expression&)>& seen) {
    seen(it);
    for (Expression& argument : it.args)
        visit(argument, seen);
    for (NamedExpression& named : it.named)
        visit(named.value, seen);
}

class Mutator {
public:
    explicit Mutator(const Rule& rule) : m_rule(rule) {}

    std::vector<Mutant> run() {
        guards();
        matched();
        built("constant changed",
              [](Expression& it) { return otherNumber(it, [](double v) { return v + 1; }); });
        built("constant changed",
              [](Expression& it) { return otherNumber(it, [](double v) { return -v; }); });
        built("operator changed", otherOperator);
        built("operands swapped", swappedOperands);
        built("operand left out", droppedOperand);
        constexpr size_t attributes = 6; // of one node that are tried
        for (size_t which = 0; which < attributes; ++which)
            built("attribute left out",
                  [which](Expression& it) { return droppedAttribute(it, which); });
        return std::move(m_out);
    }

private:
    void add(Rule rule, const char* kind, std::string what) {
        m_out.push_back({std::move(rule), kind, std::move(what)});
    }

    /// Not of a pattern or form of another file, which many rules share and few rewrite.
    bool isOwn(const Term& term) const { return term.span.source == m_rule.span.source; }

    void guards() {
        for (size_t i = 0; i < m_rule.match.conditions.size(); ++i) {
            Rule rule = m_rule;
            rule.match.conditions.erase(rule.match.conditions.begin() +
                                        static_cast<std::ptrdiff_t>(i));
            add(std::move(rule), "guard dropped", fmt::format("condition {}", i + 1));
        }
        for (size_t t = 0; t < m_rule.terms.size(); ++t) {
            const Term& term = m_rule.terms[t];
            if (!isOwn(term))
                continue;
            for (size_t i = 0; i < term.tests.size(); ++i) {
                Rule rule = m_rule;
                auto& tests = rule.terms[t].tests;
                tests.erase(tests.begin() + static_cast<std::ptrdiff_t>(i));
                add(std::move(rule), "guard dropped",
                    fmt::format("{}[{}]", term.text, term.tests[i].name));
            }
            if (!term.type)
                continue;
            if (term.type->dims)
                typeWithout(t, "dimensions", [](TypePattern& type) { type.dims.reset(); });
            if (!term.type->dtypes.empty())
                typeWithout(t, "element type", [](TypePattern& type) { type.dtypes.clear(); });
            if (term.type->isScalar)
                typeWithout(t, "scalar", [](TypePattern& type) { type.isScalar = false; });
        }
    }

    void typeWithout(size_t term, const char* what, void (*drop)(TypePattern&)) {
        Rule rule = m_rule;
        drop(*rule.terms[term].type);
        add(std::move(rule), "guard dropped",
            fmt::format("{} of {}", what, m_rule.terms[term].text));
    }

    void matched() {
        for (size_t t = 0; t < m_rule.terms.size(); ++t) {
            const Term& term = m_rule.terms[t];
            if (!isOwn(term))
                continue;
            if (term.kind == Term::Kind::Number) {
                Rule rule = m_rule;
                rule.terms[t].number = 2 * term.number + 1;
                add(std::move(rule), "constant changed",
                    fmt::format("{} -> {}, matched", term.number, 2 * term.number + 1));
            }
            const auto sibling = term.kind == Term::Kind::Node && term.ops.size() == 1
                                     ? siblingOf(term.ops[0])
                                     : std::optional<Op>();
            if (sibling) {
                Rule rule = m_rule;
                rule.terms[t].ops = {*sibling};
                add(std::move(rule), "operator changed",
                    fmt::format("{} -> {}, matched", term.text, rowOf(*sibling).name));
            }
            for (size_t i = 0; i < term.tests.size(); ++i) {
                Rule rule = m_rule;
                Expression& value = rule.terms[t].tests[i].value;
                std::string changed = otherNumber(value, [](double v) { return v + 1; });
                if (!changed.empty())
                    add(std::move(rule), "attribute changed",
                        fmt::format("{}[{}] {}", term.text, term.tests[i].name, changed));
            }
        }
    }

    /// One mutant for each expression of the right-hand side to which the change applies.
    void built(const char* kind, const Change& change) {
        for (size_t target = 0;; ++target) {
            Rule rule = m_rule;
            size_t at = 0;
            std::string what;
            auto seen = [&](Expression& it) {
                if (at++ == target)
                    what = change(it);
            };
            for (Assignment& assignment : rule.rewrite)
                visit(assignment.value, seen);
            for (Let& let : rule.lets)
                visit(let.expression, seen);
            if (!what.empty())
                add(std::move(rule), kind, std::move(what));
            if (target >= at)
                return;
        }
    }

    const Rule& m_rule;
    std::vector<Mutant> m_out;
};

} // namespace

std::vector<Mutant> mutantsOf(const Rule& rule) {
    return Mutator(rule).run();
}

} // namespace fuselage::bench
