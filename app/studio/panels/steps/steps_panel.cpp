// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/steps/steps_panel.h"

#include "app/studio/item_models/step_table.h"
#include "app/studio/panels/steps/step_transport.h"
#include "app/studio/panels/table_panel.h"

#include <QVBoxLayout>

namespace fuselage::studio {

QWidget* makeStepsPanel(Workbench& workbench, QWidget* parent) {
    auto* panel = new QWidget(parent);
    auto* layout = new QVBoxLayout(panel);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    StepTable* table = makeStepTable(nullptr);
    auto* rows = new TablePanel(table, QObject::tr("steps of the rewriting"), workbench, panel);
    rows->sayWhenEmpty(QObject::tr("no rule did or tried anything in this model"));
    rows->showReport(workbench.session,
                     [table](const app::Report& report) { table->setRows(report.steps); });
    rows->filter().setText(QStringLiteral("-what:refused")); // there are hundreds
    auto* transport = new StepTransport(workbench, panel);
    QObject::connect(transport, &StepTransport::reached, rows, &TablePanel::showRow);
    layout->addWidget(transport);
    layout->addWidget(rows, 1);
    panel->setFocusProxy(rows);
    return panel;
}

} // namespace fuselage::studio
