// SPDX-License-Identifier: Apache-2.0
// Which nodes of the graph before stand for which nodes of the graph after, by name. Exact: read
// from the provenance that the rewriter wrote.
#pragma once

#include "app/pipeline/graph_report.h"

#include <QHash>
#include <QSet>
#include <QStringList>

namespace fuselage::studio {

class ProvenanceMap {
public:
    ProvenanceMap() = default;
    ProvenanceMap(const app::GraphReport& before, const app::GraphReport& after);

    bool knowsBefore(const QString& node) const { return m_known.contains(node); }

    /// Nodes after that compute what these nodes before computed, in graph order, each once.
    QStringList after(const QStringList& before) const;

    /// Nodes before that these nodes after stand for.
    QStringList before(const QStringList& after) const;

private:
    QSet<QString> m_known; ///< nodes before
    QHash<QString, QStringList> m_after, m_before;
};

} // namespace fuselage::studio
