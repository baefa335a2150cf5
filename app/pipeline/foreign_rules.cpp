// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/foreign_rules.h"

#include "core/graph/bodies.h"

#include <algorithm>
#include <set>

namespace fuselage::app {

bool isBuiltIn(const std::string& file) {
    return file.starts_with("std/");
}

OpSet operatorsIn(const Graph& graph) {
    OpSet out;
    const auto add = [&](const Graph& of) {
        for (NodeId id : of.nodes())
            out.set(static_cast<size_t>(of.node(id).op));
    };
    add(graph);
    for (const BodyPlace& body : bodiesOf(graph))
        add(*body.graph);
    return out;
}

bool isForeign(const Rule& rule, const OpSet& operators) {
    return isBuiltIn(rule.file) && !IndexedRule(rule, 0).mayMatch(operators);
}

void dropForeign(const RuleSet& rules, const OpSet& operators, Trace& trace) {
    std::set<std::string> foreign;
    for (const Rule& rule : rules.rules)
        if (isForeign(rule, operators))
            foreign.insert(rule.name);
    std::erase_if(trace.nearMisses,
                  [&](const NearMiss& miss) { return foreign.contains(miss.rule); });
}

} // namespace fuselage::app
