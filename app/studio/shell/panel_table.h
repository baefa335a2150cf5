// SPDX-License-Identifier: Apache-2.0
// The panels of the window: one row and one folder under panels/ each. A panel talks to the rest
// only through the Workbench.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>
#include <span>
#include <string_view>

namespace fuselage::studio {

struct PanelRow {
    const char* id;    ///< stable: saved layouts use it
    const char* title; ///< of tab and menu
    Qt::DockWidgetArea area;
    QWidget* (*make)(Workbench& workbench, QWidget* parent);
    const char* summary; ///< one line: what a person does here
};

std::span<const PanelRow> panelTable();

/// Null when there is none.
const PanelRow* panelNamed(std::string_view id);

} // namespace fuselage::studio
