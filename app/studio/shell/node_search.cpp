// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/node_search.h"

#include "app/report/report_scene.h"
#include "app/studio/item_models/query.h"

#include <QObject>
#include <QRegularExpression>
#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace fuselage::studio {

namespace {

struct Key {
    const char* name;
    const char* meaning;
};

constexpr Key keys[] = {
    {"op", QT_TRANSLATE_NOOP("NodeSearch", "operator: op:Conv")},
    {"name", QT_TRANSLATE_NOOP("NodeSearch", "name of the node: name:layer1")},
    {"shape", QT_TRANSLATE_NOOP("NodeSearch", "shape of the first output: shape:1,64")},
    {"type", QT_TRANSLATE_NOOP("NodeSearch", "the same with the type of elements")},
    {"dtype", QT_TRANSLATE_NOOP("NodeSearch", "type of elements: dtype:float16")},
    {"rule", QT_TRANSLATE_NOOP("NodeSearch", "rule that took the node, or rule:none")},
    {"verdict", QT_TRANSLATE_NOOP("NodeSearch", "verdict:slower: its fusion loses time")},
    {"us", QT_TRANSLATE_NOOP("NodeSearch", "microseconds: us>10")},
    {"bytes", QT_TRANSLATE_NOOP("NodeSearch", "bytes that it moves: bytes>1M")},
};

bool known(const QString& key) {
    return std::any_of(std::begin(keys), std::end(keys),
                       [&](const Key& each) { return key == QLatin1String(each.name); });
}

/// Letters that both begin with: what a person may have meant stands first.
int likeness(const QString& typed, const char* name) {
    const QString key = QString::fromLatin1(name);
    qsizetype same = 0;
    while (same < typed.size() && same < key.size() && typed[same] == key[same])
        ++same;
    return static_cast<int>(same) + (key.contains(typed) || typed.contains(key) ? 1 : 0);
}

Found withoutKey(const QString& text, const QString& wrong) {
    Found out;
    out.words = QObject::tr("there is no key `%1`; these there are").arg(wrong);
    std::vector<Key> sorted(std::begin(keys), std::end(keys));
    std::stable_sort(sorted.begin(), sorted.end(), [&](const Key& a, const Key& b) {
        return likeness(wrong, a.name) > likeness(wrong, b.name);
    });
    const QRegularExpression place("\\b" + QRegularExpression::escape(wrong) + "(?=[:<>=])",
                                   QRegularExpression::CaseInsensitiveOption);
    for (const Key& key : sorted) {
        QString completed = text;
        completed.replace(place, QString::fromLatin1(key.name));
        out.rows.append({QString::fromLatin1(key.name) + ':', QObject::tr(key.meaning), 0,
                         std::move(completed)});
    }
    out.count = out.rows.size();
    return out;
}

} // namespace

QVariant NodeSearch::Node::field(const QString& key) const {
    if (key == "op")
        return op;
    if (key == "name")
        return name;
    if (key == "shape" || key == "type")
        return type;
    if (key == "dtype")
        return dtype;
    if (key == "rule")
        return rule;
    if (key == "verdict")
        return verdict;
    if (key == "us" && seconds >= 0)
        return seconds * 1e6;
    if (key == "bytes" && bytes >= 0)
        return bytes;
    return {};
}

NodeSearch::NodeSearch(const app::Report& report) {
    const scene::SideFigures figures = app::figuresOf(report);
    std::unordered_map<std::string_view, const app::MatchReport*> matchOf;
    for (const app::MatchReport& match : report.matches)
        for (const std::string& node : match.nodes)
            matchOf[node] = &match;
    const app::GraphReport& graph = report.before.graph;
    m_nodes.reserve(graph.nodes.size());
    for (const app::GraphNodeReport& node : graph.nodes) {
        Node& each = m_nodes.emplace_back();
        each.name = QString::fromStdString(node.name);
        each.op = QString::fromStdString(node.op);
        if (!node.outputs.empty() && node.outputs[0] != app::GraphNodeReport::omitted) {
            each.type = QString::fromStdString(graph.values[node.outputs[0]].type);
            each.dtype = QString::fromStdString(graph.values[node.outputs[0]].dtype);
        }
        if (auto found = matchOf.find(node.name); found != matchOf.end()) {
            each.rule = QString::fromStdString(found->second->rule);
            if (found->second->slower())
                each.verdict = QStringLiteral("slower");
        }
        if (auto found = figures.before.find(node.name); found != figures.before.end()) {
            each.seconds = found->second.seconds;
            each.bytes = found->second.bytes;
        }
        each.words =
            QString(each.name + '\n' + each.op + '\n' + each.rule + '\n' + each.verdict).toLower();
    }
}

Found NodeSearch::find(const QString& text) {
    m_hits.clear();
    const Query query(text);
    for (const QString& key : query.keys())
        if (!known(key))
            return withoutKey(text, key);
    Found out;
    for (size_t i = 0; i < m_nodes.size(); ++i) {
        const Node& node = m_nodes[i];
        if (!query.matches(node.words, [&](const QString& key) { return node.field(key); }))
            continue;
        if (++out.count <= Chooser::mostRows)
            out.rows.append(
                {node.name,
                 QStringList{node.op, node.type, node.rule}.join(QStringLiteral("  ")).trimmed(),
                 static_cast<int>(i),
                 {}});
        if (!query.empty())
            m_hits.append(node.name);
    }
    return out;
}

} // namespace fuselage::studio
