// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/near_misses/near_misses_panel.h"

#include "app/studio/item_models/near_miss_table.h"
#include "app/studio/panels/near_misses/change_bar.h"
#include "app/studio/panels/near_misses/near_miss_marks.h"
#include "app/studio/panels/table_panel.h"

#include <QLayout>

namespace fuselage::studio {

namespace {

const QString nearMissOwner = QStringLiteral("near miss");

std::vector<NearMissRow> rowsWith(const app::Report& report, const ChangeTrial& trial) {
    std::vector<NearMissRow> rows = nearMissRows(report);
    for (NearMissRow& row : rows)
        if (const TriedChange* tried = row.first ? trial.tried(*row.first) : nullptr;
            tried && tried->outcome)
            row.tried = tried->outcome->helps() ? tried->outcome->us * 1e-6 : 0;
    return rows;
}

} // namespace

QWidget* makeNearMissesPanel(Workbench& workbench, QWidget* parent) {
    NearMissTable* table = makeNearMissTable(nullptr);
    auto* panel = new TablePanel(table, QObject::tr("near misses"), workbench, parent);
    panel->sayWhenEmpty(QObject::tr("no near misses: no match ended at its last conditions"));
    panel->stretch(whyColumn);
    auto* trial = new ChangeTrial(workbench.session, panel);
    auto* bar = new ChangeBar(workbench, *trial, panel);
    panel->layout()->addWidget(bar);
    panel->showReport(workbench.session, [table, trial](const app::Report& report) {
        table->setRows(rowsWith(report, *trial));
    });
    QObject::connect(trial, &ChangeTrial::found, panel, [table, trial, &workbench] {
        if (const app::Report* report = workbench.session.report())
            table->setRows(rowsWith(*report, *trial));
    });
    QObject::connect(&workbench.session, &Session::reportChanged, panel, [bar, &workbench] {
        workbench.marks.set(nearMissOwner, {});
        bar->choose(std::nullopt);
    });
    QObject::connect(panel, &TablePanel::chosen, panel, [table, bar, &workbench](int row) {
        bar->choose(row >= 0 ? table->row(row).first : std::nullopt);
        const app::Report* report = workbench.session.report();
        workbench.marks.set(nearMissOwner, row >= 0 && report
                                               ? marksOf(table->row(row).miss, report->before.graph)
                                               : QList<NodeMark>());
    });
    QObject::connect(panel, &TablePanel::activated, panel, [table, &workbench](int row) {
        const app::NearMissReport& miss = table->row(row).miss;
        Q_EMIT workbench.session.placeWanted(QString::fromStdString(miss.file),
                                             static_cast<int>(miss.line));
    });
    panel->table().setToolTip(QObject::tr("Enter or double-click: the rule's line"));
    workbench.commands.add({"miss.next",
                            "Select",
                            QObject::tr("Next near miss"),
                            {QKeySequence("M")},
                            KeyScope::Canvas},
                           [panel, &workbench] {
                               panel->step(1);
                               if (QAction* go = workbench.commands.find("view.fitSelection"))
                                   go->trigger();
                           });
    workbench.commands.add({"miss.previous",
                            "Select",
                            QObject::tr("Previous near miss"),
                            {QKeySequence("Shift+M")},
                            KeyScope::Canvas},
                           [panel] { panel->step(-1); });
    return panel;
}

} // namespace fuselage::studio
