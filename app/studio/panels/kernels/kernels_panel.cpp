// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/kernels/kernels_panel.h"

#include "app/studio/item_models/kernel_table.h"
#include "app/studio/panels/table_panel.h"

namespace fuselage::studio {

QWidget* makeKernelsPanel(Workbench& workbench, QWidget* parent) {
    KernelTable* table = makeKernelTable(nullptr);
    auto* panel =
        new TablePanel(table, QObject::tr("kernels of the fused plan"), workbench, parent);
    auto show = [table](const SnapshotPtr& snapshot) {
        table->setRows(snapshot ? snapshot->report().kernels : std::vector<app::KernelReport>());
    };
    QObject::connect(&workbench.session, &Session::snapshotChanged, panel, show);
    show(workbench.session.snapshot());
    return panel;
}

} // namespace fuselage::studio
