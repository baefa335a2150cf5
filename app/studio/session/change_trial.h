// SPDX-License-Identifier: Apache-2.0
// What the change that a near miss suggests would gain: it is made in a copy of the rules, and the
// model is fused once more in the background. Nothing that is open changes.
#pragma once

#include "app/pipeline/explanation.h"
#include "app/studio/session/session.h"

#include <map>

namespace fuselage::studio {

struct TriedChange {
    std::optional<app::ChangeOutcome> outcome;
    QString refused; ///< why there is none
};

class ChangeTrial : public QObject {
    Q_OBJECT

public:
    explicit ChangeTrial(Session& session, QObject* parent = nullptr);

    /// Whether that near miss of the present snapshot, by its place in the report, suggests a
    /// change of the rule's text.
    bool possible(size_t miss) const;

    /// Nothing where it is not possible, or while what is shown is stale.
    void start(size_t miss);
    void cancel();

    bool running() const { return m_lane.busy(); }

    /// Null where it was not tried with this snapshot.
    const TriedChange* tried(size_t miss) const;

Q_SIGNALS:
    void changed(); ///< it runs, it ended, or another snapshot is shown
    void found();   ///< one more was tried
    void progressed(const QString& stage, qulonglong done, qulonglong total);

private:
    Session& m_session;
    JobLane m_lane;
    std::map<size_t, TriedChange> m_tried;
};

/// "fires 4 times instead of 0, saves 12.3 us (predicted), 1.20 MB less moved".
QString textOf(const TriedChange& tried);

} // namespace fuselage::studio
