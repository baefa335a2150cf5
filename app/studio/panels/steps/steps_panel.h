// SPDX-License-Identifier: Apache-2.0
// The Steps panel: what the rewriter did and refused, one step after the other.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeStepsPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
