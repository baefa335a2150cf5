// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/kernels/kernels_panel.h"

#include "app/report/counted.h"
#include "app/studio/item_models/kernel_table.h"
#include "app/studio/panels/table_panel.h"

namespace fuselage::studio {

QWidget* makeKernelsPanel(Workbench& workbench, QWidget* parent) {
    auto baseline = std::make_shared<KernelBaseline>();
    auto verdicts = std::make_shared<KernelVerdicts>();
    KernelTable* table = makeKernelTable(nullptr, baseline, verdicts);
    auto* panel =
        new TablePanel(table, QObject::tr("kernels of the fused plan"), workbench, parent);
    panel->table().setColumnHidden(countedColumn, true);
    panel->showReport(workbench.session, [table, panel, verdicts](const app::Report& report) {
        verdicts->set(report);
        table->setRows(report.after.kernels);
        panel->table().setColumnHidden(countedColumn, !app::anyCounted(report.after.kernels));
    });
    auto compare = [table, panel, baseline, &workbench] {
        const Run* run = workbench.measurements.baseline();
        // A run against itself says nothing.
        const bool itself = run && run->report == workbench.session.sharedReport();
        baseline->set(run && !itself ? run->report.get() : nullptr);
        for (int column : {table->columnCount() - 2, table->columnCount() - 1})
            panel->table().setColumnHidden(column, baseline->empty());
        if (const app::Report* report = workbench.session.report())
            table->setRows(report->after.kernels);
    };
    QObject::connect(&workbench.measurements, &Measurements::runsChanged, panel, compare);
    compare();
    return panel;
}

} // namespace fuselage::studio
