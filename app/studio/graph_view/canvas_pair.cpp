// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/canvas_pair.h"

namespace fuselage::studio {

CanvasPair::CanvasPair(Workbench&, QWidget* parent) : QSplitter(Qt::Horizontal, parent) {}

} // namespace fuselage::studio
