// SPDX-License-Identifier: Apache-2.0
// What is said of an edge under the pointer: tensor, type, bytes, who makes and who reads it.
#pragma once

#include "app/studio/graph_view/drawing.h"

#include <QPointF>

namespace fuselage::studio {

/// Of the nearest edge that is drawn within `slack` (scene coordinates) of the point; empty: none.
/// Rich text without markup of its own.
QString edgeTip(const Drawing& drawing, scene::Side side, const QPointF& at, double slack);

} // namespace fuselage::studio
