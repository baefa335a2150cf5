// SPDX-License-Identifier: Apache-2.0
// One side of the drawing as a picture: what is on the screen or the whole graph, at a scale that a
// person chooses. Never with the fading of a selection. Runs on a worker thread.
#pragma once

#include "app/studio/exports/export_format.h"
#include "app/studio/graph_view/canvas.h"

namespace fuselage::studio {

struct PictureChoice {
    scene::Side side = scene::Before;
    bool svg = false;
    bool whole = true; ///< else what the canvas shows
    double scale = 2; ///< whole: pixels of a letter's pixel at zoom 1; view: of one of the screen's
    Viewport view;    ///< of the canvas, for !whole
    QSize canvas;     ///< its size, for !whole
};

/// The part of the scene that is in the picture.
QRectF areaOf(const PictureChoice& choice, const Drawing& drawing);

/// Pixels; of an SVG its nominal size.
QSize sizeOf(const PictureChoice& choice, const Drawing& drawing);

/// The largest scale whose PNG programs open.
double mostScale(const PictureChoice& choice, const Drawing& drawing);

/// As it is on the screen, but for what only says where somebody looks.
PaintStyle withoutSelection(PaintStyle style);

/// Errors: "save.picture": too large, or no memory.
Result<QImage> makePicture(const PictureChoice& choice, const ExportSource& source);

/// Errors: those of makePicture and writeFile.
Result<void> writePicture(const PictureChoice& choice, const ExportSource& source,
                          const QString& path);

} // namespace fuselage::studio
