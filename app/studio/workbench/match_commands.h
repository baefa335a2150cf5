// SPDX-License-Identifier: Apache-2.0
// Commands about single matches: switch the selected ones off and on, each change undoable.
#pragma once

#include "app/studio/workbench/workbench.h"

namespace fuselage::studio {

void addMatchCommands(Workbench& workbench);

/// The list of switched-off matches as one undoable change.
void changeDisabled(Workbench& workbench, const QString& text, std::vector<MatchKey> keys);

} // namespace fuselage::studio
