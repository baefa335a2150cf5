// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/minimap.h"

#include <QMouseEvent>

namespace fuselage::studio {

namespace {

constexpr int mapWidth = 110, leastWidth = 34, mapHeight = 190, margin = 8;

} // namespace

Minimap::Minimap(Canvas& canvas) : QWidget(&canvas), m_canvas(canvas) {
    setAccessibleName(tr("overview of the %1").arg(canvas.accessibleName()));
    setCursor(Qt::PointingHandCursor);
    resize(mapWidth, mapHeight);
    canvas.installEventFilter(this);
    connect(&canvas, &Canvas::viewportChanged, this, [this] {
        place();
        update();
    });
}

void Minimap::refresh() {
    m_picture = {};
    place();
    update();
}

void Minimap::place() {
    // A drawing that is wholly visible needs no map.
    const DrawingPtr& drawing = m_canvas.drawing();
    const scene::Rect all = drawing ? drawing->scene().rect : scene::Rect{};
    // A deep narrow drawing needs a narrow map.
    const double tall = (mapHeight - 8) / std::max(all.h, 1.0);
    const QSize wanted(std::clamp(static_cast<int>(all.w * tall) + 12, leastWidth, mapWidth),
                       mapHeight);
    if (wanted != size()) {
        m_picture = {};
        resize(wanted);
    }
    bool whole = m_canvas.visibleArea().contains(QRectF(all.x, all.y, all.w, all.h));
    setVisible(drawing && !whole && m_canvas.width() > 3 * mapWidth);
    QPoint corner(m_canvas.width() - width() - margin, m_canvas.height() - mapHeight - margin);
    // Not on what a person has just gone to.
    if (drawing && m_canvas.current() != scene::none) {
        const scene::Rect& box = drawing->scene().boxes[m_canvas.current()].rect;
        const QRectF covered(m_canvas.toScene(corner),
                             m_canvas.toScene(corner + QPoint(width(), height())));
        if (covered.intersects(QRectF(box.x, box.y, box.w, box.h)))
            corner.setX(margin);
    }
    move(corner);
}

double Minimap::scale() const {
    const scene::Rect& all = m_canvas.drawing()->scene().rect;
    return std::min((width() - 8) / std::max(all.w, 1.0), (mapHeight - 8) / std::max(all.h, 1.0));
}

QPointF Minimap::origin() const {
    const scene::Rect& all = m_canvas.drawing()->scene().rect;
    double s = scale();
    return {(width() - all.w * s) / 2 - all.x * s, (height() - all.h * s) / 2 - all.y * s};
}

void Minimap::paintEvent(QPaintEvent*) {
    if (!m_canvas.drawing())
        return;
    Colours colours(palette());
    if (m_picture.isNull()) {
        m_picture = QPixmap(size() * devicePixelRatioF());
        m_picture.setDevicePixelRatio(devicePixelRatioF());
        m_picture.fill(colours["surface"]);
        QPainter painter(&m_picture);
        painter.translate(origin());
        painter.scale(scale(), scale());
        const scene::Rect& all = m_canvas.drawing()->scene().rect;
        PaintStyle style = m_canvas.style();
        for (BoxMark& mark : style.marks)
            mark.callout.clear(); // no words at this size
        paintScene(painter, *m_canvas.drawing(), m_canvas.side(), {all.x, all.y, all.w, all.h},
                   scale(), colours, style);
    }
    QPainter painter(this);
    painter.drawPixmap(0, 0, m_picture);
    QRectF seen = m_canvas.visibleArea();
    QRectF frame(origin() + seen.topLeft() * scale(), seen.size() * scale());
    painter.setPen(QPen(colours["accent"], 1.5));
    painter.drawRect(frame.intersected(QRectF(rect()).adjusted(1, 1, -2, -2)));
    painter.setPen(colours["container.line"]);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void Minimap::go(const QPointF& position) {
    if (m_canvas.drawing())
        m_canvas.setViewport({(position - origin()) / scale(), m_canvas.viewport().zoom});
}

void Minimap::mousePressEvent(QMouseEvent* event) {
    go(event->position());
}

void Minimap::mouseMoveEvent(QMouseEvent* event) {
    go(event->position());
}

bool Minimap::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize)
        QMetaObject::invokeMethod(this, &Minimap::place, Qt::QueuedConnection);
    if (event->type() == QEvent::PaletteChange)
        m_picture = {};
    return QWidget::eventFilter(watched, event);
}

} // namespace fuselage::studio
