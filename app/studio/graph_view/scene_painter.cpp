// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/scene_painter.h"

#include "app/report/scene/text_size.h"
#include "app/studio/item_models/words.h"

#include <QFontDatabase>
#include <QPainterPath>
#include <map>
#include <tuple>

namespace fuselage::studio {

namespace {

using scene::Box;
using scene::Detail;
using scene::Rect;

QRectF rectOf(const Rect& r) {
    return {r.x, r.y, r.w, r.h};
}

QPointF pointOf(const scene::Point& p) {
    return {p.x, p.y};
}

/// Joined by cubics that start and end vertically.
QPainterPath pathOf(const scene::Edge& edge) {
    QPainterPath path(pointOf(edge.points[0]));
    for (size_t i = 1; i < edge.points.size(); ++i) {
        QPointF a = pointOf(edge.points[i - 1]), b = pointOf(edge.points[i]);
        double middle = (a.y() + b.y()) / 2;
        if (std::abs(a.x() - b.x()) < 0.5)
            path.lineTo(b);
        else
            path.cubicTo({a.x(), middle}, {b.x(), middle}, b);
    }
    return path;
}

/// Of the text's colour over what is below it; more where the text could not be read else.
constexpr double fadedText = 0.6;

/// The same of fills; outlines and edges are still seen.
constexpr double fadedFill = 0.22, fadedLine = 0.42;

constexpr double edgeWidths[] = {1, 1, 1.3, 1.7, 2.2, 3}; ///< pixels
constexpr double markWidth = 2.5;                         ///< pixels
constexpr double pickedWidth = 3;                         ///< pixels

class ScenePainter {
public:
    ScenePainter(QPainter& painter, const Drawing& drawing, scene::Side side, const QRectF& area,
                 double zoom, const Colours& colours, const PaintStyle& style)
        : m_painter(painter), m_drawing(drawing), m_scene(drawing.scene()), m_side(side),
          m_area(area), m_zoom(zoom), m_detail(scene::detailAt(zoom)), m_colours(colours),
          m_style(style) {
        m_titleFont = QFont("DejaVu Sans");
        m_titleFont.setPixelSize(static_cast<int>(scene::titleSize));
        m_lineFont = m_titleFont;
        m_lineFont.setPixelSize(static_cast<int>(scene::lineSize));
    }

    void paint() {
        m_painter.setRenderHint(QPainter::Antialiasing, m_detail >= Detail::Titles);
        containers();
        edges();
        if (m_detail == Detail::Blocks) {
            areas();
            marks();
            return;
        }
        for (uint32_t b : m_drawing.hits(m_side).boxesIn(
                 {m_area.x(), m_area.y(), m_area.width(), m_area.height()}))
            if (shows(b))
                box(b);
        if (!m_style.shown.empty()) // a step shows boxes of both sides
            for (uint32_t b = 0; b < m_scene.boxes.size(); ++b)
                if (m_style.shown[b] && !(m_scene.boxes[b].sides & m_side) &&
                    m_area.intersects(rectOf(m_scene.boxes[b].rect)))
                    box(b);
        if (m_detail >= Detail::Titles)
            stubs();
        if (m_detail == Detail::Full && m_style.shown.empty())
            stored();
        marks();
    }

private:
    bool shows(uint32_t b) const {
        return m_style.shown.empty() ? (m_scene.boxes[b].sides & m_side) != 0
                                     : m_style.shown[b] != 0;
    }

    bool has(const std::vector<uint8_t>& flags, uint32_t b) const {
        return !flags.empty() && flags[b];
    }

    QColor pale(const QColor& colour, uint32_t b, double strength) const {
        return has(m_style.faded, b) ? mixed(m_colours["background"], colour, strength) : colour;
    }

    QColor fillOf(uint32_t b) const {
        const Box& box = m_scene.boxes[b];
        bool overlay = !m_style.fill.empty() && m_style.fill[b].isValid();
        return pale(overlay ? m_style.fill[b] : m_colours[box.fill.empty() ? box.token : box.fill],
                    b, fadedFill);
    }

