// SPDX-License-Identifier: Apache-2.0
// What "find" looks through: the nodes of the graph before, as words and fields. Made once when the
// finder opens, so that every key is answered at once.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/shell/chooser.h"

#include <QStringList>
#include <vector>

namespace fuselage::studio {

class NodeSearch {
public:
    NodeSearch() = default;
    explicit NodeSearch(const app::Report& report);

    /// Rows of the first nodes that fit. A key that does not exist gives words and the keys that
    /// there are, each a completion.
    Found find(const QString& text);

    /// Names of all nodes that the last text fits; none where it was empty.
    const QStringList& hits() const { return m_hits; }

    const QString& name(int id) const { return m_nodes[static_cast<size_t>(id)].name; }

private:
    struct Node {
        QString name, op, type, dtype, rule, verdict;
        QString words; ///< all that a word without a key is looked for in, in small letters
        double seconds = -1, bytes = -1;

        QVariant field(const QString& key) const;
    };

    std::vector<Node> m_nodes;
    QStringList m_hits;
};

} // namespace fuselage::studio
