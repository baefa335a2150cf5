// SPDX-License-Identifier: Apache-2.0
// What of the shared state a canvas shows: selection, marks and step as flags of boxes.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/graph_view/scene_painter.h"
#include "app/studio/session/mark_board.h"

namespace fuselage::studio {

/// Marks of nodes as marks of boxes of that side; nodes that the drawing does not show are left
/// out.
std::vector<BoxMark> marksOn(const Drawing& drawing, scene::Side side,
                             const QList<NodeMark>& marks);

/// The graph when `done` steps of the report are done: `shown` and `standIn` of the style.
void showStep(const Drawing& drawing, const app::Report& report, int done, PaintStyle& style);

} // namespace fuselage::studio
