// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/node_table.h"

#include "app/report/format.h"
#include "app/report/report_scene.h"
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
        {"verdict",
         "measured: whether its fusion loses",
         Qt::AlignLeft,
         [](Row row) { return row.verdict; },
         {},
         {},
         [](Row row) { return row.verdict.isEmpty() ? "" : "loss"; }},
        {"time", "of its kernels before fusion: measured, else predicted", Qt::AlignRight,
         [](Row row) { return row.seconds < 0 ? QString() : words(app::secondsText(row.seconds)); },
         [](Row row) { return row.seconds < 0 ? QVariant() : QVariant(row.seconds); }},
        {"bytes", "logical traffic before fusion", Qt::AlignRight,
         [](Row row) {
             return row.bytes < 0 ? QString()
                                  : words(app::bytesText(static_cast<int64_t>(row.bytes)));
         },
         [](Row row) { return row.bytes < 0 ? QVariant() : QVariant(row.bytes); }},
        {"error", "against float, of its result (Run > Error of every node)", Qt::AlignRight,
         [](Row row) { return row.error < 0 ? QString() : QString::number(row.error, 'g', 2); },
         [](Row row) { return row.error < 0 ? QVariant() : QVariant(row.error); }},
        {"ORT time", "median in a profile of ONNX Runtime (File > Open ONNX Runtime profile)",
         Qt::AlignRight,
         [](Row row) {
             return row.elsewhere < 0 ? QString() : words(app::secondsText(row.elsewhere));
         },
         [](Row row) { return row.elsewhere < 0 ? QVariant() : QVariant(row.elsewhere); }},
    };
    return new NodeTable(
        std::move(columns), [](Row row) { return QStringList{row.name}; }, parent);
}

std::vector<NodeRow> nodeRows(const app::Report& report) {
    std::unordered_map<std::string, const app::MatchReport*> matchOf;
    for (const app::MatchReport& match : report.matches)
        for (const std::string& node : match.nodes)
            matchOf[node] = &match;
    const scene::SideFigures figures = app::figuresOf(report);
    std::vector<NodeRow> out;
    const app::GraphReport& graph = report.before.graph;
    for (const app::GraphNodeReport& node : graph.nodes) {
        NodeRow row{words(node.name), words(node.op), {}, {}, {}};
        if (auto found = figures.before.find(node.name); found != figures.before.end()) {
            row.seconds = found->second.seconds;
            row.bytes = found->second.bytes;
            row.error = found->second.error;
        }
        if (!node.outputs.empty() && node.outputs[0] != app::GraphNodeReport::omitted)
            row.type = words(graph.values[node.outputs[0]].type);
        if (auto found = matchOf.find(node.name); found != matchOf.end()) {
            row.rule = words(found->second->rule);
            row.fusedNode = words(found->second->fusedNode);
            if (found->second->slower())
                row.verdict = QObject::tr("slower");
        }
        out.push_back(std::move(row));
    }
    return out;
}

} // namespace fuselage::studio
