// SPDX-License-Identifier: Apache-2.0
// E0302: two rules of one phase and priority that match the same nodes and leave different graphs,
// so that only their order in the files decides. Fuse rules that cover different nodes are no
// such pair: the gain decides between those.
#include "app/pipeline/lint/lint_internal.h"
#include "core/rewrite/match_cache.h"
#include "core/rewrite/state_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

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

/// `witness`: of the first rule.
Clash clashIn(const Witness& witness, const PreparedRule& other, bool sameNodes) {
    const auto matches = matchesIn(other, witness.graph);
    for (const Nodes& first : witness.matches)
        for (const Nodes& second : matches)
            if (sameNodes ? first == second : overlap(first, second))
                return {first, second};
    return {};
}

uint64_t resultWith(const Graph& graph, Rule first, const Rule& second, Progress& progress) {
    ++first.priority;
    return stateHash(runPhase(graph, {std::move(first), second}, true, progress).graph);
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

void checkPair(LintContext& context, const IndexedRule& a, const IndexedRule& b) {
    const Rule& first = a.rule();
    const Rule& second = b.rule();
    bool bothFuse = !first.isRewrite && !second.isRewrite;
    for (const IndexedRule* source : {&a, &b}) {
        const IndexedRule& other = source == &a ? b : a;
        for (const Witness& witness : context.witnesses(source->prepared())) {
            if (!other.mayMatch(witness.operators))
                continue;
            Clash clash = clashIn(witness, other.prepared(), bothFuse);
            if (clash.first.empty())
                continue;
            bool differs = bothFuse || resultWith(witness.graph, first, second, context.silent) !=
                                           resultWith(witness.graph, second, first, context.silent);
            if (differs)
                return addWitness(reportOverlap(context, first, second), witness.graph, clash);
        }
    }
}

bool areRivals(const Rule& a, const Rule& b) {
    return a.phase == b.phase && a.priority == b.priority;
}

/// Positions of the first rules of each meaning: what holds for one holds for all of them. Of fuse
/// rules a copy is a finding: which of them names the node?
std::vector<size_t> firstOfEachMeaning(LintContext& context) {
    const auto& rules = context.index.rules();
    std::map<std::tuple<std::string, int64_t, std::string>, size_t> known;
    std::vector<size_t> out;
    for (size_t i = 0; i < rules.size(); ++i) {
        const Rule& rule = rules[i]->rule();
        auto [first, isNew] = known.try_emplace({rule.phase, rule.priority, meaningKey(rule)}, i);
        if (isNew)
            out.push_back(i);
        else if (!rule.isRewrite)
            reportOverlap(context, rules[first->second]->rule(), rule)
                .notes.push_back("their patterns are the same");
    }
    return out;
}

} // namespace

void lintOverlaps(LintContext& context) {
    const auto& rules = context.index.rules();
    const std::vector<size_t> firsts = firstOfEachMeaning(context);
    std::set<std::pair<size_t, size_t>> pairs;
    for (const size_t i : firsts)
        for (const Witness& witness : context.witnesses(rules[i]->prepared())) {
            if (context.progress.cancelled())
                return;
            for (const size_t j : context.byOperator.mayMatch(witness.operators))
                if (i != j && areRivals(rules[i]->rule(), rules[j]->rule()) &&
                    std::binary_search(firsts.begin(), firsts.end(), j))
                    pairs.insert(std::minmax(i, j));
        }
    for (const auto& [i, j] : pairs) {
        if (context.progress.cancelled())
            return;
        checkPair(context, *rules[i], *rules[j]);
    }
}

} // namespace fuselage::app
