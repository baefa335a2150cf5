// SPDX-License-Identifier: Apache-2.0
// Paints one side of a Scene: far away in batches of plain areas, near with texts. The same for the
// canvas, the minimap and pictures in files. Holds no state.
#pragma once

#include "app/studio/graph_view/colours.h"
#include "app/studio/graph_view/drawing.h"

#include <QPainter>

namespace fuselage::studio {

/// A sign that a panel put on a box: an outline with a letter, and words beside it.
struct BoxMark {
    uint32_t box = scene::none;
    QString letter;
    std::string token; ///< of the outline
    QString callout;
};

/// How boxes differ from the plain drawing; empty vectors change nothing.
struct PaintStyle {
    std::vector<uint8_t> faded;    ///< of each box: drawn pale
    std::vector<uint8_t> selected; ///< of each box
    std::vector<uint8_t> hits;     ///< of each box: what was looked for
    std::vector<QColor> fill;      ///< of each box: an overlay's colour; invalid: its own
    std::vector<uint8_t> shown;    ///< of each box, instead of its sides: a step of the rewriting
    std::vector<uint32_t> standIn; ///< with `shown`: the box drawn in place of each; or none
    std::vector<BoxMark> marks;
    bool allTunnels = false;     ///< draw the curves of all tunnels
    uint32_t stub = scene::none; ///< draw the curves of this stub's edges
};

/// Paints what meets `area` (scene coordinates). The painter's transform must be the view's.
void paintScene(QPainter& painter, const Drawing& drawing, scene::Side side, const QRectF& area,
                double zoom, const Colours& colours, const PaintStyle& style);

} // namespace fuselage::studio
