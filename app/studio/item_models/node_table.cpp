// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/node_table.h"

#include "app/studio/item_models/words.h"

#include <unordered_map>

namespace fuselage::studio {

NodeTable* makeNodeTable(QObject* parent) {
    using Row = const NodeRow&;
    std::vector<Column<NodeRow>> columns = {
        {"node", "name in the model", Qt::AlignLeft, [](Row row) { return row.name; }},
        {"operator", "", Qt::AlignLeft, [](Row row) { return row.op; }},
        {"result", "type of its first output", Qt::AlignLeft, [](Row row) { return row.type; }},
        {"rule", "that fused it", Qt::AlignLeft, [](Row row) { return row.rule; }},
        {"fused node", "that it is part of", Qt::AlignLeft, [](Row row) { return row.fusedNode; }},
    };
    return new NodeTable(
        std::move(columns), [](Row row) { return QStringList{row.name}; }, parent);
}

std::vector<NodeRow> nodeRows(const app::Report& report) {
    std::unordered_map<std::string, const app::MatchReport*> matchOf;
    for (const app::MatchReport& match : report.matches)
        for (const std::string& node : match.nodes)
            matchOf[node] = &match;
    std::vector<NodeRow> out;
    const app::GraphReport& graph = report.before.graph;
    for (const app::GraphNodeReport& node : graph.nodes) {
        NodeRow row{words(node.name), words(node.op), {}, {}, {}};
        if (!node.outputs.empty() && node.outputs[0] != app::GraphNodeReport::omitted)
            row.type = words(graph.values[node.outputs[0]].type);
        if (auto found = matchOf.find(node.name); found != matchOf.end()) {
            row.rule = words(found->second->rule);
            row.fusedNode = words(found->second->fusedNode);
        }
        out.push_back(std::move(row));
    }
    return out;
}

} // namespace fuselage::studio
