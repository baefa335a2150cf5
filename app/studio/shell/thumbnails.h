// SPDX-License-Identifier: Apache-2.0
// Small pictures of the models that were open, for the start page: files of the person's data
// folder, one a model. Painted beside the window.
#pragma once

#include "app/studio/graph_view/drawing.h"
#include "app/studio/session/job_lane.h"

#include <QImage>
#include <QPalette>

namespace fuselage::studio {

class Thumbnails {
public:
    static constexpr int width = 96, height = 60; ///< logical pixels

    /// Where the picture of a model is; it need not be there.
    static QString fileOf(const QString& model);

    /// Soon writes the picture, unless this drawing has it already. The oldest of many go.
    void keep(const QString& model, const DrawingPtr& drawing, const QPalette& palette);

private:
    JobLane m_lane;
    std::weak_ptr<const Drawing> m_kept;
};

/// The upper part of the graph before fusion, all of its width where that can be seen, at twice the
/// logical size.
QImage thumbnailOf(const Drawing& drawing, const QPalette& palette);

} // namespace fuselage::studio
