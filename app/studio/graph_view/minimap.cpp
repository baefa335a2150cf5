// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/minimap.h"

#include <QLayout>
#include <QMouseEvent>
#include <algorithm>

namespace fuselage::studio {

namespace {

constexpr int mapWidth = 110, leastWidth = 34;

} // namespace

Minimap::Minimap(Canvas& canvas, QWidget* parent) : QWidget(parent), m_canvas(canvas) {
    setAccessibleName(tr("overview of the %1").arg(canvas.accessibleName()));
    setCursor(Qt::PointingHandCursor);
    setFixedWidth(leastWidth);
    hide();
    parent->installEventFilter(this);
    connect(&canvas, &Canvas::viewportChanged, this, qOverload<>(&QWidget::update));
}

void Minimap::setWanted(bool wanted) {
    m_wanted = wanted;
    place();
}

void Minimap::refresh() {
    m_picture = {};
    place();
    update();
}

/// As wide as the drawing needs it at this height; not where the canvas has little room itself.
void Minimap::place() {
    const DrawingPtr& drawing = m_canvas.drawing();
    const QSize room = parentWidget()->size();
    const scene::Rect all = drawing ? drawing->scene().rect : scene::Rect{};
    const double tall = (room.height() - 8) / std::max(all.h, 1.0);
    const int wanted = static_cast<int>(std::min(all.w * tall + 12, double(mapWidth)));
    setFixedWidth(std::max(wanted, leastWidth));
    setVisible(m_wanted && drawing && room.width() > 3 * width());
    if (QLayout* layout = parentWidget()->layout())
        layout->activate(); // what is shown next fits the canvas as it is now
}

void Minimap::resizeEvent(QResizeEvent*) {
    m_picture = {};
}

double Minimap::scale() const {
    const scene::Rect& all = m_canvas.drawing()->scene().rect;
    return std::min((width() - 8) / std::max(all.w, 1.0), (height() - 8) / std::max(all.h, 1.0));
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

bool Minimap::event(QEvent* event) {
    if (event->type() == QEvent::PaletteChange)
        m_picture = {};
    return QWidget::event(event);
}

bool Minimap::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize) // of the pane: its layout is not to change meanwhile
        QMetaObject::invokeMethod(this, &Minimap::place, Qt::QueuedConnection);
    return QWidget::eventFilter(watched, event);
}

} // namespace fuselage::studio
