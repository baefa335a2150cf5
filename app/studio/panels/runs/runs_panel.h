// SPDX-License-Identifier: Apache-2.0
// Panel "Runs": what was measured, and which run others are compared with.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeRunsPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
