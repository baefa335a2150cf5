// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/roofline/roofline_panel.h"

#include "app/studio/panels/chart_view.h"

namespace fuselage::studio {

QWidget* makeRooflinePanel(Workbench& workbench, QWidget* parent) {
    return makeChartPanel(workbench, parent, {chart::roofline});
}

} // namespace fuselage::studio
