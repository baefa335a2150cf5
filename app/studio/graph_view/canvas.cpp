// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/canvas.h"

#include "app/studio/graph_view/canvas_access.h"
#include "app/studio/graph_view/edge_tip.h"
#include "app/studio/graph_view/same_place.h"

#include <QContextMenuEvent>
#include <QFontInfo>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace fuselage::studio {

using scene::Box;
using scene::none;

namespace {

constexpr double leastZoom = 0.01, mostZoom = 4;
constexpr double readableZoom = 0.62;
constexpr double clickSlack = 4; ///< pixels that a click may move

/// How much larger than usual a person's letters are: the graph's follow.
double letterScale(const QWidget& widget) {
    constexpr double usual = 12; // pixels, of 9 points at 96 dots an inch
    return std::clamp(QFontInfo(widget.font()).pixelSize() / usual, 1.0, 3.0);
}

QRectF rectOf(const scene::Rect& r) {
    return {r.x, r.y, r.w, r.h};
}

} // namespace

Canvas::Canvas(scene::Side side, QWidget* parent) : QWidget(parent), m_side(side) {
    installCanvasAccess(); // before anybody asks for this widget's interface, which is kept
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(side == scene::Before ? tr("graph before fusion") : tr("graph after fusion"));
    setMinimumSize(160, 120);
}

void Canvas::setDrawing(DrawingPtr drawing) {
    bool first = !m_drawing;
    // A block that is opened or shut leaves a person where they were.
    m_current =
        m_drawing && drawing ? sameBox(*m_drawing, *drawing, m_side, m_current) : uint32_t(none);
    m_drawing = std::move(drawing);
    m_style = {};
    if (first)
        m_fitted = false;
    update();
}

void Canvas::setStyle(PaintStyle style) {
    m_style = std::move(style);
    update();
}

void Canvas::setViewport(const Viewport& viewport) {
    Viewport wanted = viewport;
    wanted.zoom = std::clamp(wanted.zoom, leastZoom, mostZoom);
    wanted.centre = bounded(wanted.centre, wanted.zoom);
    m_fitted = true;
    if (wanted == m_viewport)
        return;
    m_viewport = wanted;
    update();
    Q_EMIT viewportChanged(m_viewport);
}

/// A hand's breadth of the drawing stays in view, whatever way one pans.
QPointF Canvas::bounded(QPointF centre, double zoom) const {
    constexpr double kept = 80; // pixels
    if (!m_drawing || width() < 2 * kept || height() < 2 * kept)
        return centre;
    const scene::Rect& all = m_drawing->scene().rect;
    const QPointF reach((width() / 2.0 - kept) / zoom, (height() / 2.0 - kept) / zoom);
    return {std::clamp(centre.x(), all.x - reach.x(), all.right() + reach.x()),
            std::clamp(centre.y(), all.y - reach.y(), all.bottom() + reach.y())};
}

void Canvas::showArea(const QRectF& area) {
    fit(area.adjusted(-20, -20, 20, 20), letterScale(*this));
}

void Canvas::setWaiting(const QString& words) {
    if (words == m_waiting)
        return;
    m_waiting = words;
    if (!m_drawing)
        update();
}

/// Boxes as there will be some, and what is being done.
void Canvas::paintSkeleton(QPainter& painter, const Colours& colours) const {
    painter.setPen(QPen(colours["container.line"], 1));
    painter.setBrush(colours["container"]);
    constexpr int w = 130, h = 44, gap = 30;
    const int middle = width() / 2;
    for (int row = 0, y = 40; y < height() - h; ++row, y += h + gap) {
        if (row > 0)
            painter.drawLine(middle, y - gap, middle, y);
        if (row % 3 == 2)
            painter.drawRect(middle + w / 2 + gap, y, w, h);
        painter.drawRect(middle - w / 2, y, w, h);
    }
    const QRect band(0, height() / 2 - 24, width(), 48);
    painter.fillRect(band, colours["background"]);
    painter.setPen(colours["text.dim"]);
    painter.drawText(band, Qt::AlignCenter, m_waiting);
}

void Canvas::fit(const QRectF& area, double most) {
    if (area.isEmpty() || width() < 2 || height() < 2)
        return;
    double zoom = std::min({width() / area.width(), height() / area.height(), most});
    setViewport({area.center(), zoom});
    m_fitted = true;
}

