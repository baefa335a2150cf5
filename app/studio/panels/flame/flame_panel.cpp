// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/flame/flame_panel.h"

#include "app/studio/panels/chart_view.h"

namespace fuselage::studio {

QWidget* makeFlamePanel(Workbench& workbench, QWidget* parent) {
    return makeChartPanel(workbench, parent, {chart::scopesByTime});
}

} // namespace fuselage::studio
