// SPDX-License-Identifier: Apache-2.0
// W0311: rules whose alternatives, optional steps and orders of operands multiply to more forms
// than a search can try. An upper bound: most forms fail at their first node.
#include "core/ops/op_table.h"
#include "core/rewrite/matcher_index.h"
#include "dsl/lint.h"

#include <cmath>
#include <map>

namespace fuselage::dsl {

namespace {

class FormCount {
public:
    explicit FormCount(const PreparedRule& prepared) : m_rule(prepared.rule) {}

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
        case Term::Kind::Choice: {
            double sum = 0;
            for (const Term::Alternative& alternative : term.alternatives)
                sum += of(alternative.term);
            return sum;
        }
        case Term::Kind::Pipe:
            return of(term.step) * of(term.source);
        case Term::Kind::Optional:
            return (1 + of(term.step)) * of(term.source);
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

    double operands(const Term& term) {
        double product = 1;
        for (const Argument& argument : term.arguments)
            product *= of(argument.term);
        return product;
    }

    double orders(const Term& term) const {
        if (term.order == OperandOrder::Flat)
            return std::tgamma(static_cast<double>(term.arguments.size()) + 1);
        bool swaps = term.order == OperandOrder::Schema && term.arguments.size() == 2 &&
                     !term.ops.empty() && hasTrait(term.ops[0], Commutative);
        return swaps ? 2 : 1;
    }

    const Rule& m_rule;
    std::map<size_t, double> m_known;
};

} // namespace

void lintBudget(const LoadedRules& loaded, Diagnostics& out) {
    for (const Rule& rule : loaded.rules.rules) {
        auto prepared = prepareRule(rule);
        double forms = FormCount(*prepared).of(prepared->rule.match);
        if (forms <= mostForms)
            continue;
        char text[32];
        std::snprintf(text, sizeof text, "%.3g", forms);
        Diagnostic& d = out.warning("W0311", rule.span,
                                    "rule `" + rule.name + "` can be matched in too many ways");
        d.found = std::string(text) + " combinations of alternatives and orders";
        std::snprintf(text, sizeof text, "%.3g", mostForms);
        d.expected = std::string("at most ") + text;
        d.fix = "write `ordered` where the order is known, or make two rules of it";
    }
}

} // namespace fuselage::dsl
