// SPDX-License-Identifier: Apache-2.0
// Which thing of a scene is under a point: a grid over the boxes of one side.
#pragma once

#include "app/report/scene/scene.h"

namespace fuselage::scene {

class HitIndex {
public:
    /// The scene must outlive the index.
    HitIndex(const Scene& scene, Side side);

    /// The box there, or `none`.
    uint32_t boxAt(Point point) const;

    /// The stub there, or `none`.
    uint32_t stubAt(Point point) const;

    /// The innermost open container there, or `none`.
    uint32_t containerAt(Point point) const;

    /// Boxes that meet the rectangle, in drawing order.
    std::vector<uint32_t> boxesIn(const Rect& area) const;

private:
    size_t column(double x) const;
    size_t row(double y) const;

    const Scene& m_scene;
    Side m_side;
    size_t m_columns = 1, m_rows = 1;
    std::vector<std::vector<uint32_t>> m_cells; ///< boxes that meet each cell
};

} // namespace fuselage::scene
