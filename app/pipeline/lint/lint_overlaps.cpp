// SPDX-License-Identifier: Apache-2.0
// E0302: two rules of one phase and priority that match the same nodes and leave different graphs,
// so that only their order in the files decides. Fuse rules that cover different nodes are no
// such pair: the gain decides between those.
#include "app/pipeline/lint/lint_internal.h"
#include "core/rewrite/match_cache.h"
#include "core/rewrite/state_hash.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

using Nodes = std::vector<NodeId>;

bool overlap(const Nodes& a, const Nodes& b) {
    return std::any_of(a.begin(), a.end(),
                       [&](NodeId node) { return std::find(b.begin(), b.end(), node) != b.end(); });
}

/// Two overlapping matches in a graph; empty when there are none.
struct Clash {
    Nodes first;
    Nodes second;
};

Clash clashIn(const PreparedRule& a, const PreparedRule& b, const Graph& graph, bool sameNodes) {
    auto ofA = matchesIn(a, graph), ofB = matchesIn(b, graph);
    for (const Nodes& first : ofA)
        for (const Nodes& second : ofB)
            if (sameNodes ? first == second : overlap(first, second))
                return {first, second};
    return {};
}

uint64_t resultWith(const Graph& graph, Rule first, const Rule& second, Progress& progress) {
    ++first.priority;
    return stateHash(runPhase(graph, {std::move(first), second}, true, progress).graph);
}

/// The patterns are the same word for word, but for the rule's name.
bool samePattern(const PreparedRule& a, const PreparedRule& b) {
    Rule first = a.rule, second = b.rule;
    first.name = second.name = "";
    return matchKey(first) == matchKey(second);
}

Diagnostic& reportOverlap(LintContext& context, const Rule& a, const Rule& b) {
    Diagnostic& d = context.out.error(
        "E0302", b.span, fmt::format("rules `{}` and `{}` match the same nodes", a.name, b.name));
    d.labels.push_back({a.span, "has the same priority"});
    d.notes.push_back(fmt::format("both have priority {} in phase `{}` and leave different graphs",
                                  a.priority, a.phase));
    d.fix = "give the one that should win a higher priority";
    return d;
}

void addWitness(Diagnostic& d, const Graph& graph, const Clash& clash) {
    Nodes all = clash.first;
    for (NodeId node : clash.second)
        if (std::find(all.begin(), all.end(), node) == all.end())
            all.push_back(node);
    std::sort(all.begin(), all.end());
    d.notes.push_back("witness: " + witnessText(graph, all));
}

void checkPair(LintContext& context, const PreparedRule& a, const PreparedRule& b) {
    const Rule& first = a.rule;
    const Rule& second = b.rule;
    bool bothFuse = !first.isRewrite && !second.isRewrite;
    for (const PreparedRule* source : {&a, &b})
        for (const Witness& witness : context.witnesses(*source)) {
            Clash clash = clashIn(a, b, witness.graph, bothFuse);
            if (clash.first.empty())
                continue;
            bool differs = bothFuse || resultWith(witness.graph, first, second, context.silent) !=
                                           resultWith(witness.graph, second, first, context.silent);
            if (differs)
                return addWitness(reportOverlap(context, first, second), witness.graph, clash);
        }
    // No graph of the pattern may be at hand, yet one pattern fits what the other fits.
    if (bothFuse && samePattern(a, b))
        reportOverlap(context, first, second).notes.push_back("their patterns are the same");
}

} // namespace

void lintOverlaps(LintContext& context) {
    const auto& rules = context.index.rules();
    for (size_t i = 0; i < rules.size(); ++i)
        for (size_t j = i + 1; j < rules.size() && !context.progress.cancelled(); ++j)
            if (rules[i]->rule().phase == rules[j]->rule().phase &&
                rules[i]->rule().priority == rules[j]->rule().priority)
                checkPair(context, rules[i]->prepared(), rules[j]->prepared());
}

} // namespace fuselage::app
