// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/outline/outline_panel.h"

#include "app/studio/item_models/node_table.h"
#include "app/studio/panels/table_panel.h"

namespace fuselage::studio {

QWidget* makeOutlinePanel(Workbench& workbench, QWidget* parent) {
    NodeTable* table = makeNodeTable(nullptr);
    auto* panel = new TablePanel(table, QObject::tr("nodes of the model"), workbench, parent);
    panel->showReport(workbench.session,
                      [table](const app::Report& report) { table->setRows(nodeRows(report)); });
    return panel;
}

} // namespace fuselage::studio
