// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/matches/matches_panel.h"

#include "app/studio/item_models/match_table.h"
#include "app/studio/item_models/words.h"
#include "app/studio/panels/matches/disabled_list.h"
#include "app/studio/panels/table_panel.h"

#include <QVBoxLayout>

namespace fuselage::studio {

QWidget* makeMatchesPanel(Workbench& workbench, QWidget* parent) {
    auto* panel = new QWidget(parent);
    auto* layout = new QVBoxLayout(panel);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    MatchTable* table = makeMatchTable(nullptr);
    auto* rows = new TablePanel(table, QObject::tr("fused nodes"), workbench, panel);
    rows->sayWhenEmpty(
        QObject::tr("no rule fused anything in this model; Why not says what came near"));
    rows->showReport(workbench.session,
                     [table](const app::Report& report) { table->setRows(report.matches); });
    workbench.commands.add({"match.slower", "Rules", QObject::tr("Show fusions that lose"), {}},
                           [rows, &workbench] {
                               rows->filter().setText(QStringLiteral("verdict:slower"));
                               if (QAction* matches = workbench.commands.find("panel.matches"))
                                   matches->trigger();
                               rows->step(1);
                           });
    auto markSlower = [&workbench] {
        QList<NodeMark> marks;
        if (const app::Report* report = workbench.session.report())
            for (const app::MatchReport& match : report->matches)
                if (match.slower())
                    marks.append({NodeMark::Kind::Slower, true, words(match.fusedNode)});
        workbench.marks.set(QStringLiteral("slower"), marks);
    };
    QObject::connect(&workbench.session, &Session::reportChanged, panel, markSlower);
    for (const char* id : {"match.disable", "match.trial", "match.enableAll"})
        if (QAction* action = workbench.commands.find(id))
            rows->table().addAction(action);
    workbench.commands.add(
        {"match.next", "Select", QObject::tr("Next match"), {QKeySequence("N")}, KeyScope::Canvas},
        [rows] { rows->step(1); });
    workbench.commands.add({"match.previous",
                            "Select",
                            QObject::tr("Previous match"),
                            {QKeySequence("Shift+N")},
                            KeyScope::Canvas},
                           [rows] { rows->step(-1); });
    layout->addWidget(rows, 1);
    layout->addWidget(new DisabledList(workbench, panel));
    panel->setFocusProxy(rows);
    return panel;
}

} // namespace fuselage::studio
