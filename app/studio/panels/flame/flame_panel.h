// SPDX-License-Identifier: Apache-2.0
// Which modules take the time: scopes as bars below each other.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeFlamePanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
