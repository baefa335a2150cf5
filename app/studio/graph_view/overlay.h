// SPDX-License-Identifier: Apache-2.0
// Colours of boxes by a figure. One row an overlay; the colour is never the only sign: tool tips
// and tables hold the numbers, and a key says what the colours mean.
#pragma once

#include "app/studio/graph_view/colours.h"
#include "app/studio/graph_view/drawing.h"

#include <span>

namespace fuselage::studio {

/// What a colour stands for.
struct OverlayKey {
    QString text;
    QColor colour; ///< invalid: words only
};

struct OverlayColours {
    std::vector<QColor> fill; ///< of each box; invalid: not concerned
    std::vector<OverlayKey> keys;
};

struct OverlayRow {
    const char* id;    ///< "time"
    const char* title; ///< of menu and palette
    const char* key;   ///< shortcut on the canvas
    /// Null: byTimes.
    OverlayColours (*paint)(const Drawing& drawing, scene::Side side, const Colours& colours);
};

/// Boxes of the graph before by what their nodes take together, with times from elsewhere.
OverlayColours byTimes(const Drawing& drawing, scene::Side side, const Colours& colours,
                       const QHash<QString, double>& seconds);

/// The first row paints nothing.
std::span<const OverlayRow> overlays();

} // namespace fuselage::studio
