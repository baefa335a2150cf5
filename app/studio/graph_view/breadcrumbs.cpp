// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/breadcrumbs.h"

#include "app/studio/graph_view/colours.h"
#include "app/studio/graph_view/theme_watch.h"

#include <QApplication>
#include <algorithm>

namespace fuselage::studio {

using scene::none;

namespace {

constexpr int pauseMilliseconds = 60; ///< after the last move

} // namespace

Breadcrumbs::Breadcrumbs(Canvas& canvas, QWidget* parent)
    : SaidLabel(tr("blocks around what is shown"), parent), m_canvas(canvas) {
    setObjectName("breadcrumbs");
    setTextFormat(Qt::RichText);
    setContentsMargins(6, 2, 6, 2);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // a deep path widens nothing
    setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    m_pause.setSingleShot(true);
    m_pause.setInterval(pauseMilliseconds);
    connect(&m_pause, &QTimer::timeout, this, &Breadcrumbs::update);
    connect(&canvas, &Canvas::viewportChanged, this, &Breadcrumbs::refresh);
    connect(this, &QLabel::linkActivated, this, [this](const QString& link) {
        bool good = false;
        const uint32_t container = link.toUInt(&good);
        go(good ? container : none);
    });
    whenThemeChanges(*this, [this] { update(); }); // links have colours of the theme
    hide();
}

void Breadcrumbs::go(uint32_t container) {
    const DrawingPtr& drawing = m_canvas.drawing();
    if (!drawing)
        return;
    if (container == none || container >= drawing->scene().containers.size())
        return m_canvas.fitAll();
    const scene::Rect& rect = drawing->scene().containers[container].rect;
    m_canvas.showArea({rect.x, rect.y, rect.w, rect.h});
}

void Breadcrumbs::goOut() {
    update();
    go(m_containers.size() > 1 ? m_containers[m_containers.size() - 2] : none);
}

void Breadcrumbs::update() {
    m_pause.stop();
    m_containers.clear();
    m_path.clear();
    const DrawingPtr& drawing = m_canvas.drawing();
    if (!drawing)
        return hide();
    const scene::Scene& scene = drawing->scene();
    const QRectF seen = m_canvas.visibleArea();
    const auto isSeen = [&](const scene::Rect& rect) {
        return seen.intersects(QRectF(rect.x, rect.y, rect.w, rect.h));
    };
    // What is selected, while it is in sight; else what is in the middle.
    uint32_t at = none;
    const std::vector<uint8_t>& selected = m_canvas.style().selected;
    for (uint32_t b = 0; b < selected.size() && at == none; ++b)
        if (selected[b] && isSeen(scene.boxes[b].rect))
            at = scene.boxes[b].container;
    if (at == none)
        at = drawing->hits(m_canvas.side()).containerAt({seen.center().x(), seen.center().y()});
    const auto isStop = [&](const scene::Container& container) { // a fused node that is open, too
        return container.kind != scene::Container::Kind::Group ||
               (!container.collapsed && !scene.groups[container.group].open.empty());
    };
    for (; at != none; at = scene.containers[at].parent)
        if (isStop(scene.containers[at]))
            m_containers.insert(m_containers.begin(), at);
    const QPalette theme = QApplication::palette();
    const QString colour = legible(Colours(theme)["accent"], theme.color(QPalette::Window)).name();
    const auto link = [&colour](const QString& target, const QString& words) {
        return QStringLiteral("<a href=\"%1\" style=\"color:%2\">%3</a>")
            .arg(target, colour, words.toHtmlEscaped());
    };
    QString html = link(QStringLiteral("model"), tr("model"));
    for (uint32_t container : m_containers) {
        const scene::Container& stop = scene.containers[container];
        QString label = QString::fromStdString(stop.label);
        if (stop.group != none)
            label += ' ' + QString::fromStdString(scene.groups[stop.group].rule);
        m_path << label;
        html += QStringLiteral(" › ") + link(QString::number(container), label);
    }
    setText(html);
    setVisible(std::any_of(scene.containers.begin(), scene.containers.end(), isStop));
}

} // namespace fuselage::studio
