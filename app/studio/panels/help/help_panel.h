// SPDX-License-Identifier: Apache-2.0
// Help beside the graph: pages with a search, and examples that open with their model and rule.
#pragma once

#include "app/studio/panels/help/help_pages.h"
#include "app/studio/session/job_lane.h"
#include "app/studio/workbench/said_label.h"
#include "app/studio/workbench/workbench.h"

#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QTextBrowser>

namespace fuselage::studio {

class HelpPanel : public QWidget {
    Q_OBJECT

public:
    HelpPanel(Workbench& workbench, QWidget* parent);

    /// Scrolls to the section where one is given.
    void showPage(int page, const QString& section = {});

    /// The next page of the tour, around its end; -1: the one before.
    void stepTour(int direction);

    int page() const { return m_page; }

    QLineEdit& search() { return *m_search; }

    QListWidget& list() { return *m_list; }

    QTextBrowser& text() { return *m_text; }

    QPushButton& open() { return *m_open; }

private:
    void fillList();
    void openExample();
    void take(const HelpPage& page, const QString& rule);
    void follow(const QUrl& link);
    bool scrollTo(const QString& slug);

    Workbench& m_workbench;
    QLineEdit* m_search;
    QListWidget* m_list;
    QTextBrowser* m_text;
    QPushButton *m_open, *m_back;
    SaidLabel* m_words; ///< what the example changed in the options
    JobLane m_lane;
    int m_page = -1;
};

QWidget* makeHelpPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
