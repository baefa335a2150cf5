// SPDX-License-Identifier: Apache-2.0
// The Problems panel: mistakes in rules and models, then notes on the model; activating one goes to
// its place.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeProblemsPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
