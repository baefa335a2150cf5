// SPDX-License-Identifier: Apache-2.0
// One side of the drawing on the screen: pan, zoom, select, walk by keys. Paints on demand from the
// shared Drawing, so that fifty thousand nodes cost no objects. Knows no session.
#pragma once

#include "app/studio/graph_view/scene_painter.h"

#include <QWidget>
#include <optional>

namespace fuselage::studio {

/// What of the scene is in the middle, and how large.
struct Viewport {
    QPointF centre;
    double zoom = 1;

    friend bool operator==(const Viewport&, const Viewport&) = default;
};

class Canvas : public QWidget {
    Q_OBJECT

public:
    Canvas(scene::Side side, QWidget* parent);

    scene::Side side() const { return m_side; }

    const DrawingPtr& drawing() const { return m_drawing; }

    void setDrawing(DrawingPtr drawing);

    const PaintStyle& style() const { return m_style; }

    void setStyle(PaintStyle style);

    const Viewport& viewport() const { return m_viewport; }

    void setViewport(const Viewport& viewport);
    void fitAll();
    /// The top at a size that can be read; everything when that fits.
    void showStart();
    void fitSelection();
    void showArea(const QRectF& area); ///< all of it, with some room; scene coordinates
    /// What is said while there is nothing to draw yet.
    void setWaiting(const QString& words);
    void zoomBy(double factor); ///< around the middle

    /// The box that keys walk from; `none` when there is none.
    uint32_t current() const { return m_current; }

    void setCurrent(uint32_t box);

    /// Selects the nearest box that way along edges or, for siblings, on the same height.
    enum class Way { Maker, Reader, Left, Right };
    void walk(Way way);

    /// What opens or shuts there: of a box itself or what is around it; empty: nothing.
    QString toggleAt(uint32_t box) const;

    QPointF toScene(const QPointF& position) const;
    QRectF visibleArea() const;

Q_SIGNALS:
    void viewportChanged(const Viewport& viewport);
    /// Boxes that a person picked; none: the background was clicked.
    void picked(const std::vector<uint32_t>& boxes);
    /// A container ("c:...") or fused node ("n:NAME") to open or shut.
    void toggled(const QString& id);
    /// A menu is wanted, for the box under the pointer, or for what is selected.
    void menuWanted(const QPoint& globalPosition);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    void pick(uint32_t box, bool add);
    void fit(const QRectF& area, double most);
    QPointF bounded(QPointF centre, double zoom) const;
    void paintSkeleton(QPainter& painter, const Colours& colours) const;
    uint32_t firstBox() const;
    QString toggleOf(uint32_t container) const;
    void zoomAround(const QPointF& position, double factor);
    QString tip(const QPointF& position) const;

    scene::Side m_side;
    DrawingPtr m_drawing;
    PaintStyle m_style;
    Viewport m_viewport;
    uint32_t m_current = scene::none;
    QString m_waiting;
    bool m_fitted = false; ///< a first fit waits for a size
    std::optional<QPointF> m_pressed, m_dragFrom;
    QPointF m_centreAtPress;
    std::optional<QRectF> m_rubber; ///< scene coordinates
};

} // namespace fuselage::studio
