// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/outline/outline_panel.h"

#include "app/studio/item_models/node_table.h"
#include "app/studio/panels/outline/profile_command.h"
#include "app/studio/panels/table_panel.h"

namespace fuselage::studio {

QWidget* makeOutlinePanel(Workbench& workbench, QWidget* parent) {
    NodeTable* table = makeNodeTable(nullptr);
    auto* panel = new TablePanel(table, QObject::tr("nodes of the model"), workbench, parent);
    panel->sayWhenEmpty(QObject::tr("the model has no nodes"));
    auto fill = [table, panel, &workbench](const app::Report& report) {
        const QHash<QString, double>& times = workbench.marks.times();
        std::vector<NodeRow> rows = nodeRows(report);
        if (!times.isEmpty())
            for (NodeRow& row : rows)
                row.elsewhere = times.value(row.name, -1);
        panel->offerColumn(elsewhereColumn, !times.isEmpty());
        table->setRows(std::move(rows));
    };
    panel->offerColumn(elsewhereColumn, false);
    panel->showReport(workbench.session, fill);
    addProfileCommand(workbench, panel);
    QObject::connect(&workbench.marks, &MarkBoard::timesChanged, panel, [fill, &workbench] {
        if (const app::Report* report = workbench.session.report())
            fill(*report);
    });
    return panel;
}

} // namespace fuselage::studio
