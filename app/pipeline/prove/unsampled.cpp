// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/unsampled.h"

#include "core/ops/op_table.h"

#include <fmt/format.h>

namespace fuselage::app {

void note(Met& met, const std::vector<PairCoverage::Taken>& taken) {
    for (const PairCoverage::Taken& each : taken)
        met.emplace(each.point, each.answer);
}

std::vector<std::string> unsampled(const Rule& rule, const Met& met) {
    std::vector<std::string> out;
    for (size_t at = 0; at < rule.terms.size(); ++at) {
        const Term& term = rule.terms[at];
        auto isMet = [&](uint32_t answer) { return met.contains({at, answer}); };
        const std::string text = term.text.empty() ? "a step" : "`" + term.text + "`";
        for (uint32_t i = 0; i < term.alternatives.size(); ++i) {
            const Term::Alternative& alternative = term.alternatives[i];
            const Term& taken = rule.term(alternative.term);
            if (!isMet(i))
                out.push_back(fmt::format("alternative {}, {}", i + 1,
                                          alternative.label.empty()
                                              ? taken.text.empty() ? text : "`" + taken.text + "`"
                                              : "`" + alternative.label + "`"));
        }
        const bool mayMiss = term.kind == Term::Kind::Optional || term.mayBeAbsent;
        for (uint32_t answer = 0; mayMiss && answer < 2; ++answer)
            if (!isMet(answer))
                out.push_back((answer == 0 ? "without " : "with ") + text);
        const bool isClass = term.kind == Term::Kind::Node && term.ops.size() > 1;
        for (uint32_t i = 0; isClass && i < term.ops.size(); ++i)
            if (!isMet(i))
                out.push_back(fmt::format("{} for {}", rowOf(term.ops[i]).name, text));
    }
    if (rule.verify)
        for (const VerifySpec::Values& range : rule.verify->values)
            out.push_back(fmt::format("`{}` outside of {:g}..{:g}", rule.slots[range.slot].name,
                                      range.least, range.most));
    return out;
}

} // namespace fuselage::app
