// SPDX-License-Identifier: Apache-2.0
// The middle of the window: the graph before and the graph after, side by side.
#pragma once

#include "app/studio/shell/workbench.h"

#include <QSplitter>

namespace fuselage::studio {

class CanvasPair : public QSplitter {
    Q_OBJECT

public:
    CanvasPair(Workbench& workbench, QWidget* parent);
};

} // namespace fuselage::studio
