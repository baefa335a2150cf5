// SPDX-License-Identifier: Apache-2.0
// What of the shared state a canvas shows: selection, marks and step as flags of boxes.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/graph_view/scene_painter.h"
#include "app/studio/session/mark_board.h"
#include "app/studio/session/selection_hub.h"

namespace fuselage::studio {

/// Marks of nodes as marks of boxes of that side; nodes that the drawing does not show are left
/// out.
std::vector<BoxMark> marksOn(const Drawing& drawing, scene::Side side,
                             const QList<NodeMark>& marks);

/// What a person picked: nodes of a side, or one input or output of the graph.
struct Picked {
    scene::Side side = scene::Before;
    QStringList nodes;
    QString value;
};

/// The nodes of these boxes. Boxes inside of open fused nodes alone are the nodes before that they
/// stand for; together with others they are their fused nodes.
Picked pickedOf(const Drawing& drawing, scene::Side side, const std::vector<uint32_t>& boxes);

/// What is selected and is no node of the side: an input or output of the graph; of what is inside
/// of open fused nodes, what stands for selected nodes before.
void selectOthers(const Drawing& drawing, scene::Side side, const Selection& selection,
                  std::vector<uint8_t>& selected);

/// The graph when `done` steps of the report are done: `shown` and `standIn` of the style.
void showStep(const Drawing& drawing, const app::Report& report, int done, PaintStyle& style);

} // namespace fuselage::studio
