// SPDX-License-Identifier: Apache-2.0
// The Inspector: everything about what is selected: node, match, kernel, why not.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeInspectorPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
