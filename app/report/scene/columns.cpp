// SPDX-License-Identifier: Apache-2.0
#include "app/report/scene/columns_internal.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fuselage::scene {

namespace {

constexpr double wantedAspect = 1.2; ///< height to width of the whole
constexpr double leastHeight = 2400; ///< below, one column is easy to follow
constexpr size_t mostColumns = 12;
constexpr double reach = 0.35;  ///< of a column's height that a cut may be off
constexpr double crossing = 60; ///< pixels off that an edge across a cut is worth
constexpr double lane = 7;      ///< between edges that go from column to column
constexpr double margin = 30;   ///< between a column and the first of them

class ColumnFolding {
public:
    ColumnFolding(const LayoutRequest& request, LayoutResult& layout)
        : m_request(request), m_layout(layout) {}

    void run() {
        const auto columns = static_cast<size_t>(std::lround(
            std::sqrt(m_layout.height / (wantedAspect * std::max(m_layout.width, 1.0)))));
        if (m_layout.height < leastHeight || columns < 2)
            return;
        findGaps();
        cut(std::min(columns, mostColumns));
        if (m_cuts.empty())
            return;
        measure();
        move();
    }

private:
    struct Gap {
        double y = 0;
        int edges = 0; ///< that cross it
    };

    struct Column {
        double top = 0, bottom = 0; ///< as it was laid out
        double left = 1e30, right = -1e30;
        size_t arriving = 0; ///< edges from columns before
        double dx = 0;
    };

    double bottomOf(size_t box) const { return m_layout.places[box].y + m_request.sizes[box].h; }

    size_t columnAt(double y) const {
        return static_cast<size_t>(std::upper_bound(m_cuts.begin(), m_cuts.end(), y) -
                                   m_cuts.begin());
    }

    Point start(const LayoutEdge& edge) const {
        return {m_layout.places[edge.from].x + m_request.sizes[edge.from].w / 2,
                bottomOf(edge.from)};
    }

    Point end(const LayoutEdge& edge) const {
        return {m_layout.places[edge.to].x + m_request.sizes[edge.to].w / 2,
                m_layout.places[edge.to].y};
    }

    void findGaps();
    void cut(size_t columns);
    void measure();
    void move();
    std::vector<Point> led(const LayoutEdge& edge, const std::vector<Point>& bends);

    const LayoutRequest& m_request;
    LayoutResult& m_layout;
    std::vector<Gap> m_gaps;
    std::vector<double> m_cuts;
    std::vector<Column> m_columns;
    std::vector<size_t> m_led; ///< edges that were led into each column so far
    double m_deepest = 0;
};

void ColumnFolding::findGaps() {
    std::vector<size_t> order(m_layout.places.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return m_layout.places[a].y < m_layout.places[b].y; });
    double filled = 0;
    for (size_t box : order) {
        if (const double top = m_layout.places[box].y; top > filled && filled > 0)
            m_gaps.push_back({(filled + top) / 2, 0});
        filled = std::max(filled, bottomOf(box));
    }
    std::vector<int> change(m_gaps.size() + 1, 0);
    const auto gapAt = [&](double y) {
        return std::lower_bound(m_gaps.begin(), m_gaps.end(), y,
                                [](const Gap& gap, double at) { return gap.y < at; }) -
               m_gaps.begin();
    };
    for (const LayoutEdge& edge : m_request.edges) {
        ++change[static_cast<size_t>(gapAt(start(edge).y))];
        --change[static_cast<size_t>(gapAt(end(edge).y))];
    }
    int edges = 0;
    for (size_t i = 0; i < m_gaps.size(); ++i)
        m_gaps[i].edges = edges += change[i];
}

void ColumnFolding::cut(size_t columns) {
    const double height = m_layout.height / static_cast<double>(columns);
    for (size_t i = 1; i < columns; ++i) {
        const double wanted = height * static_cast<double>(i);
        const Gap* best = nullptr;
        const auto cost = [&](const Gap& gap) {
            return std::abs(gap.y - wanted) + crossing * gap.edges;
        };
        for (const Gap& gap : m_gaps)
            if (std::abs(gap.y - wanted) < reach * height &&
                (best == nullptr || cost(gap) < cost(*best)))
                best = &gap;
        if (best != nullptr && (m_cuts.empty() || best->y > m_cuts.back()))
            m_cuts.push_back(best->y);
    }
}

