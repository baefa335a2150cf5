// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/same_place.h"

#include <algorithm>
#include <cmath>

namespace fuselage::studio {

Viewport samePlace(const Drawing& earlier, const Drawing& now, const Viewport& view) {
    const auto distance = [&](const scene::Box& box) {
        const double x = std::clamp(view.centre.x(), box.rect.x, box.rect.right());
        const double y = std::clamp(view.centre.y(), box.rect.y, box.rect.bottom());
        return std::hypot(x - view.centre.x(), y - view.centre.y());
    };
    const auto& before = earlier.scene().boxes;
    const auto nearest =
        std::min_element(before.begin(), before.end(),
                         [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    if (nearest == before.end())
        return view;
    const auto& after = now.scene().boxes;
    const auto same = std::find_if(after.begin(), after.end(), [&](const scene::Box& box) {
        return box.id == nearest->id && box.sides == nearest->sides;
    });
    if (same == after.end())
        return view;
    const scene::Point from = nearest->rect.centre(), to = same->rect.centre();
    return {view.centre + QPointF(to.x - from.x, to.y - from.y), view.zoom};
}

uint32_t sameBox(const Drawing& earlier, const Drawing& now, scene::Side side, uint32_t box) {
    if (box == scene::none)
        return box;
    const scene::Box& was = earlier.scene().boxes[box];
    const auto& boxes = now.scene().boxes;
    for (uint32_t b = 0; b < boxes.size(); ++b)
        if (boxes[b].id == was.id && (boxes[b].sides & side))
            return b;
    QStringList nodes = earlier.nodesOf(side, box);
    if (!was.inside.empty()) // in a fused node that was open
        nodes << QString::fromStdString(was.inside);
    for (const QString& node : nodes)
        if (const uint32_t there = now.boxOf(side, node); there != scene::none)
            return there;
    return scene::none;
}

} // namespace fuselage::studio
