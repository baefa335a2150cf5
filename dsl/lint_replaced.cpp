// SPDX-License-Identifier: Apache-2.0
// W0314: steps that a pattern demands and that hardly any loaded model has.
#include "core/ops/op_table.h"
#include "core/ops/schema_facts.h"
#include "dsl/lint.h"

#include <algorithm>
#include <set>

namespace fuselage::dsl {

namespace {

/// Terms without which the pattern matches as well.
std::set<TermId> optionalTerms(const Rule& rule) {
    std::set<TermId> out;
    for (const Term& term : rule.terms) {
        if (term.kind == Term::Kind::Optional)
            out.insert(term.step);
        if (term.kind == Term::Kind::Choice)
            for (const Term::Alternative& alternative : term.alternatives)
                out.insert(alternative.term);
    }
    return out;
}

bool isReplaced(const Term& term) {
    return term.kind == Term::Kind::Node && !term.ops.empty() && !term.ofSpec &&
           std::all_of(term.ops.begin(), term.ops.end(), [](Op op) { return replacementOf(op); });
}

} // namespace

void lintReplaced(const Rule& rule, Diagnostics& out) {
    const std::set<TermId> optional = optionalTerms(rule);
    for (uint32_t i = 0; i < rule.terms.size(); ++i) {
        const Term& term = rule.terms[i];
        if (!isReplaced(term) || optional.contains(TermId(i)))
            continue;
        const Replaced& replaced = *replacementOf(term.ops[0]);
        Diagnostic& d =
            out.warning("W0314", term.span,
                        std::string("a loaded model hardly has ") + rowOf(replaced.op).name +
                            ": in its place stands " + replaced.by);
        d.fix = replaced.instead;
    }
}

void lintReplaced(const LoadedRules& loaded, Diagnostics& out) {
    for (const auto* rules : {&loaded.forms, &loaded.rules.rules})
        for (const Rule& rule : *rules)
            lintReplaced(rule, out);
}

} // namespace fuselage::dsl
