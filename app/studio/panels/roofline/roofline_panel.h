// SPDX-License-Identifier: Apache-2.0
// The Roofline panel: from the nodes that were fused to the fused node.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeRooflinePanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
