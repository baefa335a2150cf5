// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/provenance_map.h"

#include <QSet>

namespace fuselage::studio {

namespace {

QStringList mapped(const QHash<QString, QStringList>& map, const QStringList& names) {
    QStringList out;
    QSet<QString> seen;
    for (const QString& name : names)
        for (const QString& other : map.value(name))
            if (!seen.contains(other)) {
                seen.insert(other);
                out.append(other);
            }
    return out;
}

} // namespace

ProvenanceMap::ProvenanceMap(const Graph& before, const Graph& after) {
    QSet<QString> known;
    for (NodeId id : before.nodes())
        known.insert(QString::fromStdString(before.node(id).name));
    for (NodeId id : after.nodes()) {
        const Node& node = after.node(id);
        QString name = QString::fromStdString(node.name);
        std::vector<std::string> sources = node.provenance.sources;
        if (sources.empty()) // an untouched node stands for itself
            sources.push_back(node.name);
        for (const std::string& text : sources) {
            QString source = QString::fromStdString(text);
            if (!known.contains(source))
                continue;
            m_after[source].append(name);
            m_before[name].append(source);
        }
    }
}

QStringList ProvenanceMap::after(const QStringList& before) const {
    return mapped(m_after, before);
}

QStringList ProvenanceMap::before(const QStringList& after) const {
    return mapped(m_before, after);
}

} // namespace fuselage::studio
