// SPDX-License-Identifier: Apache-2.0
// The Why not panel: near misses, nearest first, of the selection or of the whole model.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeNearMissesPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
