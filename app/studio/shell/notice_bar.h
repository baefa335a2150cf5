// SPDX-License-Identifier: Apache-2.0
// One bar over the graph for whatever a person should know at once: what failed, what was assumed,
// what lost. Message, fix and a button that does it; the rows behind it are in Problems.
#pragma once

#include "app/studio/workbench/said_label.h"
#include "app/studio/workbench/workbench.h"

#include <QFrame>
#include <QHash>
#include <QPushButton>
#include <QSet>
#include <QToolButton>
#include <functional>
#include <optional>

namespace fuselage::studio {

class NoticeBar : public QFrame {
    Q_OBJECT

public:
    /// `elsewhere`: problems that are shown where a person looks anyway (beside the line that is
    /// being typed).
    NoticeBar(Workbench& workbench, std::function<bool(const Problem&)> elsewhere, QWidget* parent);

    /// What the bar says; none: it is hidden.
    const std::optional<Problem>& shown() const { return m_shown; }

    QString text() const { return m_text->text(); }

    QPushButton& button() { return *m_button; }

    /// The other way out, where there are two.
    QPushButton& otherButton() { return *m_other; }

    /// What is shown is not shown again, unless it comes up again.
    void dismiss();

private:
    void refresh();
    void say(const Problem& problem, qsizetype others);
    void act();
    void trigger(const QString& command);
    static QString keyOf(const Problem& problem);

    Workbench& m_workbench;
    std::function<bool(const Problem&)> m_elsewhere;
    std::optional<Problem> m_shown;
    QSet<QString> m_dismissed;
    QHash<QString, int> m_came; ///< of what there is, by key: as the how manieth it came up
    int m_last = 0;
    QLabel* m_icon;
    SaidLabel* m_text;
    QPushButton *m_button, *m_other;
    QToolButton *m_more, *m_close;
    QString m_command; ///< of the button; empty: the place of the problem
    QString m_otherCommand;
};

} // namespace fuselage::studio
