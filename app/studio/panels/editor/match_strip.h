// SPDX-License-Identifier: Apache-2.0
// The line above the editor: what the texts change against the saved ones, how many matches were
// gained and lost, and the way to each. Marks them on the canvases.
#pragma once

#include "app/studio/session/match_keys.h"
#include "app/studio/session/rule_texts.h"
#include "app/studio/workbench/said_label.h"
#include "app/studio/workbench/workbench.h"

#include <QToolButton>
#include <QWidget>

namespace fuselage::studio {

class MatchStrip : public QWidget {
    Q_OBJECT

public:
    MatchStrip(Workbench& workbench, RuleTexts& texts, QWidget* parent);

    const MatchChanges& changes() const { return m_changes; }

    QString text() const { return m_text->text(); }

    /// Selects the next (1) or previous (-1) gained or lost match.
    void step(int direction);

private:
    QString savings() const;
    QString leftOut() const;
    void take(const SnapshotPtr& now, const SnapshotPtr& previous);
    void show();
    void mark();

    Workbench& m_workbench;
    RuleTexts& m_texts;
    SaidLabel* m_text;
    QToolButton *m_previous, *m_next;
    SnapshotPtr m_baseline; ///< with the texts as they are saved
    MatchChanges m_changes;
    int m_at = -1;
};

} // namespace fuselage::studio
