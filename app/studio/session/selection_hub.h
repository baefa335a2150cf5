// SPDX-License-Identifier: Apache-2.0
// What is selected, for every view at once. A view tells the hub and is told by it; nobody else
// passes selections around. Both sides are always filled: the hub maps one to the other.
#pragma once

#include "app/studio/session/snapshot.h"

#include <QObject>
#include <QStringList>

namespace fuselage::studio {

struct Selection {
    QStringList before; ///< names of nodes of the graph before fusion
    QStringList after;  ///< names of nodes of the graph after fusion
    QString rule;       ///< set when a whole rule is meant
    QString value = {}; ///< an input or output of the graph: no node stands for it

    bool empty() const {
        return before.isEmpty() && after.isEmpty() && rule.isEmpty() && value.isEmpty();
    }

    friend bool operator==(const Selection&, const Selection&) = default;
};

class SelectionHub : public QObject {
    Q_OBJECT

public:
    explicit SelectionHub(QObject* parent = nullptr) : QObject(parent) {}

    const Selection& selection() const { return m_selection; }

    void selectBefore(const QStringList& nodes);
    void selectAfter(const QStringList& nodes);
    /// Nodes of either graph: those before where they exist there.
    void selectAny(const QStringList& nodes);
    /// All nodes that the rule made.
    void selectRule(const QString& rule);
    /// An input or output of the graph, which keeps its name through fusion.
    void selectValue(const QString& value);
    void clear();

    bool canGoBack() const { return m_position > 0; }

    bool canGoForward() const { return m_position + 1 < m_history.size(); }

    void goBack();
    void goForward();

    /// The names of the selection mean nothing in another model: keeps those that still exist.
    /// `sameModel`: what was selected without a snapshot was of this one's model.
    void setSnapshot(const SnapshotPtr& snapshot, bool sameModel = false);

Q_SIGNALS:
    void changed(const Selection& selection);

private:
    void select(Selection selection);
    void show(Selection selection);

    SnapshotPtr m_snapshot;
    Selection m_selection;
    QList<Selection> m_history;
    qsizetype m_position = -1;
};

} // namespace fuselage::studio