void Canvas::fitAll() {
    if (m_drawing)
        fit(rectOf(m_drawing->scene().rect).adjusted(-20, -20, 20, 20), letterScale(*this));
}

void Canvas::showStart() {
    fitAll();
    const double letters = letterScale(*this), readable = readableZoom * letters;
    if (!m_drawing || m_viewport.zoom >= readable || width() < 2)
        return;
    const scene::Rect& all = m_drawing->scene().rect;
    double zoom = std::clamp((width() - 20) / std::max(all.w, 1.0), readable, letters);
    // A wide drawing has its first boxes anywhere along its top edge.
    const uint32_t first = firstBox();
    QPointF top(all.x + all.w / 2, all.y);
    if (first != none && all.w * zoom > width()) {
        const QRectF box = rectOf(m_drawing->scene().boxes[first].rect);
        top = {box.center().x(), std::max(all.y, box.top() - 40)};
    }
    setViewport({{top.x(), top.y() - 20 + height() / zoom / 2}, zoom});
}

/// Where reading begins: the uppermost node that reads an input (a column further right may begin
/// higher); else the uppermost node of this side, an input only where there is none.
uint32_t Canvas::firstBox() const {
    const std::vector<Box>& boxes = m_drawing->scene().boxes;
    uint32_t best = none;
    for (const scene::Edge& edge : m_drawing->scene().edges)
        if ((edge.sides & m_side) && !edge.tunnel && boxes[edge.from].kind == Box::Kind::Input &&
            (best == none || boxes[edge.to].rect.y < boxes[best].rect.y))
            best = edge.to;
    if (best != none)
        return best;
    for (uint32_t b = 0; b < boxes.size(); ++b) {
        if (!(boxes[b].sides & m_side) || boxes[b].kind == Box::Kind::Output)
            continue;
        const bool input = boxes[b].kind == Box::Kind::Input;
        const bool bestIsInput = best != none && boxes[best].kind == Box::Kind::Input;
        if (best == none || (bestIsInput && !input) ||
            (bestIsInput == input && boxes[b].rect.y < boxes[best].rect.y))
            best = b;
    }
    return best;
}

void Canvas::fitSelection() {
    if (!m_drawing || m_style.selected.empty())
        return;
    QRectF area;
    for (uint32_t b = 0; b < m_drawing->scene().boxes.size(); ++b)
        if (m_style.selected[b])
            area = area.united(rectOf(m_drawing->scene().boxes[b].rect));
    constexpr double calloutWidth = 290;
    for (const BoxMark& mark : m_style.marks)
        if (!mark.callout.isEmpty())
            area = area.united(
                rectOf(m_drawing->scene().boxes[mark.box].rect).adjusted(0, 0, calloutWidth, 0));
    fit(area.adjusted(-80, -60, 80, 60), 1.2);
}

void Canvas::zoomBy(double factor) {
    zoomAround(QPointF(width() / 2.0, height() / 2.0), factor);
}

void Canvas::zoomAround(const QPointF& position, double factor) {
    QPointF fixed = toScene(position);
    double zoom = std::clamp(m_viewport.zoom * factor, leastZoom, mostZoom);
    double moved = m_viewport.zoom / zoom;
    setViewport({fixed + (m_viewport.centre - fixed) * moved, zoom});
}

QPointF Canvas::toScene(const QPointF& position) const {
    return m_viewport.centre +
           (position - QPointF(width() / 2.0, height() / 2.0)) / m_viewport.zoom;
}

QRectF Canvas::visibleArea() const {
    return QRectF(toScene({0, 0}), toScene(QPointF(width(), height())));
}

void Canvas::setCurrent(uint32_t box) {
    m_current = box;
    if (box == none || !m_drawing)
        return;
    QRectF rect = rectOf(m_drawing->scene().boxes[box].rect);
    if (!visibleArea().contains(rect))
        setViewport({rect.center(), m_viewport.zoom});
}

