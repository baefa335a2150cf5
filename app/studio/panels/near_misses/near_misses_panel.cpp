// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/near_misses/near_misses_panel.h"

#include "app/studio/item_models/near_miss_table.h"
#include "app/studio/panels/near_misses/near_miss_marks.h"
#include "app/studio/panels/table_panel.h"

namespace fuselage::studio {

namespace {

const QString nearMissOwner = QStringLiteral("near miss");

} // namespace

QWidget* makeNearMissesPanel(Workbench& workbench, QWidget* parent) {
    NearMissTable* table = makeNearMissTable(nullptr);
    auto* panel = new TablePanel(table, QObject::tr("near misses"), workbench, parent);
    panel->showReport(workbench.session,
                      [table](const app::Report& report) { table->setRows(nearMissRows(report)); });
    QObject::connect(&workbench.session, &Session::reportChanged, panel,
                     [&workbench] { workbench.marks.set(nearMissOwner, {}); });
    QObject::connect(panel, &TablePanel::chosen, panel, [table, &workbench](int row) {
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
