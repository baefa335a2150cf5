// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/matcher_anchors.h"

#include "core/rewrite/matcher.h"

#include <algorithm>

namespace fuselage {

namespace {

size_t readersOf(const Graph& graph, NodeId node) {
    for (ValueId output : graph.node(node).outputs)
        if (output.valid())
            return graph.value(output).uses.size();
    return 0;
}

/// Of nodes without a row only the name tells whether a rule may start there.
bool mayStart(const PreparedRule& prepared, const Graph& graph, const GraphFacts& facts,
              NodeId id) {
    const Op op = facts.opOf(id);
    if (op != Op::Unknown && op != Op::Fused)
        return true;
    const Node& node = graph.node(id);
    return std::any_of(prepared.heads.begin(), prepared.heads.end(), [&](TermId head) {
        const std::vector<CustomOperatorPtr>& custom = prepared.rule.term(head).custom;
        return std::any_of(custom.begin(), custom.end(),
                           [&](const CustomOperatorPtr& each) { return each->is(node); });
    });
}

} // namespace

AnchorTable::AnchorTable(const std::vector<const PreparedRule*>& rules) : m_rules(rules) {
    for (uint32_t rule = 0; rule < rules.size(); ++rule)
        for (TermId head : rules[rule]->heads) {
            const TermFilter& filter = rules[rule]->filters[head.index()];
            const OpSet ops = rules[rule]->ops[head.index()] & ~rules[rule]->never;
            forOps(ops, [&](Op op) { add(rule, filter, static_cast<size_t>(op)); });
        }
}

void AnchorTable::add(uint32_t rule, const TermFilter& filter, size_t op) {
    std::vector<Head>& heads = m_heads[op];
    auto found = std::find_if(heads.begin(), heads.end(),
                              [&](const Head& head) { return head.filter->sameMasks(filter); });
    if (found == heads.end())
        found = heads.insert(heads.end(), {&filter, {}});
    if (found->rules.empty() || found->rules.back() != rule)
        found->rules.push_back(rule);
}

void AnchorTable::find(const Graph& graph, const GraphFacts& facts, std::span<const NodeId> nodes,
                       bool all, std::vector<std::vector<NodeId>>& out) const {
    out.resize(m_rules.size());
    for (std::vector<NodeId>& anchors : out)
        anchors.clear();
    for (NodeId node : nodes)
        for (const Head& head : m_heads[static_cast<size_t>(facts.opOf(node))]) {
            if (!all && !facts.fitsMasks(*head.filter, node))
                continue;
            for (uint32_t rule : head.rules) {
                const PreparedRule& prepared = *m_rules[rule];
                bool isFresh = out[rule].empty() || out[rule].back() != node;
                bool enough = all || prepared.plan.anchoredByUsers || prepared.leastReaders == 0 ||
                              readersOf(graph, node) >= prepared.leastReaders;
                if (isFresh && enough && mayStart(prepared, graph, facts, node))
                    out[rule].push_back(node);
            }
        }
}

} // namespace fuselage
