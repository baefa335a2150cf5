// SPDX-License-Identifier: Apache-2.0
// The Matches panel: every fused node with what it saved.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeMatchesPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
