// SPDX-License-Identifier: Apache-2.0
// How much is in Problems, Matches, Kernels and Why not, on their tabs and in the tool bar.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QMainWindow>

namespace fuselage::studio {

/// From now on; the docks are there.
void keepPanelCounts(Workbench& workbench, QMainWindow& window);

} // namespace fuselage::studio
