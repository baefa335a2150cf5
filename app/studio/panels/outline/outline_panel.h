// SPDX-License-Identifier: Apache-2.0
// The Outline: the nodes of the graph as a list that filters; what screen readers walk.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeOutlinePanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
