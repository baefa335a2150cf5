// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/timeline/timeline_panel.h"

#include "app/studio/panels/chart_view.h"

namespace fuselage::studio {

QWidget* makeTimelinePanel(Workbench& workbench, QWidget* parent) {
    return makeChartPanel(workbench, parent, {chart::timelineLanes});
}

} // namespace fuselage::studio
