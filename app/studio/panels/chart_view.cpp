// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/chart_view.h"

#include "app/studio/graph_view/colours.h"
#include "app/studio/item_models/words.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace fuselage::studio {

namespace {

using chart::Primitive;

constexpr double leastScale = 0.75, mostScale = 1.6;

QPainterPath outlineOf(const Primitive& primitive) {
    QPainterPath path;
    for (const auto& [x, y] : primitive.points)
        path.elementCount() == 0 ? path.moveTo(x, y) : path.lineTo(x, y);
    if (primitive.closed)
        path.closeSubpath();
    return path;
}

void arrowHead(QPainter& painter, const Primitive& primitive) {
    QLineF line(primitive.x, primitive.y, primitive.x + primitive.w, primitive.y + primitive.h);
    if (primitive.points.size() > 1) {
        const auto& a = primitive.points[primitive.points.size() - 2];
        const auto& b = primitive.points.back();
        line = QLineF(a.first, a.second, b.first, b.second);
    }
    QTransform turn;
    turn.translate(line.x2(), line.y2());
    turn.rotate(-line.angle());
    painter.drawPolygon(turn.map(QPolygonF({{0, 0}, {-7, -3.5}, {-7, 3.5}})));
}

void paintText(QPainter& painter, const Primitive& primitive) {
    QFont font("DejaVu Sans");
    font.setPixelSize(static_cast<int>(primitive.size));
    font.setBold(primitive.bold);
    painter.setFont(font);
    QString text = words(primitive.text);
    double width = QFontMetricsF(font).horizontalAdvance(text);
    double left = primitive.anchor == Primitive::Anchor::End      ? width
                  : primitive.anchor == Primitive::Anchor::Middle ? width / 2
                                                                  : 0;
    painter.drawText(QPointF(primitive.x - left, primitive.y), text);
}

void paint(QPainter& painter, const Primitive& primitive, const Colours& colours) {
    QColor colour = colours[primitive.token];
    QPen pen(colour, 1.2);
    if (primitive.dashed)
        pen.setStyle(Qt::DashLine);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    switch (primitive.kind) {
    case Primitive::Kind::Rect:
        painter.fillRect(QRectF(primitive.x, primitive.y, primitive.w, primitive.h), colour);
        break;
    case Primitive::Kind::Line:
        painter.drawLine(
            QLineF(primitive.x, primitive.y, primitive.x + primitive.w, primitive.y + primitive.h));
        break;
    case Primitive::Kind::Path:
        if (primitive.closed)
            painter.setBrush(colour);
        painter.drawPath(outlineOf(primitive));
        break;
    case Primitive::Kind::Text:
        paintText(painter, primitive);
        break;
    }
    if (primitive.arrow) {
        painter.setBrush(colour);
        arrowHead(painter, primitive);
    }
}

bool hit(const Primitive& primitive, const QPointF& at) {
    switch (primitive.kind) {
    case Primitive::Kind::Rect:
        return QRectF(primitive.x, primitive.y, primitive.w, primitive.h)
            .adjusted(-2, -2, 2, 2)
            .contains(at);
    case Primitive::Kind::Path:
        return outlineOf(primitive).boundingRect().adjusted(-3, -3, 3, 3).contains(at);
    default:
        return false;
    }
}

/// Tells its charts how much of them is in view; draws them when somebody looks: what nobody sees
/// costs an edit nothing.
class ChartArea : public QScrollArea {
public:
    using QScrollArea::QScrollArea;
    std::vector<ChartView*> views;
    std::function<void()> fill;

    void change() {
        m_outdated = true;
        if (isVisible())
            refresh();
    }

protected:
    void showEvent(QShowEvent* event) override {
        QScrollArea::showEvent(event);
        refresh();
    }

    void resizeEvent(QResizeEvent* event) override {
        QScrollArea::resizeEvent(event);
        const QMargins around = widget()->contentsMargins() + widget()->layout()->contentsMargins();
        const int margins = around.top() + around.bottom();
        for (ChartView* view : views)
            view->setHeightInView(viewport()->height() - margins);
    }

private:
    void refresh() {
        if (std::exchange(m_outdated, false) && fill)
            fill();
    }

    bool m_outdated = true;
};

} // namespace

