// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/runs/runs_panel.h"

#include "app/studio/item_models/run_table.h"
#include "app/studio/panels/table_panel.h"

namespace fuselage::studio {

QWidget* makeRunsPanel(Workbench& workbench, QWidget* parent) {
    RunTable* table = makeRunTable(nullptr);
    auto* panel = new TablePanel(table, QObject::tr("measured runs"), workbench, parent);
    panel->sayWhenEmpty(QObject::tr("nothing was measured yet: F5 measures what is open"));
    Measurements& measurements = workbench.measurements;
    auto show = [table, &measurements] { table->setRows(runRows(measurements)); };
    QObject::connect(&measurements, &Measurements::runsChanged, panel, show);
    QObject::connect(panel, &TablePanel::activated, panel, [table, &measurements](int row) {
        measurements.setBaseline(table->row(row).run.number);
    });
    panel->table().setToolTip(
        QObject::tr("Enter or double-click: compare the others with this run"));
    show();
    return panel;
}

} // namespace fuselage::studio