void Canvas::walk(Way way) {
    if (!m_drawing || m_drawing->scene().boxes.empty())
        return;
    const scene::Scene& scene = m_drawing->scene();
    if (m_current == none) { // from nothing: the first box of this side
        for (uint32_t b = 0; b < scene.boxes.size() && m_current == none; ++b)
            if (scene.boxes[b].sides & m_side)
                m_current = b;
        if (m_current != none)
            pick(m_current, false);
        return;
    }
    uint32_t next = none;
    if (way == Way::Maker || way == Way::Reader) {
        auto boxes = m_drawing->neighbours(m_side, m_current, way == Way::Reader);
        if (!boxes.empty())
            next = boxes[boxes.size() / 2];
    } else {
        double here = rectOf(scene.boxes[m_current].rect).center().x(), best = 0;
        QRectF row = rectOf(scene.boxes[m_current].rect).adjusted(-1e6, 0, 1e6, 0);
        for (uint32_t b = 0; b < scene.boxes.size(); ++b) {
            double x = rectOf(scene.boxes[b].rect).center().x() - here;
            bool thatWay = way == Way::Right ? x > 1 : x < -1;
            if (b != m_current && (scene.boxes[b].sides & m_side) && thatWay &&
                row.intersects(rectOf(scene.boxes[b].rect)) &&
                (next == none || std::abs(x) < best)) {
                next = b;
                best = std::abs(x);
            }
        }
    }
    if (next != none) {
        setCurrent(next);
        pick(next, false);
    }
}

void Canvas::pick(uint32_t box, bool add) {
    std::vector<uint32_t> boxes;
    if (add && !m_style.selected.empty())
        for (uint32_t b = 0; b < m_style.selected.size(); ++b)
            if (m_style.selected[b])
                boxes.push_back(b);
    if (box != none) {
        auto found = std::find(boxes.begin(), boxes.end(), box);
        if (found == boxes.end())
            boxes.push_back(box);
        else
            boxes.erase(found); // a second click with the key takes it out
        m_current = box;
    }
    Q_EMIT picked(boxes);
}

void Canvas::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    Colours colours(palette());
    painter.fillRect(rect(), colours["background"]);
    if (!m_drawing) {
        if (!m_waiting.isEmpty())
            paintSkeleton(painter, colours);
        return;
    }
    painter.translate(width() / 2.0, height() / 2.0);
    painter.scale(m_viewport.zoom, m_viewport.zoom);
    painter.translate(-m_viewport.centre);
    paintScene(painter, *m_drawing, m_side, visibleArea(), m_viewport.zoom, colours, m_style);
    if (m_rubber) {
        painter.setPen(QPen(colours["selection"], 0, Qt::DashLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(*m_rubber);
    }
    if (hasFocus()) {
        painter.resetTransform();
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colours["accent"], 2));
        painter.drawRect(rect().adjusted(1, 1, -1, -1));
    }
}

void Canvas::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton)
        return;
    m_pressed = event->position();
    m_centreAtPress = m_viewport.centre;
    if (event->modifiers() & Qt::ShiftModifier)
        m_dragFrom = toScene(event->position()); // a rubber band instead of panning
}

void Canvas::mouseMoveEvent(QMouseEvent* event) {
    if (m_dragFrom) {
        m_rubber = QRectF(*m_dragFrom, toScene(event->position())).normalized();
        update();
    } else if (m_pressed) {
        setViewport({m_centreAtPress - (event->position() - *m_pressed) / m_viewport.zoom,
                     m_viewport.zoom});
    } else if (m_drawing) {
        QPointF at = toScene(event->position());
        uint32_t stub = m_drawing->hits(m_side).stubAt({at.x(), at.y()});
        if (stub != m_style.stub) {
            m_style.stub = stub;
            update();
        }
    }
}

void Canvas::mouseReleaseEvent(QMouseEvent* event) {
    if (m_rubber && m_drawing) {
        QRectF area = *m_rubber;
        std::vector<uint32_t> boxes;
        for (uint32_t b :
             m_drawing->hits(m_side).boxesIn({area.x(), area.y(), area.width(), area.height()}))
            if (m_drawing->scene().boxes[b].sides & m_side)
                boxes.push_back(b);
        Q_EMIT picked(boxes);
    } else if (m_pressed && m_drawing && event->button() == Qt::LeftButton &&
               (event->position() - *m_pressed).manhattanLength() <= clickSlack) {
        QPointF at = toScene(event->position());
        pick(m_drawing->hits(m_side).boxAt({at.x(), at.y()}),
             event->modifiers() & Qt::ControlModifier);
    }
    m_pressed.reset();
    m_dragFrom.reset();
    m_rubber.reset();
    update();
}

