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

} // namespace fuselage::studio
