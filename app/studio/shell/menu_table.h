// SPDX-License-Identifier: Apache-2.0
// What stands where in the menus: one row an entry, a line or a submenu. Commands that no row names
// come last in the menu that they ask for, so that a new one is never lost.
#pragma once

#include "app/studio/workbench/command_table.h"

#include <QMenuBar>

namespace fuselage::studio {

/// Makes the menus; returns the one for recent files.
QMenu* fillMenus(QMenuBar& bar, const CommandTable& commands);

} // namespace fuselage::studio
