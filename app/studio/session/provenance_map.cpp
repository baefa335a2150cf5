// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/provenance_map.h"

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

ProvenanceMap::ProvenanceMap(const app::GraphReport& before, const app::GraphReport& after) {
    m_known.reserve(static_cast<qsizetype>(before.nodes.size()));
    for (const app::GraphNodeReport& node : before.nodes)
        m_known.insert(QString::fromStdString(node.name));
    auto join = [this](const QString& source, const QString& name) {
        if (!m_known.contains(source))
            return;
        m_after[source].append(name);
        m_before[name].append(source);
    };
    for (const app::GraphNodeReport& node : after.nodes) {
        const QString name = QString::fromStdString(node.name);
        if (node.sources.empty()) // an untouched node stands for itself
            join(name, name);
        for (const std::string& source : node.sources)
            join(QString::fromStdString(source), name);
    }
}

QStringList ProvenanceMap::after(const QStringList& before) const {
    return mapped(m_after, before);
}

QStringList ProvenanceMap::before(const QStringList& after) const {
    return mapped(m_before, after);
}

} // namespace fuselage::studio
