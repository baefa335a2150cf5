// SPDX-License-Identifier: Apache-2.0
// Fused nodes that no single kernel computes: the reason of `lower`, the kernels that the planner
// made of them, and what one kernel would save.
#include "app/pipeline/explain_internal.h"
#include "app/pipeline/foreign_rules.h"

#include <algorithm>
#include <map>

namespace fuselage::app {

namespace {

/// "MatMul + Add": what one step of a plan computes.
std::string operatorsOf(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    if (!node.body)
        return nameOf(node.op);
    std::string out;
    for (NodeId inner : topologicalOrder(*node.body))
        out += (out.empty() ? "" : " + ") + std::string(nameOf(node.body->node(inner).op));
    return out;
}

/// Bytes that go from one of the steps to another of them: written once, read once by each.
int64_t bytesBetween(const Plan& plan, const std::vector<const Step*>& steps) {
    std::map<uint32_t, int64_t> made;
    for (const Step* step : steps)
        for (uint32_t value : step->outputs)
            made[value] = 0;
    for (const Step* step : steps)
        for (uint32_t value : step->inputs)
            if (auto found = made.find(value); found != made.end())
                ++found->second;
    int64_t bytes = 0;
    for (const auto& [value, readers] : made)
        if (readers > 0 && plan.values[value].residence == Residence::Arena &&
            !plan.values[value].isFixed)
            bytes += plan.values[value].bytes * (readers + 1);
    return bytes;
}

} // namespace

void addSplits(const Analysis& analysis, FindingList& findings) {
    const Plan& plan = *analysis.after.plan;
    std::map<std::string, const MatchReport*> matches;
    for (const MatchReport& match : analysis.report.matches)
        matches[match.fusedNode] = &match;
    for (const SplitRecord& split : plan.splits) {
        if (!split.isCut || split.reason.code == "cost") // the parts are faster: nothing to mend
            continue;
        auto match = matches.find(split.node);
        const auto& rules = findings.library().loaded.rules.rules;
        auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const Rule& each) { return each.name == split.rule; });
        if (match == matches.end() || rule == rules.end())
            continue;
        FindingSite site{split.node, match->second->nodes, false};
        if (!findings.isWanted(split.rule, site))
            continue;
        std::vector<const Step*> steps;
        for (const Step& step : plan.steps)
            if (step.rule == split.rule && step.sources == match->second->nodes)
                steps.push_back(&step);
        std::vector<std::string> parts;
        std::string key = split.rule + "\nlower\n" + split.reason.code;
        for (const Step* step : steps) {
            parts.push_back(operatorsOf(*plan.graph, step->node));
            key += "\n" + parts.back();
        }
        Finding& finding = findings.at(key, *rule, rule->span, {});
        if (finding.sites.empty()) {
            finding.stage = Finding::Stage::Lower;
            finding.reason = split.reason;
            if (isBuiltIn(rule->file)) // nobody should change it for this
                finding.reason.flip.clear();
            finding.step = finding.steps = static_cast<uint32_t>(match->second->nodes.size());
            finding.parts = parts;
        }
        finding.launches += std::max<int64_t>(static_cast<int64_t>(steps.size()) - 1, 0);
        finding.bytes += bytesBetween(plan, steps);
        finding.sites.push_back(std::move(site));
    }
}

} // namespace fuselage::app
