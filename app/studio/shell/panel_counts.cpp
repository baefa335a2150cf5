// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/panel_counts.h"

#include "app/studio/item_models/near_miss_table.h"
#include "app/studio/shell/panel_table.h"

#include <QCoreApplication>
#include <QDockWidget>

namespace fuselage::studio {

namespace {

void showCount(Workbench& workbench, QMainWindow& window, const char* panel, size_t count) {
    auto* dock = window.findChild<QDockWidget*>(panel);
    const PanelRow* row = panelNamed(panel);
    if (!dock || !row)
        return;
    const QString name = QCoreApplication::translate("MainWindow", row->title);
    const QString title = count > 0 ? QStringLiteral("%1 (%2)").arg(name).arg(count) : name;
    dock->setWindowTitle(title);
    if (QAction* show = workbench.commands.find(QStringLiteral("panel.") + panel))
        show->setIconText(title);
}

} // namespace

void keepPanelCounts(Workbench& workbench, QMainWindow& window) {
    auto problems = [&workbench, &window] {
        showCount(workbench, window, "problems",
                  static_cast<size_t>(workbench.session.problems().size()));
    };
    auto reported = [&workbench, &window] {
        const Session& session = workbench.session;
        const app::Report* report = session.sketch() ? nullptr : session.report();
        showCount(workbench, window, "matches", report ? report->matches.size() : 0);
        showCount(workbench, window, "kernels", report ? report->after.kernels.size() : 0);
        showCount(workbench, window, "why_not",
                  report ? report->nearMisses.size() + refusedMatches(*report).size() : 0);
    };
    QObject::connect(&workbench.session, &Session::problemsChanged, &window, problems);
    QObject::connect(&workbench.session, &Session::reportChanged, &window, reported);
}

} // namespace fuselage::studio
