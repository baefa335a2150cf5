// SPDX-License-Identifier: Apache-2.0
// What panels draw onto the graph: signs on nodes (gained and lost matches, a near miss) and the
// step of the rewriting that is shown, times of another program. Panels write, the canvases read;
// no widgets.
#pragma once

#include <QHash>
#include <QList>
#include <QMap>
#include <QObject>
#include <QString>
#include <QStringList>
#include <optional>

namespace fuselage::studio {

/// A sign on a node; it has a letter and words, so that colour is never the only sign.
struct NodeMark {
    enum class Kind { Gained, Lost, Bound, Failed, Slower };

    Kind kind = Kind::Gained;
    bool after = false; ///< a node of the graph after fusion
    QString node;
    QString callout = {}; ///< words beside the node, may be empty

    friend bool operator==(const NodeMark&, const NodeMark&) = default;
};

class MarkBoard : public QObject {
    Q_OBJECT

public:
    using QObject::QObject;

    /// Replaces what this owner ("near miss") has marked.
    void set(const QString& owner, const QList<NodeMark>& marks);

    /// Of all owners, by name of the owner.
    QList<NodeMark> all() const;

    /// Steps of the report that are done where the graph after fusion is shown; none: all.
    void setStep(std::optional<int> step);

    const std::optional<int>& step() const { return m_step; }

    /// Nodes before fusion that a person looks for: marked, all others step back. Empty: nothing is
    /// looked for.
    void setHits(const QStringList& nodes);

    const QStringList& hits() const { return m_hits; }

    /// Seconds that another program measured, by node before fusion.
    void setTimes(const QHash<QString, double>& times);

    const QHash<QString, double>& times() const { return m_times; }

Q_SIGNALS:
    void changed();
    void timesChanged();

private:
    QMap<QString, QList<NodeMark>> m_marks;
    std::optional<int> m_step;
    QStringList m_hits;
    QHash<QString, double> m_times;
};

} // namespace fuselage::studio
