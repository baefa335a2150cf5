// SPDX-License-Identifier: Apache-2.0
// Rules whose nodes other matches took before they were searched for: what they say of the nodes in
// runs without the rules that have them, as --without-rule makes them.
#include "app/pipeline/explain_internal.h"
#include "core/support/text.h"

#include <algorithm>

namespace fuselage::app {

namespace {

/// Whether the trace says anything of the rule.
bool tells(const Trace& trace, const std::string& rule) {
    const auto isIts = [&](const auto& each) { return each.rule == rule; };
    return std::any_of(trace.events.begin(), trace.events.end(), isIts) ||
           std::any_of(trace.nearMisses.begin(), trace.nearMisses.end(), isIts);
}

} // namespace

bool addHeld(const Graph& graph, const ExplainOptions& options, const Rule& rule,
             const OpSet& anchors, FindingList& findings, Progress& progress) {
    constexpr int mostRuns = 6;
    std::set<std::string> out, holders = findings.taken().holders(graph, anchors);
    for (int run = 0; run < mostRuns && !progress.cancelled(); ++run) {
        const size_t known = out.size();
        out.insert(holders.begin(), holders.end());
        out.erase(rule.name);
        if (out.size() == known) // it is no rule that has the nodes
            return false;
        RuleOptions rules = options.rules;
        rules.without.insert(out.begin(), out.end());
        auto library = requireRuleLibrary(rules);
        if (!library)
            return false;
        FuseOptions fusing = options.fuse;
        fusing.explain = true;
        auto without = fuseGraph(graph, *library, fusing, progress);
        if (!without)
            return false;
        if (tells(without->trace, rule.name)) {
            findings.addWithout(without->trace, rule, joined(std::vector(out.begin(), out.end())));
            return true;
        }
        holders = TakenNodes(without->trace).holders(graph, anchors);
    }
    return false;
}

} // namespace fuselage::app
