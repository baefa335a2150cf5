// SPDX-License-Identifier: Apache-2.0
// E0308: a rule that never fires, because rules of higher priority take every match of it.
#include "app/pipeline/lint/lint_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fuselage::app {

namespace {

/// Rules of a phase that go before this one.
std::vector<Rule> rulesAbove(const LintContext& context, const Rule& rule) {
    std::vector<Rule> out;
    for (const auto& other : context.index.rules())
        if (other->rule().phase == rule.phase && other->rule().priority > rule.priority)
            out.push_back(other->rule());
    return out;
}

/// Names of the rules that took nodes where `rule` did not fire; none: it fires.
std::optional<std::set<std::string>> takers(const Witness& witness, std::vector<Rule> rules,
                                            const Rule& rule, Progress& progress) {
    rules.push_back(rule);
    Rewritten done = runPhase(witness.graph, rules, false, progress);
    std::set<std::string> out;
    for (const TraceEvent& event : done.trace.events) {
        if (event.applied() && event.rule == rule.name)
            return std::nullopt;
        if (event.applied())
            out.insert(event.rule);
    }
    if (out.empty()) // refused for a reason of its own
        return std::nullopt;
    return out;
}

void reportShadowed(LintContext& context, const Rule& rule, const std::vector<Rule>& above,
                    const std::set<std::string>& by, const Witness& witness) {
    Diagnostic& d =
        context.out.error("E0308", rule.span, "rule `" + rule.name + "` can never fire");
    int64_t highest = rule.priority;
    std::string names;
    for (const Rule& other : above)
        if (by.contains(other.name)) {
            highest = std::max(highest, other.priority);
            names += fmt::format("{}`{}` ({}, priority {})", names.empty() ? "" : " or ",
                                 other.name, context.placeOf(other), other.priority);
            d.labels.push_back({other.span, "is chosen first"});
        }
    d.notes.push_back("every match of it is also a match of " + names + ", which is chosen first");
    d.notes.push_back("witness: " + witnessText(witness.graph, witness.matches[0]));
    d.fix = fmt::format("raise its priority above {}, or delete it", highest);
}

} // namespace

void lintShadowed(LintContext& context) {
    for (const auto& indexed : context.index.rules()) {
        const Rule& rule = indexed->rule();
        std::vector<Rule> above = rulesAbove(context, rule);
        if (above.empty() || context.progress.cancelled())
            continue;
        const std::vector<Witness>& witnesses = context.witnesses(indexed->prepared());
        std::set<std::string> by;
        bool fires = witnesses.size() < leastWitnesses;
        for (const Witness& witness : witnesses) {
            auto taken = fires ? std::nullopt : takers(witness, above, rule, context.silent);
            fires = !taken;
            if (fires)
                break;
            by.merge(*taken);
        }
        if (!fires)
            reportShadowed(context, rule, above, by, witnesses[0]);
    }
}

} // namespace fuselage::app
