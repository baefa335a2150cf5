// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/steps/steps_panel.h"

#include "app/studio/item_models/step_table.h"
#include "app/studio/panels/table_panel.h"

namespace fuselage::studio {

QWidget* makeStepsPanel(Workbench& workbench, QWidget* parent) {
    StepTable* table = makeStepTable(nullptr);
    auto* panel = new TablePanel(table, QObject::tr("steps of the rewriting"), workbench, parent);
    panel->showReport(workbench.session,
                      [table](const app::Report& report) { table->setRows(report.steps); });
    return panel;
}

} // namespace fuselage::studio
