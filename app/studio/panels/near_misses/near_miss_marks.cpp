// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/near_misses/near_miss_marks.h"

#include <algorithm>

namespace fuselage::studio {

namespace {

bool has(const std::vector<uint32_t>& values, uint32_t value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

const app::GraphNodeReport* markedNode(const std::string& name, const app::GraphReport& graph) {
    for (const app::GraphNodeReport& node : graph.nodes)
        if (node.name == name)
            return &node;
    return nullptr;
}

/// The node that `place` names, or that makes or first reads the value that it names.
QString nodeAt(const std::string& place, const app::GraphReport& graph) {
    if (markedNode(place, graph))
        return QString::fromStdString(place);
    auto value = std::find_if(graph.values.begin(), graph.values.end(),
                              [&](const app::GraphValueReport& v) { return v.name == place; });
    if (value == graph.values.end())
        return {};
    const auto at = static_cast<uint32_t>(value - graph.values.begin());
    const app::GraphNodeReport* reader = nullptr;
    for (const app::GraphNodeReport& node : graph.nodes) {
        if (has(node.outputs, at))
            return QString::fromStdString(node.name);
        if (!reader && has(node.inputs, at))
            reader = &node;
    }
    return reader ? QString::fromStdString(reader->name) : QString();
}

QString calloutOf(const Reason& reason) {
    QString found, expected;
    for (const ReasonFact& fact : reason.facts) {
        if (fact.name == "found")
            found = QString::fromStdString(fact.value);
        if (fact.name == "expected")
            expected = QString::fromStdString(fact.value);
    }
    QString code = QString::fromStdString(reason.code);
    if (found.isEmpty() || expected.isEmpty())
        return code + QStringLiteral(": ") + QString::fromStdString(reason.message);
    return QObject::tr("%1\nfound: %2\nthe rule wants: %3").arg(code, found, expected);
}

} // namespace

QList<NodeMark> marksOf(const app::NearMissReport& miss, const app::GraphReport& before) {
    QList<NodeMark> out;
    QString failed = nodeAt(miss.node, before);
    for (const std::string& name : miss.bound) {
        QString node = QString::fromStdString(name);
        if (node != failed && markedNode(name, before))
            out.append({NodeMark::Kind::Bound, false, node});
    }
    if (failed.isEmpty())
        failed = nodeAt(miss.anchor, before);
    if (!failed.isEmpty())
        out.append({NodeMark::Kind::Failed, false, failed, calloutOf(miss.reason)});
    return out;
}

} // namespace fuselage::studio
