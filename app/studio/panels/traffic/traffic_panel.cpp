// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/traffic/traffic_panel.h"

#include "app/studio/panels/chart_view.h"

namespace fuselage::studio {

QWidget* makeTrafficPanel(Workbench& workbench, QWidget* parent) {
    return makeChartPanel(workbench, parent, {chart::trafficWaterfall, chart::beforeAfterBars});
}

} // namespace fuselage::studio
