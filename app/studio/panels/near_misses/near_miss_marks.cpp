// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/near_misses/near_miss_marks.h"

namespace fuselage::studio {

namespace {

/// The node that `place` names, or that makes or first reads the value that it names.
QString nodeAt(const std::string& place, const Graph& graph) {
    if (graph.findNode(place).valid())
        return QString::fromStdString(place);
    ValueId value = graph.findValue(place);
    if (!value.valid())
        return {};
    NodeId node = graph.producer(value);
    if (!node.valid() && !graph.value(value).uses.empty())
        node = graph.value(value).uses.front().node;
    return node.valid() ? QString::fromStdString(graph.node(node).name) : QString();
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

QList<NodeMark> marksOf(const app::NearMissReport& miss, const Graph& before) {
    QList<NodeMark> out;
    QString failed = nodeAt(miss.node, before);
    for (const std::string& name : miss.bound) {
        QString node = QString::fromStdString(name);
        if (node != failed && before.findNode(name).valid())
            out.append({NodeMark::Kind::Bound, false, node});
    }
    if (failed.isEmpty())
        failed = nodeAt(miss.anchor, before);
    if (!failed.isEmpty())
        out.append({NodeMark::Kind::Failed, false, failed, calloutOf(miss.reason)});
    return out;
}

} // namespace fuselage::studio
