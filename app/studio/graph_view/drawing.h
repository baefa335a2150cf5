// SPDX-License-Identifier: Apache-2.0
// A Scene ready to be painted and searched: immutable, shared by both canvases and the minimaps.
#pragma once

#include "app/report/scene/hit_test.h"
#include "app/report/scene/scene.h"

#include <QHash>
#include <QRectF>
#include <QStringList>
#include <memory>
#include <vector>

namespace fuselage::studio {

/// What an edge is to a person.
enum class EdgeKind : uint8_t {
    Data,
    Skip,  ///< goes past other boxes to where a nearer value of the same type comes in, too
    Shape, ///< a few integers: sizes and indices, no data
};

class Drawing {
public:
    explicit Drawing(scene::Scene scene);
    Drawing(const Drawing&) = delete;
    Drawing& operator=(const Drawing&) = delete;

    const scene::Scene& scene() const { return m_scene; }

    const scene::HitIndex& hits(scene::Side side) const {
        return side == scene::Before ? m_before : m_after;
    }

    /// The box that shows the node on that side, itself or a shut container; `none` when absent.
    uint32_t boxOf(scene::Side side, const QString& node) const;

    /// What is inside of fused nodes that are shown open; their first boxes answer for them.
    const std::vector<uint32_t>& inner() const { return m_inner; }

    /// The nodes that a box stands for on a side: itself, or what is inside of it.
    QStringList nodesOf(scene::Side side, uint32_t box) const;

    EdgeKind edgeKind(uint32_t edge) const { return m_kinds[edge]; }

    /// All of the edge as it is painted, in the scene's units.
    const QRectF& edgeBounds(uint32_t edge) const { return m_edgeBounds[edge]; }

    /// Tokens of outlines ("relu.line"), each once, and which of them a box has: a frame of many
    /// boxes looks each up once.
    const std::vector<std::string>& outlines() const { return m_outlines; }

    uint32_t outlineOf(uint32_t box) const { return m_outlineOf[box]; }

    /// Neighbours along edges shown on the side; readers or makers.
    std::vector<uint32_t> neighbours(scene::Side side, uint32_t box, bool readers) const;

private:
    static size_t index(scene::Side side) { return side == scene::Before ? 0 : 1; }

    scene::Scene m_scene;
    scene::HitIndex m_before, m_after;
    QHash<QString, uint32_t> m_boxes[2];
    QHash<uint32_t, QStringList> m_inside[2];
    std::vector<uint32_t> m_inner;
    std::vector<std::vector<uint32_t>> m_edges; ///< of each box
    std::vector<EdgeKind> m_kinds;              ///< of each edge
    std::vector<QRectF> m_edgeBounds;
    std::vector<std::string> m_outlines;
    std::vector<uint32_t> m_outlineOf; ///< of each box
};

/// All of an edge as it is painted.
QRectF boundsOf(const scene::Edge& edge);

using DrawingPtr = std::shared_ptr<const Drawing>;

} // namespace fuselage::studio