    void containers() {
        for (const scene::Container& c : m_scene.containers) {
            if (!(c.sides & m_side) || c.collapsed || !m_area.intersects(rectOf(c.rect)))
                continue;
            bool group = c.kind == scene::Container::Kind::Group;
            if (!m_style.shown.empty() && group)
                continue;
            m_painter.setBrush(group ? QBrush(Qt::NoBrush) : QBrush(m_colours[c.token]));
            QColor line = m_colours[c.token + ".line"];
            if (!m_style.faded.empty() && group) // frames step back with their members
                line = mixed(m_colours["background"], line, fadedLine);
            QPen pen = m_detail == Detail::Blocks ? QPen(line, 0) : penOf(line, 1);
            if (group)
                pen.setStyle(Qt::DashLine);
            m_painter.setPen(m_detail == Detail::Blocks && !group ? QPen(Qt::NoPen) : pen);
            m_painter.drawRect(rectOf(c.rect));
            if (m_detail >= Detail::Titles && group)
                badge(c.label, c.token, {c.rect.x + 4, c.rect.y + 3}, false);
            else if (m_detail >= Detail::Titles)
                text(c.label, m_colours["container.text"], m_colours[c.token],
                     {c.rect.x + 8, c.rect.y + 15}, m_lineFont);
        }
    }

    void edges() {
        if (m_zoom < 0.05)
            return;
        QVector<QLineF> lines;
        for (uint32_t e = 0; e < m_scene.edges.size(); ++e) {
            const scene::Edge& edge = m_scene.edges[e];
            if (edge.tunnel && !m_style.allTunnels)
                continue;
            if (!m_style.shown.empty()) {
                stepEdge(edge);
                continue;
            }
            if (!(edge.sides & m_side) || !m_area.intersects(m_drawing.edgeBounds(e)))
                continue;
            if (m_detail <= Detail::Boxes)
                for (size_t i = 1; i < edge.points.size(); ++i)
                    lines.append({pointOf(edge.points[i - 1]), pointOf(edge.points[i])});
            else
                curve(edge, "edge", m_drawing.edgeKind(e));
        }
        m_painter.setPen(QPen(m_colours["edge"], 0));
        m_painter.drawLines(lines);
        if (m_style.stub != scene::none)
            for (uint32_t e : m_scene.stubs[m_style.stub].edges)
                curve(m_scene.edges[e], "edge.strong");
    }

    void curve(const scene::Edge& edge, const std::string& token, EdgeKind kind = EdgeKind::Data) {
        QColor colour = m_colours[token];
        if (has(m_style.faded, edge.from) || has(m_style.faded, edge.to))
            colour = mixed(m_colours["background"], colour, fadedLine);
        m_painter.setBrush(Qt::NoBrush);
        const double width = edgeWidths[std::min<size_t>(edge.width, 5)];
        QPen pen = penOf(colour, width);
        if (kind == EdgeKind::Shape)
            pen.setStyle(Qt::DotLine);
        else if (kind == EdgeKind::Skip)
            pen.setDashPattern({8 / width, 4 / width});
        m_painter.setPen(pen);
        m_painter.drawPath(pathOf(edge));
        if (m_detail == Detail::Full) { // arrow head, wider than its line
            QPointF tip = pointOf(edge.points.back());
            const double half = std::max(3.5, 1.7 * pen.widthF());
            m_painter.setBrush(colour);
            m_painter.setPen(Qt::NoPen);
            m_painter.drawPolygon(
                QPolygonF({tip, tip + QPointF(-half, -2 * half), tip + QPointF(half, -2 * half)}));
        }
    }

