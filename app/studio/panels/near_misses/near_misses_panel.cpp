// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/near_misses/near_misses_panel.h"

#include "app/studio/item_models/near_miss_table.h"
#include "app/studio/panels/table_panel.h"

#include <algorithm>

namespace fuselage::studio {

QWidget* makeNearMissesPanel(Workbench& workbench, QWidget* parent) {
    NearMissTable* table = makeNearMissTable(nullptr);
    auto* panel = new TablePanel(table, QObject::tr("near misses"), workbench, parent);
    panel->showReport(workbench.session, [table](const app::Report& report) {
        std::vector<app::NearMissReport> misses = report.nearMisses;
        std::stable_sort(misses.begin(), misses.end(),
                         [](const auto& a, const auto& b) { return nearness(a) > nearness(b); });
        table->setRows(std::move(misses));
    });
    return panel;
}

} // namespace fuselage::studio
