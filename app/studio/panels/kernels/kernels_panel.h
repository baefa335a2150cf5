// SPDX-License-Identifier: Apache-2.0
// The Kernels panel: a table that sorts, filters, copies, and selects on the canvas.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeKernelsPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
