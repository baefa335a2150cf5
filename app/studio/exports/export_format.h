// SPDX-License-Identifier: Apache-2.0
// What can be written to a file from what is open: one row each. Runs on a worker thread: sees only
// what it is given.
#pragma once

#include "app/studio/graph_view/scene_painter.h"
#include "app/studio/session/snapshot.h"

#include <QImage>
#include <functional>
#include <vector>

namespace fuselage::studio {

struct ExportSource {
    SnapshotPtr snapshot;
    std::shared_ptr<const app::Report> report; ///< measured figures in it, where there are
    DrawingPtr drawing;                        ///< as placed on the screen
    PaintStyle before, after;                  ///< overlay and selection
    QPalette palette;
};

struct ExportFormat {
    QString ending; ///< of file names: ".after.svg"
    QString title;  ///< as a person says it; where files can be mixed up with the ending
    std::function<Result<void>(const ExportSource& source, const QString& path)> write;
};

/// Drawings, tables, models and every format of app/report.
const std::vector<ExportFormat>& exportFormats();

/// The one with the longest ending that the path has; null when there is none.
const ExportFormat* exportFormatOf(const QString& path);

/// The largest scale of a picture that programs open: no side above 16,000 pixels, 120 million in
/// all.
double mostPictureScale(const QSizeF& size);

/// "Report (.html)": a title and what files of it end in.
QString titled(const QString& title, const QString& ending);

/// One side as a picture, made smaller where it would be larger than that.
QImage pictureOf(const Drawing& drawing, scene::Side side, const PaintStyle& style,
                 const QPalette& palette, double scale);

} // namespace fuselage::studio