    /// An edge before fusion between what stands for its ends at this step.
    void stepEdge(const scene::Edge& edge) {
        uint32_t from = m_style.standIn[edge.from], to = m_style.standIn[edge.to];
        if (!(edge.sides & scene::Before) || from == scene::none || to == scene::none || from == to)
            return;
        scene::Edge drawn = edge;
        drawn.from = from;
        drawn.to = to;
        const Rect &top = m_scene.boxes[from].rect, &bottom = m_scene.boxes[to].rect;
        if (from != edge.from)
            drawn.points.front() = {top.x + top.w / 2, top.bottom()};
        if (to != edge.to)
            drawn.points.back() = {bottom.x + bottom.w / 2, bottom.y};
        if (from != edge.from || to != edge.to)
            drawn.points = {drawn.points.front(), drawn.points.back()};
        if (m_area.intersects(boundsOf(drawn)))
            curve(drawn, "edge");
    }

    /// Outlines with letters, above everything; the same size on the screen at every zoom.
    void marks() {
        double unit = std::max(1.0, 0.6 / m_zoom);
        QFont font = m_titleFont;
        font.setPixelSize(std::max(1, static_cast<int>(scene::titleSize * unit)));
        font.setBold(true);
        for (const BoxMark& mark : m_style.marks) {
            QRectF rect = rectOf(m_scene.boxes[mark.box].rect).adjusted(-3, -3, 3, 3);
            if (!m_area.intersects(rect))
                continue;
            const QColor& colour = m_colours[mark.token];
            m_painter.setBrush(Qt::NoBrush);
            m_painter.setPen(penOf(colour, markWidth));
            m_painter.drawRect(rect);
            QRectF letter(rect.left() - 9 * unit, rect.top() - 9 * unit, 18 * unit, 18 * unit);
            m_painter.setPen(Qt::NoPen);
            m_painter.setBrush(colour);
            m_painter.drawEllipse(letter);
            m_painter.setFont(font);
            m_painter.setPen(legible(m_colours["background"], colour));
            m_painter.drawText(letter, Qt::AlignCenter, mark.letter);
        }
        for (const BoxMark& mark : m_style.marks)
            if (!mark.callout.isEmpty())
                callout(mark, unit);
    }

    void callout(const BoxMark& mark, double unit) {
        QFont font = m_titleFont;
        font.setPixelSize(std::max(1, static_cast<int>(scene::titleSize * unit)));
        QRectF box = rectOf(m_scene.boxes[mark.box].rect);
        QRectF limits(0, 0, 260 * unit, 1000 * unit);
        QRectF text = QFontMetricsF(font).boundingRect(limits, Qt::TextWordWrap, mark.callout);
        // Right of the box, where that is in sight; else left of it.
        const double gap = 18 * unit;
        const bool left = box.right() + gap + text.width() > m_area.right() &&
                          box.left() - gap - text.width() > m_area.left();
        text.moveTopLeft({left ? box.left() - gap - text.width() : box.right() + gap,
                          std::max(m_area.top() + gap,
                                   std::min(box.top(), m_area.bottom() - gap - text.height()))});
        QRectF frame = text.adjusted(-7 * unit, -5 * unit, 7 * unit, 5 * unit);
        m_painter.setPen(penOf(m_colours[mark.token], 1.5));
        m_painter.setBrush(m_colours["surface"]);
        m_painter.drawLine(QPointF(left ? box.left() - 3 : box.right() + 3, box.center().y()),
                           QPointF(left ? frame.right() : frame.left(), box.center().y()));
        m_painter.drawRect(frame);
        m_painter.setFont(font);
        m_painter.setPen(m_colours["text"]);
        m_painter.drawText(text, Qt::TextWordWrap, mark.callout);
    }

