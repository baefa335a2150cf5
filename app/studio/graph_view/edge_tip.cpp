// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/edge_tip.h"

#include "app/report/format.h"

#include <QObject>
#include <algorithm>
#include <cmath>

namespace fuselage::studio {

namespace {

constexpr int parts = 12; ///< that a curve is taken in

double distance(const QPointF& p, const QPointF& a, const QPointF& b) {
    const QPointF way = b - a;
    const double length = QPointF::dotProduct(way, way);
    const double t =
        length > 0 ? std::clamp(QPointF::dotProduct(p - a, way) / length, 0.0, 1.0) : 0;
    const QPointF off = p - (a + t * way);
    return std::hypot(off.x(), off.y());
}

/// To the cubics of scene::Edge, which start and end vertically.
double distanceTo(const scene::Edge& edge, const QPointF& p) {
    double least = 1e30;
    for (size_t i = 1; i < edge.points.size(); ++i) {
        const QPointF a(edge.points[i - 1].x, edge.points[i - 1].y);
        const QPointF b(edge.points[i].x, edge.points[i].y);
        const double middle = (a.y() + b.y()) / 2;
        const QPointF c(a.x(), middle), d(b.x(), middle);
        QPointF last = a;
        for (int part = 1; part <= parts; ++part) {
            const double t = double(part) / parts, s = 1 - t;
            const QPointF next =
                s * s * s * a + 3 * s * s * t * c + 3 * s * t * t * d + t * t * t * b;
            least = std::min(least, distance(p, last, next));
            last = next;
        }
    }
    return least;
}

bool isFar(const scene::Edge& edge, const QPointF& p, double slack) {
    double left = 1e30, right = -1e30, top = 1e30, bottom = -1e30;
    for (const scene::Point& point : edge.points) {
        left = std::min(left, point.x);
        right = std::max(right, point.x);
        top = std::min(top, point.y);
        bottom = std::max(bottom, point.y);
    }
    return p.x() < left - slack || p.x() > right + slack || p.y() < top - slack ||
           p.y() > bottom + slack;
}

QString nameOf(const scene::Box& box) {
    return QString::fromStdString(box.name.empty() ? box.title : box.name);
}

/// Of the value, each once, in the order of the drawing; of very many the first.
QString readersOf(const scene::Scene& scene, scene::Side side, const scene::Edge& of) {
    constexpr qsizetype most = 8;
    QStringList out;
    for (const scene::Edge& edge : scene.edges)
        if ((edge.sides & side) && edge.from == of.from && edge.value == of.value)
            if (const QString name = nameOf(scene.boxes[edge.to]); !out.contains(name))
                out << name;
    const qsizetype more = out.size() - most;
    QString text = out.mid(0, most).join(QStringLiteral(", "));
    return more > 0 ? text + QObject::tr(" and %1 more").arg(more) : text;
}

} // namespace

QString edgeTip(const Drawing& drawing, scene::Side side, const QPointF& at, double slack) {
    const scene::Scene& scene = drawing.scene();
    const scene::Edge* nearest = nullptr;
    EdgeKind kind = EdgeKind::Data;
    double least = slack;
    for (uint32_t e = 0; e < scene.edges.size(); ++e) {
        const scene::Edge& edge = scene.edges[e];
        if (!(edge.sides & side) || edge.tunnel || isFar(edge, at, slack))
            continue;
        if (const double off = distanceTo(edge, at); off <= least) {
            least = off;
            nearest = &edge;
            kind = drawing.edgeKind(e);
        }
    }
    if (nearest == nullptr)
        return {};
    QStringList lines{QString::fromStdString(nearest->value),
                      QString::fromStdString(nearest->label)};
    if (nearest->values > 1)
        lines << QObject::tr("and %1 more values").arg(nearest->values - 1);
    if (nearest->bytes >= 0)
        lines << QString::fromStdString(app::bytesText(static_cast<int64_t>(nearest->bytes)));
    if (!nearest->stored.empty())
        lines << QObject::tr("stored as %1").arg(QString::fromStdString(nearest->stored));
    if (kind == EdgeKind::Skip)
        lines << QObject::tr("goes past what a nearer value comes through");
    else if (kind == EdgeKind::Shape)
        lines << QObject::tr("sizes or indices, no data");
    lines << QObject::tr("from %1").arg(nameOf(scene.boxes[nearest->from]))
          << QObject::tr("to %1").arg(readersOf(scene, side, *nearest));
    lines.removeAll(QString());
    return lines.join('\n').toHtmlEscaped().replace('\n', "<br>");
}

} // namespace fuselage::studio
