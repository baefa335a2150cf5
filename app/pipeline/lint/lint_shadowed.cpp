// SPDX-License-Identifier: Apache-2.0
// E0308: a rule that never fires, because rules of higher priority take every match of it.
#include "app/pipeline/lint/lint_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::app {

namespace {

void addMade(const Expression& expression, OpSet& out) {
    if (expression.kind == Expression::Kind::Node)
        out.set(static_cast<size_t>(expression.op));
    for (const Expression& argument : expression.args)
        addMade(argument, out);
    for (const NamedExpression& named : expression.named)
        addMade(named.value, out);
}

/// Operators of the nodes that a rule makes.
OpSet madeBy(const Rule& rule) {
    OpSet out;
    if (!rule.isRewrite)
        out.set(static_cast<size_t>(Op::Fused));
    for (const Assignment& assignment : rule.rewrite)
        addMade(assignment.value, out);
    for (const Let& let : rule.lets)
        addMade(let.expression, out);
    return out;
}

/// Rules of a phase that go before this one and may match the graph, or what they make of it.
std::vector<const Rule*> rulesAbove(const LintContext& context, const Rule& rule, OpSet operators) {
    std::vector<const Rule*> out;
    for (size_t known = 0;; known = out.size()) {
        out.clear();
        OpSet made;
        for (const size_t i : context.byOperator.mayMatch(operators)) {
            const Rule& other = context.index.rules()[i]->rule();
            if (other.phase != rule.phase || other.priority <= rule.priority)
                continue;
            out.push_back(&other);
            made |= madeBy(other);
        }
        if (out.size() == known)
            return out;
        operators |= made;
    }
}

/// Names of the rules that took nodes where `rule` did not fire; none: it fires.
std::optional<std::set<std::string>> takers(const Witness& witness,
                                            const std::vector<const Rule*>& above, const Rule& rule,
                                            Progress& progress) {
    std::vector<Rule> rules;
    for (const Rule* other : above)
        rules.push_back(*other);
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

void reportShadowed(LintContext& context, const Rule& rule, const std::set<const Rule*>& above,
                    const std::set<std::string>& by, const Witness& witness) {
    Diagnostic& d =
        context.out.error("E0308", rule.span, "rule `" + rule.name + "` can never fire");
    int64_t highest = rule.priority;
    std::string names;
    for (const auto& indexed : context.index.rules()) {
        const Rule& other = indexed->rule();
        if (!above.contains(&other) || !by.contains(other.name))
            continue;
        highest = std::max(highest, other.priority);
        names += fmt::format("{}`{}` ({}, priority {})", names.empty() ? "" : " or ", other.name,
                             context.placeOf(other), other.priority);
        d.labels.push_back({other.span, "is chosen first"});
    }
    d.notes.push_back("every match of it is also a match of " + names + ", which is chosen first");
    d.notes.push_back("witness: " + witnessText(witness.graph, witness.matches[0]));
    d.fix = fmt::format("raise its priority above {}, or delete it", highest);
}

} // namespace

void lintShadowed(LintContext& context) {
    std::map<std::string, int64_t> highest; // priority, by phase
    for (const auto& indexed : context.index.rules()) {
        auto [entry, isNew] = highest.try_emplace(indexed->rule().phase, indexed->rule().priority);
        entry->second = std::max(entry->second, indexed->rule().priority);
    }
    for (const auto& indexed : context.index.rules()) {
        const Rule& rule = indexed->rule();
        if (highest.at(rule.phase) <= rule.priority || context.progress.cancelled())
            continue;
        const std::vector<Witness>& witnesses = context.witnesses(indexed->prepared());
        std::set<std::string> by;
        std::set<const Rule*> all;
        bool fires = witnesses.size() < leastWitnesses;
        for (const Witness& witness : witnesses) {
            const auto above = rulesAbove(context, rule, witness.operators);
            all.insert(above.begin(), above.end());
            auto taken = fires ? std::nullopt : takers(witness, above, rule, context.silent);
            fires = !taken;
            if (fires)
                break;
            by.merge(*taken);
        }
        if (!fires)
            reportShadowed(context, rule, all, by, witnesses[0]);
    }
}

} // namespace fuselage::app