    /// Everything in a few calls: one for each colour.
    void areas() {
        // Far away a fill would vanish on the background: outlines' colours, but under an overlay.
        struct Outline {
            QColor line, faded;
            QVector<QRectF> lines, fadeds;
        };
        std::vector<Outline> outlines;
        for (const std::string& token : m_drawing.outlines())
            outlines.push_back({m_colours[token],
                                mixed(m_colours["background"], m_colours[token], fadedFill),
                                {},
                                {}});
        std::map<QRgb, QVector<QRectF>> byColour;
        QVector<QRectF> selected, hits;
        for (uint32_t b = 0; b < m_scene.boxes.size(); ++b) {
            if (!shows(b) || !m_area.intersects(rectOf(m_scene.boxes[b].rect)))
                continue;
            const Box& box = m_scene.boxes[b];
            Outline& outline = outlines[m_drawing.outlineOf(b)];
            if (!m_style.fill.empty() && m_style.fill[b].isValid())
                byColour[fillOf(b).rgb()].append(rectOf(box.rect));
            else
                (has(m_style.faded, b) ? outline.fadeds : outline.lines).append(rectOf(box.rect));
            if (has(m_style.selected, b))
                selected.append(rectOf(box.rect));
            else if (has(m_style.hits, b))
                hits.append(rectOf(box.rect));
        }
        m_painter.setPen(Qt::NoPen);
        auto fill = [&](const QColor& colour, const QVector<QRectF>& rects) {
            m_painter.setBrush(colour);
            m_painter.drawRects(rects);
        };
        for (const Outline& each : outlines) {
            fill(each.faded, each.fadeds);
            fill(each.line, each.lines);
        }
        for (const auto& [colour, rects] : byColour)
            fill(QColor(colour), rects);
        double line = pickedWidth / m_zoom;
        m_painter.setBrush(m_colours["accent"]);
        for (QRectF& rect : hits)
            rect.adjust(-line, -line, line, line);
        m_painter.drawRects(hits);
        m_painter.setBrush(m_colours["selection"]);
        for (QRectF& rect : selected)
            rect.adjust(-line, -line, line, line);
        m_painter.drawRects(selected);
    }

    void box(uint32_t b) {
        const Box& it = m_scene.boxes[b];
        bool selected = has(m_style.selected, b);
        const bool hit = has(m_style.hits, b);
        QPen pen = selected ? penOf(m_colours["selection"], pickedWidth)
                   : hit    ? penOf(m_colours["accent"], pickedWidth)
                            : QPen(pale(m_colours[it.token + ".line"], b, fadedLine), 0);
        if (!selected && !hit && m_detail == Detail::Full)
            pen = penOf(pen.color(), 1);
        if (it.kind == Box::Kind::Collapsed)
            pen.setStyle(Qt::DashLine);
        m_painter.setPen(pen);
        const QColor ground = fillOf(b);
        m_painter.setBrush(ground);
        m_painter.drawRect(rectOf(it.rect));
        if (m_detail < Detail::Titles)
            return;
        double x = it.rect.x + 10, y = scene::textTop(it) + 18;
        const bool faded = has(m_style.faded, b);
        const bool overlay = !m_style.fill.empty() && m_style.fill[b].isValid();
        const auto ink = [&](const std::string& token) -> const QColor& {
            return overlay ? inkOn(ground) : m_colours[token];
        };
        text(it.title, ink(titleToken(b)), ground, {x, y}, m_titleFont, faded);
        if (m_detail < Detail::Full && !it.badges.empty() && scene::badgeBeside(it.badges))
            badges(it, x, y, faded);
        if (m_detail < Detail::Full)
            return;
        for (const std::string& line : it.lines)
            text(line, ink(faded ? "text" : "text.dim"), ground, {x, y += scene::lineHeight},
                 m_lineFont, faded);
        badges(it, x, y, faded);
    }

    std::string titleToken(uint32_t b) const {
        bool overlay = !m_style.fill.empty() && m_style.fill[b].isValid();
        const Box& it = m_scene.boxes[b];
        bool own = it.fill == it.token && it.token.rfind("rule-", 0) == 0;
        return own && !overlay ? it.token + ".text" : "text";
    }

    void badges(const Box& it, double x, double y, bool faded) {
        double at = x, below = y + 5;
        for (const scene::Badge& each : it.badges) {
            double width = scene::badgeWidth(each.text);
            bool beside = scene::badgeBeside(it.badges);
            badge(each.text, each.token,
                  beside ? scene::Point{it.rect.right() - width - 5, it.rect.y + 5}
                         : scene::Point{at, below},
                  faded);
            at += width + 4;
        }
    }

