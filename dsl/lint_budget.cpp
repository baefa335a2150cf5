// SPDX-License-Identifier: Apache-2.0
// W0311: rules whose alternatives, optional steps and orders of operands multiply to more forms
// than a search can try. Forms are counted first: of alternatives that begin with different
// operators, or ask more than an operator, a node decides, and only those that it leaves open
// count. Where there are many, the search itself says whether they cost anything.
#include "core/ops/op_table.h"
#include "core/rewrite/matcher_index.h"
#include "dsl/lint.h"
#include "dsl/lint_stress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace fuselage::dsl {

namespace {

class FormCount {
public:
    explicit FormCount(const PreparedRule& prepared)
        : m_prepared(prepared), m_rule(prepared.rule) {}

    double of(const Block& block) {
        double product = 1;
        for (const Definition& definition : block.definitions)
            product *= of(definition.term);
        for (const Many& many : block.manys)
            product *= of(many.block);
        return product;
    }

private:
    double of(TermId id) {
        auto [known, isNew] = m_known.emplace(id.index(), 1);
        return isNew ? m_known[id.index()] = count(m_rule.term(id)) : known->second;
    }

    double count(const Term& term) {
        switch (term.kind) {
        case Term::Kind::Value:
            return term.step.valid() ? of(term.step) : 1;
        case Term::Kind::Node:
            return orders(term) * operands(term);
        case Term::Kind::Choice:
            return alternatives(term);
        case Term::Kind::Pipe:
            return of(term.step) * of(term.source);
        case Term::Kind::Optional:
            return areOneOrOther(term.step, term.source)
                       ? std::max(of(term.step), 1.0) * of(term.source)
                       : (1 + of(term.step)) * of(term.source);
        case Term::Kind::Repeat: {
            double sum = 0;
            for (uint32_t rounds = term.least; rounds <= term.most; ++rounds)
                sum += std::pow(of(term.step), rounds);
            return sum * of(term.source);
        }
        default:
            return 1;
        }
    }

    /// The most that one operator leaves open: alternatives that say more than the operator hardly
    /// ever match together.
    double alternatives(const Term& term) {
        std::map<size_t, double> alike;
        double most = 1;
        for (const Term::Alternative& alternative : term.alternatives) {
            const RootSet roots = rootsOf(m_prepared, alternative.term);
            const double forms = of(alternative.term);
            most = std::max(most, forms);
            for (size_t op = 0; op < roots.ops.size() && isPlain(alternative.term); ++op)
                if (roots.any || roots.ops.test(op))
                    most = std::max(most, alike[op] += forms);
        }
        return most;
    }

    /// Any value, or an operator of which nothing is asked.
    bool isPlain(TermId id) const {
        const Term& term = m_rule.term(id);
        if (term.kind == Term::Kind::Pipe)
            return isPlain(term.step);
        auto isAny = [&](const Argument& argument) {
            const Term::Kind kind = m_rule.term(argument.term).kind;
            return kind == Term::Kind::Any || kind == Term::Kind::Hole || kind == Term::Kind::Value;
        };
        return term.kind != Term::Kind::Number && term.kind != Term::Kind::Choice &&
               term.tests.empty() &&
               std::all_of(term.arguments.begin(), term.arguments.end(), isAny);
    }

    /// A node is the step or what stands before it, never both.
    bool areOneOrOther(TermId step, TermId source) const {
        const RootSet first = rootsOf(m_prepared, step), second = rootsOf(m_prepared, source);
        return !first.any && !second.any && (first.ops & second.ops).none();
    }

    double operands(const Term& term) {
        double product = 1;
        for (const Argument& argument : term.arguments)
            product *= of(argument.term);
        return product;
    }

    /// A number among the operands stands in one place only.
    double orders(const Term& term) const {
        const auto numbers = std::count_if(
            term.arguments.begin(), term.arguments.end(), [&](const Argument& argument) {
                return m_rule.term(argument.term).kind == Term::Kind::Number;
            });
        if (term.order == OperandOrder::Flat)
            return std::tgamma(
                static_cast<double>(static_cast<std::ptrdiff_t>(term.arguments.size()) - numbers) +
                1);
        const bool isOpen = !term.hasArguments || term.arguments.size() == 2; // a step reads either
        const bool swaps = term.order == OperandOrder::Schema && isOpen && numbers == 0 &&
                           !term.ops.empty() && hasTrait(term.ops[0], Commutative);
        return swaps ? 2 : 1;
    }

    const PreparedRule& m_prepared;
    const Rule& m_rule;
    std::map<size_t, double> m_known;
};

} // namespace

void lintBudget(const LoadedRules& loaded, Diagnostics& out) {
    for (const Rule& rule : loaded.rules.rules) {
        auto prepared = prepareRule(rule);
        const double forms = FormCount(*prepared).of(prepared->rule.match);
        if (forms <= formsOfNoConcern || !isCutOff(*prepared))
            continue;
        Diagnostic& d = out.warning("W0311", rule.span,
                                    "rule `" + rule.name + "` can be matched in too many ways");
        d.found =
            fmt::format("{:.3g} combinations of alternatives and orders, and a graph of its own "
                        "operators on which the search from one node is cut off",
                        forms);
        d.expected = "a search that ends within " + std::to_string(MatcherOptions().budget) +
                     " steps on chains and trees of its own operators";
        d.fix = "write `ordered` where the order is known, or make two rules of it";
    }
}

} // namespace fuselage::dsl
