// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/kernels/kernels_panel.h"

#include "app/report/counted.h"
#include "app/studio/item_models/kernel_table.h"
#include "app/studio/panels/table_panel.h"

#include <algorithm>

namespace fuselage::studio {

QWidget* makeKernelsPanel(Workbench& workbench, QWidget* parent) {
    auto baseline = std::make_shared<KernelBaseline>();
    auto verdicts = std::make_shared<KernelVerdicts>();
    KernelTable* table = makeKernelTable(nullptr, baseline, verdicts);
    auto* panel =
        new TablePanel(table, QObject::tr("kernels of the fused plan"), workbench, parent);
    panel->sayWhenEmpty(QObject::tr("the fused plan has no kernel: nothing is left to compute"));
    for (int column : {predictedColumn, errorColumn, countedColumn})
        panel->offerColumn(column, false);
    panel->showReport(workbench.session, [table, panel, verdicts](const app::Report& report) {
        const auto& kernels = report.after.kernels;
        verdicts->set(report);
        table->setRows(kernels);
        panel->offerColumn(countedColumn, app::anyCounted(kernels));
        const bool measured =
            std::any_of(kernels.begin(), kernels.end(), [](const app::KernelReport& kernel) {
                return kernel.measuredSeconds.has_value();
            });
        for (int column : {predictedColumn, errorColumn})
            panel->offerColumn(column, measured);
    });
    auto compare = [table, panel, baseline, &workbench] {
        const Run* run = workbench.measurements.baseline();
        // A run against itself says nothing.
        const bool itself = run && run->report == workbench.session.sharedReport();
        baseline->set(run && !itself ? run->report.get() : nullptr);
        for (int column : {table->columnCount() - 2, table->columnCount() - 1})
            panel->offerColumn(column, !baseline->empty());
        if (const app::Report* report = workbench.session.report())
            table->setRows(report->after.kernels);
    };
    QObject::connect(&workbench.measurements, &Measurements::runsChanged, panel, compare);
    compare();
    return panel;
}

} // namespace fuselage::studio