    void badge(const std::string& label, const std::string& token, scene::Point place, bool faded) {
        QRectF rect(place.x, place.y, scene::badgeWidth(label), scene::badgeHeight);
        const double strength = faded ? fadedText : 1;
        const QColor ground = mixed(m_colours["background"], m_colours[token], strength);
        m_painter.setPen(
            penOf(mixed(m_colours["background"], m_colours[token + ".line"], strength), 1));
        m_painter.setBrush(ground);
        m_painter.drawRoundedRect(rect, 3, 3);
        const bool rule = token.rfind("rule-", 0) == 0;
        text(label, m_colours[rule ? token + ".text" : "text.dim"], ground,
             {place.x + 5, place.y + 11}, m_lineFont, faded);
    }

    void stubs() {
        for (const scene::Stub& stub : m_scene.stubs) {
            QRectF rect = rectOf(stub.rect);
            if (!(stub.sides & m_side) || !shows(stub.box) || !m_area.intersects(rect))
                continue;
            m_painter.setPen(penOf(m_colours["tunnel.line"], 1));
            m_painter.setBrush(m_colours["tunnel"]);
            m_painter.drawRoundedRect(rect, 7, 7);
            const Rect& box = m_scene.boxes[stub.box].rect;
            double y = rect.center().y();
            m_painter.drawLine(stub.outgoing ? QLineF(box.right(), y, rect.left(), y)
                                             : QLineF(rect.right(), y, box.x, y));
            if (m_detail == Detail::Full)
                text(stub.label, m_colours["text.dim"], m_colours["tunnel"],
                     {stub.rect.x + 6, stub.rect.y + 11}, m_lineFont);
        }
    }

    /// How values are quantised, above what reads them.
    void stored() {
        for (const scene::Edge& edge : m_scene.edges) {
            if (edge.stored.empty() || !(edge.sides & m_side) ||
                !m_area.intersects(rectOf(edge.storedAt)))
                continue;
            const bool faded = has(m_style.faded, edge.from) && has(m_style.faded, edge.to);
            badge(edge.stored, scene::storedToken, {edge.storedAt.x, edge.storedAt.y}, faded);
        }
    }

    /// As wide on the screen at every zoom, of so many pixels.
    QPen penOf(const QColor& colour, double pixels) const { return {colour, pixels / m_zoom}; }

    /// Of text and background what stands out more from a fill.
    const QColor& inkOn(const QColor& fill) const {
        const QColor &text = m_colours["text"], &background = m_colours["background"];
        return contrast(text, fill) >= contrast(background, fill) ? text : background;
    }

    void text(const std::string& label, const QColor& ink, const QColor& ground, scene::Point place,
              const QFont& font, bool faded = false) {
        QColor& colour = m_inks[{ink.rgb(), ground.rgb(), faded}];
        if (!colour.isValid())
            colour = legible(faded ? mixed(ground, ink, fadedText) : ink, ground);
        m_painter.setFont(font);
        m_painter.setPen(colour);
        m_painter.drawText(pointOf(place), words(label));
    }

    QPainter& m_painter;
    const Drawing& m_drawing;
    const scene::Scene& m_scene;
    scene::Side m_side;
    QRectF m_area;
    double m_zoom;
    Detail m_detail;
    const Colours& m_colours;
    const PaintStyle& m_style;
    QFont m_titleFont, m_lineFont;
    std::map<std::tuple<QRgb, QRgb, bool>, QColor> m_inks; ///< by ink, ground and fading
};

} // namespace

void paintScene(QPainter& painter, const Drawing& drawing, scene::Side side, const QRectF& area,
                double zoom, const Colours& colours, const PaintStyle& style) {
    ScenePainter(painter, drawing, side, area, zoom, colours, style).paint();
}

} // namespace fuselage::studio
