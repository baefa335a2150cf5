// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/matches/matches_panel.h"

#include "app/studio/item_models/match_table.h"
#include "app/studio/panels/table_panel.h"

namespace fuselage::studio {

QWidget* makeMatchesPanel(Workbench& workbench, QWidget* parent) {
    MatchTable* table = makeMatchTable(nullptr);
    auto* panel = new TablePanel(table, QObject::tr("fused nodes"), workbench, parent);
    panel->showReport(workbench.session,
                      [table](const app::Report& report) { table->setRows(report.matches); });
    return panel;
}

} // namespace fuselage::studio
