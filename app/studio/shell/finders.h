// SPDX-License-Identifier: Apache-2.0
// The two choosers of the window, and the sheet of keys: all made from the command table and the
// report.
#pragma once

#include "app/studio/shell/chooser.h"
#include "app/studio/workbench/workbench.h"

namespace fuselage::studio {

/// Every enabled command by its title.
Chooser* openPalette(CommandTable& commands, QWidget* parent);

/// Nodes of the model by a Query over op, shape, dtype, rule, us, bytes and names; Enter selects.
Chooser* openNodeFinder(Workbench& workbench, QWidget* parent);

/// Keys of every command, by menu.
QDialog* openCheatSheet(const CommandTable& commands, QWidget* parent);

} // namespace fuselage::studio
