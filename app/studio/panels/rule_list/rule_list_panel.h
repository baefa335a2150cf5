// SPDX-License-Identifier: Apache-2.0
// The rules that are asked, each with what it did here and a box that switches it off.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

QWidget* makeRuleListPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
