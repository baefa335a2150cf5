// SPDX-License-Identifier: Apache-2.0
#include "app/report/scene/hit_test.h"

#include <algorithm>

namespace fuselage::scene {

namespace {

constexpr double smallestCell = 256;
constexpr double mostCells = 512; ///< along one axis

double cellOf(double extent) {
    return std::max(smallestCell, extent / mostCells);
}

} // namespace

HitIndex::HitIndex(const Scene& scene, Side side) : m_scene(scene), m_side(side) {
    m_columns = static_cast<size_t>(scene.rect.w / cellOf(scene.rect.w)) + 1;
    m_rows = static_cast<size_t>(scene.rect.h / cellOf(scene.rect.h)) + 1;
    m_cells.resize(m_columns * m_rows);
    for (uint32_t b = 0; b < scene.boxes.size(); ++b) {
        const Box& box = scene.boxes[b];
        if ((box.sides & side) == 0)
            continue;
        for (size_t y = row(box.rect.y); y <= row(box.rect.bottom()); ++y)
            for (size_t x = column(box.rect.x); x <= column(box.rect.right()); ++x)
                m_cells[y * m_columns + x].push_back(b);
    }
}

size_t HitIndex::column(double x) const {
    double cell = std::clamp(x / cellOf(m_scene.rect.w), 0.0, static_cast<double>(m_columns - 1));
    return static_cast<size_t>(cell);
}

size_t HitIndex::row(double y) const {
    double cell = std::clamp(y / cellOf(m_scene.rect.h), 0.0, static_cast<double>(m_rows - 1));
    return static_cast<size_t>(cell);
}

uint32_t HitIndex::boxAt(Point point) const {
    const auto& cell = m_cells[row(point.y) * m_columns + column(point.x)];
    for (auto b = cell.rbegin(); b != cell.rend(); ++b)
        if (m_scene.boxes[*b].rect.contains(point))
            return *b;
    return none;
}

uint32_t HitIndex::stubAt(Point point) const {
    for (uint32_t s = 0; s < m_scene.stubs.size(); ++s)
        if ((m_scene.stubs[s].sides & m_side) && m_scene.stubs[s].rect.contains(point))
            return s;
    return none;
}

uint32_t HitIndex::containerAt(Point point) const {
    for (auto c = static_cast<uint32_t>(m_scene.containers.size()); c-- > 0;) {
        const Container& container = m_scene.containers[c];
        if (!container.collapsed && (container.sides & m_side) && container.rect.contains(point))
            return c; // inner containers stand behind outer ones
    }
    return none;
}

std::vector<uint32_t> HitIndex::boxesIn(const Rect& area) const {
    std::vector<uint32_t> out;
    for (size_t y = row(area.y); y <= row(area.bottom()); ++y)
        for (size_t x = column(area.x); x <= column(area.right()); ++x)
            for (uint32_t b : m_cells[y * m_columns + x]) {
                const Rect& r = m_scene.boxes[b].rect;
                if (r.x < area.right() && r.right() > area.x && r.y < area.bottom() &&
                    r.bottom() > area.y)
                    out.push_back(b);
            }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

} // namespace fuselage::scene