void Canvas::mouseDoubleClickEvent(QMouseEvent* event) {
    if (!m_drawing)
        return;
    QPointF at = toScene(event->position());
    const scene::HitIndex& hits = m_drawing->hits(m_side);
    const scene::Scene& scene = m_drawing->scene();
    QString id;
    if (uint32_t box = hits.boxAt({at.x(), at.y()}); box == none)
        id = toggleOf(hits.containerAt({at.x(), at.y()}));
    else if (scene.boxes[box].kind == Box::Kind::Collapsed ||
             scene.boxes[box].kind == Box::Kind::Fused || !scene.boxes[box].inside.empty())
        id = toggleAt(box);
    if (!id.isEmpty())
        Q_EMIT toggled(id);
}

/// A frame around what is in a fused node stands for that node.
QString Canvas::toggleOf(uint32_t container) const {
    const scene::Scene& scene = m_drawing->scene();
    if (container == none)
        return {};
    const scene::Container& it = scene.containers[container];
    const bool open = it.group != none && !it.collapsed && !scene.groups[it.group].open.empty();
    return QString::fromStdString(open ? "n:" + scene.groups[it.group].open : it.id);
}

QString Canvas::toggleAt(uint32_t box) const {
    if (!m_drawing || box == none)
        return {};
    const Box& it = m_drawing->scene().boxes[box];
    if (it.kind == Box::Kind::Fused)
        return QString::fromStdString(it.id);
    if (!it.inside.empty())
        return QString::fromStdString("n:" + it.inside);
    return toggleOf(it.container);
}

void Canvas::wheelEvent(QWheelEvent* event) {
    if (event->modifiers() & Qt::ControlModifier) {
        zoomAround(event->position(), std::pow(1.0015, event->angleDelta().y()));
    } else {
        QPointF delta = event->pixelDelta().isNull() ? QPointF(event->angleDelta()) / 2
                                                     : QPointF(event->pixelDelta());
        if (event->modifiers() & Qt::ShiftModifier)
            delta = delta.transposed();
        setViewport({m_viewport.centre - delta / m_viewport.zoom, m_viewport.zoom});
    }
    event->accept();
}

/// What is under the pointer is selected first, unless it is already.
void Canvas::contextMenuEvent(QContextMenuEvent* event) {
    if (!m_drawing)
        return;
    if (event->reason() == QContextMenuEvent::Mouse) {
        const QPointF at = toScene(event->pos());
        const uint32_t box = m_drawing->hits(m_side).boxAt({at.x(), at.y()});
        const bool selected = box != none && !m_style.selected.empty() && m_style.selected[box];
        if (box != none && !selected)
            pick(box, false);
    }
    Q_EMIT menuWanted(event->globalPos());
}

void Canvas::resizeEvent(QResizeEvent*) {
    if (!m_fitted)
        showStart();
}

QString Canvas::tip(const QPointF& position) const {
    if (!m_drawing)
        return {};
    QPointF at = toScene(position);
    uint32_t b = m_drawing->hits(m_side).boxAt({at.x(), at.y()});
    if (b == none)
        return edgeTip(*m_drawing, m_side, at, clickSlack / m_viewport.zoom);
    const Box& box = m_drawing->scene().boxes[b];
    QStringList lines{QString::fromStdString(box.name.empty() ? box.title : box.name)};
    for (const std::string* text : {&box.op, &box.type, &box.figures.kernel})
        if (!text->empty())
            lines << QString::fromStdString(*text);
    if (box.figures.error >= 0)
        lines << tr("error %1").arg(box.figures.error, 0, 'g', 2);
    return lines.join('\n').toHtmlEscaped().replace('\n', "<br>");
}

bool Canvas::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        QToolTip::showText(help->globalPos(), tip(help->pos()), this);
        return true;
    }
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FocusIn ||
        event->type() == QEvent::FocusOut)
        update();
    return QWidget::event(event);
}

} // namespace fuselage::studio
