// SPDX-License-Identifier: Apache-2.0
// The Timeline panel: kernels one after the other, before and after, to one scale.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeTimelinePanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