ChartView::ChartView(SelectionHub& selection, QWidget* parent)
    : QWidget(parent), m_selection(selection) {
    connect(&selection, &SelectionHub::changed, this, qOverload<>(&QWidget::update));
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void ChartView::setChart(chart::Chart chart) {
    m_chart = std::move(chart);
    setAccessibleName(words(m_chart.title));
    setAccessibleDescription(words(m_chart.description));
    fit();
}

void ChartView::setHeightInView(int height) {
    m_heightInView = height;
    fit();
}

void ChartView::fit() {
    const int unzoomed = static_cast<int>(width() / m_zoom);
    setMinimumHeight(static_cast<int>(m_zoom * heightForWidth(unzoomed)));
    updateGeometry();
    update();
}

double ChartView::scaleFor(int width) const {
    if (m_chart.width <= 0 || m_chart.height <= 0)
        return 1;
    const double fits =
        m_heightInView > 0 ? std::max(leastScale, m_heightInView / m_chart.height) : mostScale;
    return std::min({width / m_chart.width, fits, mostScale});
}

int ChartView::heightForWidth(int width) const {
    return static_cast<int>(m_chart.height * scaleFor(width));
}

QSize ChartView::sizeHint() const {
    return {static_cast<int>(m_chart.width), static_cast<int>(m_chart.height)};
}

void ChartView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    Colours colours(palette());
    painter.fillRect(rect(), colours["background"]);
    painter.scale(scale(), scale());
    for (const Primitive& primitive : m_chart.primitives)
        paint(painter, primitive, colours);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colours["selection"], 2 / scale()));
    for (const Primitive& primitive : m_chart.primitives)
        if (primitive.kind == Primitive::Kind::Rect && isSelected(primitive))
            painter.drawRect(QRectF(primitive.x, primitive.y, primitive.w, primitive.h));
}

bool ChartView::isSelected(const Primitive& primitive) const {
    const QString id = words(primitive.id);
    const Selection& selection = m_selection.selection();
    if (id.startsWith("n:"))
        return selection.before.contains(id.mid(2)) || selection.after.contains(id.mid(2));
    return id.startsWith("rule:") && !selection.rule.isEmpty() && selection.rule == id.mid(5);
}

/// Ctrl and the wheel: larger or smaller; what is under the pointer stays there.
void ChartView::wheelEvent(QWheelEvent* event) {
    if (!(event->modifiers() & Qt::ControlModifier))
        return event->ignore();
    constexpr double most = 24;
    const double zoom = std::clamp(m_zoom * std::pow(1.0015, event->angleDelta().y()), 1.0, most);
    QWidget* view = parentWidget() ? parentWidget()->parentWidget() : nullptr;
    auto* area = view ? qobject_cast<QScrollArea*>(view->parentWidget()) : nullptr;
    if (zoom == m_zoom || !area)
        return;
    const QPointF at = event->position() * (zoom / m_zoom);
    const QPointF inView = mapTo(view, event->position());
    const double room = (width() / m_zoom) * zoom;
    m_zoom = zoom;
    setMinimumWidth(zoom > 1 ? static_cast<int>(room) : 0);
    fit();
    area->widget()->adjustSize();
    area->horizontalScrollBar()->setValue(static_cast<int>(at.x() - inView.x()));
    event->accept();
}

const Primitive* ChartView::at(const QPointF& position) const {
    QPointF point = position / scale();
    const Primitive* found = nullptr;
    for (const Primitive& primitive : m_chart.primitives)
        if ((!primitive.id.empty() || !primitive.title.empty()) && hit(primitive, point))
            found = &primitive; // the last one is on top
    return found;
}

void ChartView::mousePressEvent(QMouseEvent* event) {
    const Primitive* primitive = at(event->position());
    if (!primitive)
        return;
    QString id = words(primitive->id);
    if (id.startsWith("rule:"))
        m_selection.selectRule(id.mid(5));
    else if (id.startsWith("n:"))
        m_selection.selectAny({id.mid(2)});
}

bool ChartView::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    auto* help = static_cast<QHelpEvent*>(event);
    const Primitive* primitive = at(help->pos());
    QToolTip::showText(help->globalPos(),
                       primitive ? words(primitive->title).toHtmlEscaped() : QString(), this);
    return true;
}

QWidget* makeChartPanel(Workbench& workbench, QWidget* parent,
                        std::vector<chart::Chart (*)(const app::Report&)> charts) {
    auto* area = new ChartArea(parent);
    area->setAccessibleName(QObject::tr("charts"));
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    auto* inside = new QWidget(area);
    inside->setBackgroundRole(QPalette::Base);
    inside->setAutoFillBackground(true);
    auto* layout = new QVBoxLayout(inside);
    std::vector<ChartView*>& views = area->views;
    for (size_t i = 0; i < charts.size(); ++i) {
        views.push_back(new ChartView(workbench.selection, inside));
        layout->addWidget(views.back());
    }
    layout->addStretch(1);
    area->setWidget(inside);
    area->fill = [views, charts, &workbench] {
        if (const app::Report* report = workbench.session.report())
            for (size_t i = 0; i < charts.size(); ++i)
                views[i]->setChart(charts[i](*report));
    };
    QObject::connect(&workbench.session, &Session::reportChanged, area, [area] { area->change(); });
    return area;
}

} // namespace fuselage::studio
