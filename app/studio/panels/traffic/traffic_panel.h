// SPDX-License-Identifier: Apache-2.0
// The Traffic panel: bytes saved by rule, and before against after.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeTrafficPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
