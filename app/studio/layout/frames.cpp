// SPDX-License-Identifier: Apache-2.0
#include "app/studio/layout/frames.h"

#include <QDataStream>
#include <QIODevice>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace fuselage::studio {

namespace {

using scene::LayoutEdge;
using scene::LayoutRequest;
using scene::LayoutResult;
using scene::Point;

constexpr char magic[] = "FUSELAY1";
constexpr qsizetype headerSize = 12; ///< magic and length
constexpr quint32 mostBytes = 256U << 20;
constexpr quint32 mostItems = 2'000'000;
constexpr double farthest = 1e9;

QByteArray framed(const QByteArray& payload) {
    QByteArray out(magic, 8);
    QDataStream stream(&out, QIODevice::WriteOnly | QIODevice::Append);
    stream << static_cast<quint32>(payload.size());
    return out + payload;
}

/// Reads numbers, remembering whether all were there and sensible.
class Reader {
public:
    explicit Reader(const QByteArray& frame)
        : m_payload(frame.mid(headerSize)), m_stream(m_payload) {}

    double number() {
        double value = 0;
        m_stream >> value;
        m_good = m_good && std::isfinite(value) && std::abs(value) <= farthest;
        return value;
    }

    quint32 count() {
        quint32 value = 0;
        m_stream >> value;
        // A frame cannot hold more items than bytes.
        m_good = m_good && value <= mostItems && value <= static_cast<quint32>(m_payload.size());
        return m_good ? value : 0;
    }

    quint32 below(quint32 limit) {
        quint32 value = 0;
        m_stream >> value;
        m_good = m_good && value < limit;
        return m_good ? value : 0;
    }

    bool done() const { return m_good && m_stream.status() == QDataStream::Ok && m_stream.atEnd(); }

private:
    QByteArray m_payload;
    QDataStream m_stream;
    bool m_good = true;
};

} // namespace

QByteArray jobFrame(const LayoutJob& job) {
    QByteArray payload;
    QDataStream stream(&payload, QIODevice::WriteOnly);
    const LayoutRequest& request = job.request;
    stream << static_cast<quint32>(job.effort) << request.rowGap << request.columnGap;
    stream << static_cast<quint32>(request.sizes.size());
    for (size_t i = 0; i < request.sizes.size(); ++i)
        stream << request.sizes[i].w << request.sizes[i].h << request.ranks[i];
    stream << static_cast<quint32>(request.edges.size());
    for (const LayoutEdge& edge : request.edges)
        stream << edge.from << edge.to << edge.weight;
    return framed(payload);
}

QByteArray resultFrame(const LayoutResult& result) {
    QByteArray payload;
    QDataStream stream(&payload, QIODevice::WriteOnly);
    stream << result.width << result.height << static_cast<quint32>(result.places.size());
    for (const Point& place : result.places)
        stream << place.x << place.y;
    stream << static_cast<quint32>(result.bends.size());
    for (const std::vector<Point>& way : result.bends) {
        stream << static_cast<quint32>(way.size());
        for (const Point& bend : way)
            stream << bend.x << bend.y;
    }
    return framed(payload);
}

FrameState frameState(const QByteArray& bytes, qsizetype& size) {
    qsizetype known = std::min<qsizetype>(bytes.size(), 8);
    if (std::memcmp(bytes.constData(), magic, static_cast<size_t>(known)) != 0)
        return FrameState::Broken;
    if (bytes.size() < headerSize)
        return FrameState::Partial;
    QDataStream stream(bytes.mid(8, 4));
    quint32 length = 0;
    stream >> length;
    if (length > mostBytes)
        return FrameState::Broken;
    size = headerSize + static_cast<qsizetype>(length);
    return bytes.size() < size ? FrameState::Partial : FrameState::Complete;
}

std::optional<LayoutJob> jobOf(const QByteArray& frame) {
    Reader reader(frame);
    LayoutJob job;
    job.effort = reader.below(2) == 0 ? Effort::Full : Effort::Limited;
    LayoutRequest& request = job.request;
    request.rowGap = reader.number();
    request.columnGap = reader.number();
    quint32 items = reader.count();
    for (quint32 i = 0; i < items; ++i) {
        double w = reader.number(), h = reader.number();
        request.sizes.push_back({w, h});
        request.ranks.push_back(reader.below(mostItems));
    }
    quint32 edges = reader.count();
    for (quint32 i = 0; i < edges; ++i) {
        quint32 from = reader.below(items), to = reader.below(items);
        request.edges.push_back({from, to, reader.below(mostItems)});
    }
    return reader.done() ? std::optional(std::move(job)) : std::nullopt;
}

std::optional<LayoutResult> resultOf(const QByteArray& frame, const LayoutRequest& request) {
    Reader reader(frame);
    LayoutResult out;
    out.width = reader.number();
    out.height = reader.number();
    quint32 places = reader.count();
    for (quint32 i = 0; i < places; ++i) {
        double x = reader.number();
        out.places.push_back({x, reader.number()});
    }
    quint32 ways = reader.count();
    for (quint32 i = 0; i < ways; ++i) {
        auto& way = out.bends.emplace_back();
        quint32 bends = reader.count();
        for (quint32 k = 0; k < bends; ++k) {
            double x = reader.number();
            way.push_back({x, reader.number()});
        }
    }
    bool fits =
        out.places.size() == request.sizes.size() && out.bends.size() == request.edges.size();
    return reader.done() && fits ? std::optional(std::move(out)) : std::nullopt;
}

} // namespace fuselage::studio
