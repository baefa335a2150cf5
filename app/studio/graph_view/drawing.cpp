// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/drawing.h"

#include <algorithm>
#include <unordered_map>

namespace fuselage::studio {

using scene::none;

namespace {

bool carriesShape(const scene::Edge& edge) {
    constexpr double mostBytes = 128;
    return edge.bytes >= 0 && edge.bytes <= mostBytes &&
           (edge.label.starts_with("int64") || edge.label.starts_with("int32"));
}

/// Some other edge to the same box starts below where this one's maker ends.
bool goesPast(const scene::Scene& scene, const scene::Edge& edge,
              const std::vector<uint32_t>& beside) {
    constexpr size_t crowd = 64; // nobody sees one of so many
    if (edge.label.empty() || edge.tunnel || beside.size() > crowd)
        return false;
    for (uint32_t e : beside) {
        const scene::Edge& other = scene.edges[e];
        if (other.to == edge.to && other.from != edge.from && (other.sides & edge.sides) &&
            other.label == edge.label &&
            scene.boxes[other.from].rect.y >= scene.boxes[edge.from].rect.bottom())
            return true;
    }
    return false;
}

} // namespace

QRectF boundsOf(const scene::Edge& edge) {
    double left = edge.points[0].x, right = left, top = edge.points[0].y, bottom = top;
    for (const scene::Point& p : edge.points) {
        left = std::min(left, p.x);
        right = std::max(right, p.x);
        top = std::min(top, p.y);
        bottom = std::max(bottom, p.y);
    }
    return {left - 3, top - 3, right - left + 6, bottom - top + 6};
}

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
    for (uint32_t b = 0; b < m_scene.boxes.size(); ++b) {
        if (m_scene.boxes[b].inside.empty())
            continue;
        m_inner.push_back(b);
        const QString fused = QString::fromStdString(m_scene.boxes[b].inside);
        for (scene::Side side : {scene::Before, scene::After})
            if ((m_scene.boxes[b].sides & side) && !m_boxes[index(side)].contains(fused))
                m_boxes[index(side)].insert(fused, b);
    }
    for (uint32_t e = 0; e < m_scene.edges.size(); ++e) {
        m_edges[m_scene.edges[e].from].push_back(e);
        m_edges[m_scene.edges[e].to].push_back(e);
    }
    for (const scene::Edge& edge : m_scene.edges)
        m_kinds.push_back(carriesShape(edge)                          ? EdgeKind::Shape
                          : goesPast(m_scene, edge, m_edges[edge.to]) ? EdgeKind::Skip
                                                                      : EdgeKind::Data);
    for (const scene::Edge& edge : m_scene.edges)
        m_edgeBounds.push_back(boundsOf(edge));
    std::unordered_map<std::string, uint32_t> outlines;
    for (const scene::Box& box : m_scene.boxes) {
        auto [known, isNew] =
            outlines.try_emplace(box.token, static_cast<uint32_t>(m_outlines.size()));
        if (isNew)
            m_outlines.push_back(box.token + ".line");
        m_outlineOf.push_back(known->second);
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
