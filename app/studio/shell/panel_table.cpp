// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/panel_table.h"

#include "app/studio/panels/kernels/kernels_panel.h"

namespace fuselage::studio {

namespace {

const PanelRow rows[] = {
    {"kernels", "Kernels", Qt::BottomDockWidgetArea, makeKernelsPanel,
     "every kernel of the fused plan: time, bytes, tactic, source nodes"},
};

} // namespace

std::span<const PanelRow> panelTable() {
    return rows;
}

} // namespace fuselage::studio
