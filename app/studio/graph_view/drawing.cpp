// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/drawing.h"

#include <algorithm>

namespace fuselage::studio {

using scene::none;

Drawing::Drawing(scene::Scene scene)
    : m_scene(std::move(scene)), m_before(m_scene, scene::Before), m_after(m_scene, scene::After),
      m_edges(m_scene.boxes.size()) {
    for (scene::Side side : {scene::Before, scene::After}) {
        for (uint32_t b = 0; b < m_scene.boxes.size(); ++b) {
            const scene::Box& box = m_scene.boxes[b];
            if ((box.sides & side) && !box.name.empty() && box.kind != scene::Box::Kind::Collapsed)
                m_boxes[index(side)].insert(QString::fromStdString(box.name), b);
        }
        for (const scene::Hidden& hidden : m_scene.hidden)
            if (hidden.sides & side) {
                QString name = QString::fromStdString(hidden.name);
                m_boxes[index(side)].insert(name, hidden.box);
                m_inside[index(side)][hidden.box].append(name);
            }
    }
    for (uint32_t e = 0; e < m_scene.edges.size(); ++e) {
        m_edges[m_scene.edges[e].from].push_back(e);
        m_edges[m_scene.edges[e].to].push_back(e);
    }
}

uint32_t Drawing::boxOf(scene::Side side, const QString& node) const {
    return m_boxes[index(side)].value(node, none);
}

QStringList Drawing::nodesOf(scene::Side side, uint32_t box) const {
    const scene::Box& at = m_scene.boxes[box];
    if (at.kind == scene::Box::Kind::Collapsed)
        return m_inside[index(side)].value(box);
    bool node = at.kind == scene::Box::Kind::Node || at.kind == scene::Box::Kind::Fused;
    return node && (at.sides & side) ? QStringList{QString::fromStdString(at.name)} : QStringList();
}

std::vector<uint32_t> Drawing::neighbours(scene::Side side, uint32_t box, bool readers) const {
    std::vector<uint32_t> out;
    for (uint32_t e : m_edges[box]) {
        const scene::Edge& edge = m_scene.edges[e];
        uint32_t here = readers ? edge.from : edge.to, there = readers ? edge.to : edge.from;
        if (here == box && (edge.sides & side) &&
            std::find(out.begin(), out.end(), there) == out.end())
            out.push_back(there);
    }
    std::sort(out.begin(), out.end(), [this](uint32_t a, uint32_t b) {
        return m_scene.boxes[a].rect.x < m_scene.boxes[b].rect.x;
    });
    return out;
}

} // namespace fuselage::studio
