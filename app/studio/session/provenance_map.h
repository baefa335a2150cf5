// SPDX-License-Identifier: Apache-2.0
// Which nodes of the graph before stand for which nodes of the graph after, by name. Exact: read
// from the provenance that the rewriter wrote.
#pragma once

#include "core/graph/graph.h"

#include <QHash>
#include <QStringList>

namespace fuselage::studio {

class ProvenanceMap {
public:
    ProvenanceMap() = default;
    ProvenanceMap(const Graph& before, const Graph& after);

    /// Nodes after that compute what these nodes before computed, in graph order, each once.
    QStringList after(const QStringList& before) const;

    /// Nodes before that these nodes after stand for.
    QStringList before(const QStringList& after) const;

private:
    QHash<QString, QStringList> m_after, m_before;
};

} // namespace fuselage::studio