void ColumnFolding::measure() {
    m_columns.resize(m_cuts.size() + 1);
    m_led.resize(m_columns.size(), 0);
    for (size_t i = 0; i < m_columns.size(); ++i) {
        m_columns[i].top = i == 0 ? 0 : m_cuts[i - 1];
        m_columns[i].bottom = i == 0 ? 0 : m_cuts[i - 1];
    }
    const auto widen = [&](double y, double left, double right) {
        Column& column = m_columns[columnAt(y)];
        column.left = std::min(column.left, left);
        column.right = std::max(column.right, right);
    };
    for (size_t box = 0; box < m_layout.places.size(); ++box) {
        const Point& place = m_layout.places[box];
        widen(place.y, place.x, place.x + m_request.sizes[box].w);
        Column& column = m_columns[columnAt(place.y)];
        column.bottom = std::max(column.bottom, bottomOf(box));
    }
    for (size_t e = 0; e < m_request.edges.size(); ++e) {
        for (const Point& bend : m_layout.bends[e])
            widen(bend.y, bend.x, bend.x);
        const size_t from = columnAt(start(m_request.edges[e]).y);
        if (const size_t to = columnAt(end(m_request.edges[e]).y); to > from)
            for (size_t column = from + 1; column <= to; ++column)
                ++m_columns[column].arriving;
    }
    double x = 0;
    size_t mostLed = 0;
    for (Column& column : m_columns) {
        if (column.arriving > 0 || &column != &m_columns.front())
            x += 2 * margin + lane * static_cast<double>(column.arriving);
        column.dx = x - column.left;
        x += column.right - column.left;
        m_deepest = std::max(m_deepest, column.bottom - column.top);
        mostLed = std::max(mostLed, column.arriving);
    }
    const double room = margin + lane * static_cast<double>(mostLed);
    for (Column& column : m_columns)
        column.top -= room; // for what comes in above it
    m_layout.width = x;
    m_layout.height = m_deepest + 2 * room;
}

/// From column to column: down to its foot, aside, up between the two, aside, and down.
std::vector<Point> ColumnFolding::led(const LayoutEdge& edge, const std::vector<Point>& bends) {
    std::vector<Point> points{start(edge)};
    points.insert(points.end(), bends.begin(), bends.end());
    points.push_back(end(edge));
    std::vector<Point> out;
    Point last; // moved
    size_t column = columnAt(points.front().y);
    for (size_t i = 0; i < points.size(); ++i) {
        const size_t next = std::max(column, columnAt(points[i].y));
        const Point moved{points[i].x + m_columns[next].dx, points[i].y - m_columns[next].top};
        for (; column < next; ++column) {
            const double off = lane * static_cast<double>(m_led[column + 1]++);
            const Column& into = m_columns[column + 1];
            const double foot = m_columns[column].bottom - m_columns[column].top + 14 + off;
            const double between = into.left + into.dx - margin - off;
            const double head = margin / 2 + off;
            const double x = column + 1 == next ? moved.x : between;
            out.insert(out.end(), {{last.x, foot}, {between, foot}, {between, head}, {x, head}});
            last = {x, head};
        }
        if (i > 0 && i + 1 < points.size())
            out.push_back(moved);
        last = moved;
    }
    return out;
}

void ColumnFolding::move() {
    std::vector<std::vector<Point>> bends;
    for (size_t e = 0; e < m_request.edges.size(); ++e)
        bends.push_back(led(m_request.edges[e], m_layout.bends[e]));
    m_layout.bends = std::move(bends);
    for (Point& place : m_layout.places) {
        const Column& column = m_columns[columnAt(place.y)];
        place = {place.x + column.dx, place.y - column.top};
    }
}

} // namespace

void foldIntoColumns(const LayoutRequest& request, LayoutResult& layout) {
    ColumnFolding(request, layout).run();
}

} // namespace fuselage::scene
