// SPDX-License-Identifier: Apache-2.0
// E0410: phases that repeat until nothing changes. They end when each of their rules shrinks one
// common measure: a sum of positive weights, one for each operator. Such weights are searched for;
// where there are none, the smallest set of rules that has none is shown.
#include "app/pipeline/lint/lint_internal.h"
#include "core/graph/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fuselage::app {

namespace {

/// How many nodes of each operator a rewrite takes away (positive) or adds.
using Change = std::map<std::string, int64_t>;

struct RuleChanges {
    const Rule* rule = nullptr;
    std::set<Change> changes;
};

Change difference(const Graph& before, const Graph& after) {
    Change out;
    for (NodeId node : before.nodes())
        ++out[opText(before.node(node))];
    for (NodeId node : after.nodes())
        --out[opText(after.node(node))];
    std::erase_if(out, [](const auto& entry) { return entry.second == 0; });
    return out;
}

double sumOf(const Change& change, const std::map<std::string, double>& weights) {
    double sum = 0;
    for (const auto& [op, count] : change) {
        auto weight = weights.find(op);
        sum += static_cast<double>(count) * (weight == weights.end() ? 1 : weight->second);
    }
    return sum;
}

/// Weights of at least 1 under which every change shrinks the sum: the perceptron finds them where
/// there are any that are not extreme.
bool shrinksSomething(const std::vector<const RuleChanges*>& rules) {
    constexpr int mostRounds = 2000;
    std::map<std::string, double> weights;
    for (int round = 0; round < mostRounds; ++round) {
        bool all = true;
        for (const RuleChanges* rule : rules)
            for (const Change& change : rule->changes) {
                if (sumOf(change, weights) >= 1)
                    continue;
                all = false;
                for (const auto& [op, count] : change) {
                    double& weight = weights.try_emplace(op, 1).first->second;
                    weight = std::max(1.0, weight + static_cast<double>(count));
                }
            }
        if (all)
            return true;
    }
    return false;
}

std::string changeText(const Change& change) {
    std::string taken, added;
    for (const auto& [op, count] : change) {
        std::string& side = count > 0 ? taken : added;
        side += (side.empty() ? "" : " + ") +
                (std::abs(count) == 1 ? op : fmt::format("{} {}", std::abs(count), op));
    }
    if (taken.empty() && added.empty())
        return "leaves the same operators";
    return (taken.empty()   ? "adds " + added
            : added.empty() ? "removes " + taken
                            : "turns " + taken + " into " + added);
}

void reportEndless(LintContext& context, const PhaseStep& step,
                   const std::vector<const RuleChanges*>& rules) {
    Diagnostic& d = context.out.error("E0410", rules[0]->rule->span,
                                      "phase `" + step.phase + "*` may not terminate");
    for (const RuleChanges* it : rules) {
        d.notes.push_back(fmt::format("`{}` ({}) {}", it->rule->name, context.placeOf(*it->rule),
                                      changeText(*it->changes.begin())));
        if (it != rules[0])
            d.labels.push_back({it->rule->span, "undoes it"});
    }
    d.notes.push_back("no weights of operators make every step smaller");
    d.fix = rules.size() > 1 ? "mark one of them `once`" : "mark it `once`";
}

void checkPhase(LintContext& context, const PhaseStep& step) {
    std::vector<RuleChanges> all;
    for (const auto& indexed : context.index.rules()) {
        const Rule& rule = indexed->rule();
        if (rule.phase != step.phase || rule.once || !rule.isRewrite)
            continue;
        RuleChanges changes{&rule, {}};
        for (const Witness& witness : context.witnesses(indexed->prepared())) {
            Rewritten done = runPhase(witness.graph, {rule}, false, context.silent);
            if (done.trace.applied(rule.name) == 1)
                changes.changes.insert(difference(witness.graph, done.graph));
        }
        if (!changes.changes.empty())
            all.push_back(std::move(changes));
    }
    std::vector<const RuleChanges*> rules;
    for (const RuleChanges& it : all)
        rules.push_back(&it);
    if (shrinksSomething(rules))
        return;
    for (size_t i = 0; i < rules.size();) {
        std::vector<const RuleChanges*> without = rules;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        if (!shrinksSomething(without))
            rules = std::move(without);
        else
            ++i;
    }
    reportEndless(context, step, rules);
}

} // namespace

void lintTermination(LintContext& context) {
    std::set<std::string> seen;
    for (const Pipeline& pipeline : context.library.loaded.rules.pipelines)
        for (const PhaseStep& step : pipeline.steps)
            if (step.repeat && !context.progress.cancelled() && seen.insert(step.phase).second)
                checkPhase(context, step);
}

} // namespace fuselage::app
