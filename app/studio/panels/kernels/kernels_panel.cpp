// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/kernels/kernels_panel.h"

#include "app/studio/item_models/kernel_table.h"
#include "app/studio/panels/table_panel.h"

namespace fuselage::studio {

QWidget* makeKernelsPanel(Workbench& workbench, QWidget* parent) {
    KernelTable* table = makeKernelTable(nullptr);
    auto* panel =
        new TablePanel(table, QObject::tr("kernels of the fused plan"), workbench, parent);
    panel->showReport(workbench.session,
                      [table](const app::Report& report) { table->setRows(report.kernels); });
    return panel;
}

} // namespace fuselage::studio
