// SPDX-License-Identifier: Apache-2.0
// The linear layered pass: rows are given, long edges get a cell in each row they cross, two sweeps
// of barycentres order the rows, and each row is placed by isotonic regression towards its
// neighbours. No step looks for an optimum, so that time stays linear and pictures stay alike.
#include "app/report/scene/layout.h"

#include <algorithm>
#include <numeric>

namespace fuselage::scene {

namespace {

constexpr double laneWidth = 6; ///< of a long edge where it crosses a row

/// An item, or the place where a long edge crosses a row.
struct Cell {
    double w = laneWidth, h = 0;
    double x = 0; ///< of the centre
    uint32_t row = 0;
    bool lane = true;
};

struct Neighbour {
    uint32_t cell;
    double weight;
};

class Pass {
public:
    explicit Pass(const LayoutRequest& request) : m_request(request) {}

    void run() {
        makeCells();
        for (int sweep = 0; sweep < 2; ++sweep) {
            order(m_up, true);
            order(m_down, false);
        }
        startPlaces();
        for (int sweep = 0; sweep < 2; ++sweep) {
            place(true, {&m_up});
            place(false, {&m_down});
        }
        place(true, {&m_up, &m_down});
    }

    LayoutResult result() const;

private:
    void makeCells();
    void makeLanes();
    void join(uint32_t upper, uint32_t lower, double weight) {
        m_down[upper].push_back({lower, weight});
        m_up[lower].push_back({upper, weight});
    }

    void order(const std::vector<std::vector<Neighbour>>& side, bool downwards);
    void startPlaces();
    void place(bool downwards, std::vector<const std::vector<std::vector<Neighbour>>*> sides);
    void placeRow(const std::vector<uint32_t>& row, const std::vector<double>& wanted,
                  const std::vector<double>& weights);

    const LayoutRequest& m_request;
    std::vector<Cell> m_cells;
    std::vector<std::vector<uint32_t>> m_rows;
    std::vector<std::vector<Neighbour>> m_up, m_down;
    std::vector<std::vector<uint32_t>> m_lanes; ///< of each edge
};

void Pass::makeCells() {
    uint32_t rows = 0;
    for (size_t i = 0; i < m_request.sizes.size(); ++i) {
        m_cells.push_back(
            {m_request.sizes[i].w, m_request.sizes[i].h, 0, m_request.ranks[i], false});
        rows = std::max(rows, m_request.ranks[i] + 1);
    }
    m_rows.resize(rows);
    for (uint32_t i = 0; i < m_cells.size(); ++i)
        m_rows[m_cells[i].row].push_back(i);
    makeLanes();
}

void Pass::makeLanes() {
    m_lanes.resize(m_request.edges.size());
    size_t lanes = 0;
    for (const LayoutEdge& edge : m_request.edges)
        lanes += m_cells[edge.to].row - m_cells[edge.from].row - 1;
    m_cells.reserve(m_cells.size() + lanes);
    m_up.resize(m_cells.size() + lanes);
    m_down.resize(m_cells.size() + lanes);
    for (size_t e = 0; e < m_request.edges.size(); ++e) {
        const LayoutEdge& edge = m_request.edges[e];
        uint32_t last = edge.from;
        for (uint32_t row = m_cells[edge.from].row + 1; row < m_cells[edge.to].row; ++row) {
            auto cell = static_cast<uint32_t>(m_cells.size());
            m_cells.push_back({laneWidth, 0, 0, row, true});
            m_rows[row].push_back(cell);
            m_lanes[e].push_back(cell);
            join(last, cell, m_cells[last].lane ? 8 : 1);
            last = cell;
        }
        join(last, edge.to, m_cells[last].lane ? 1 : 4.0 * edge.weight);
    }
}

void Pass::order(const std::vector<std::vector<Neighbour>>& side, bool downwards) {
    std::vector<double> position(m_cells.size());
    for (const auto& row : m_rows)
        for (size_t i = 0; i < row.size(); ++i)
            position[row[i]] = static_cast<double>(i) - static_cast<double>(row.size() - 1) / 2;
    std::vector<double> key(m_cells.size());
    for (size_t step = 0; step < m_rows.size(); ++step) {
        auto& row = m_rows[downwards ? step : m_rows.size() - 1 - step];
        for (uint32_t cell : row) {
            double sum = 0, weight = 0;
            for (const Neighbour& n : side[cell]) {
                sum += position[n.cell];
                weight += 1;
            }
            key[cell] = weight > 0 ? sum / weight : position[cell];
        }
        std::stable_sort(row.begin(), row.end(),
                         [&](uint32_t a, uint32_t b) { return key[a] < key[b]; });
        for (size_t i = 0; i < row.size(); ++i)
            position[row[i]] = static_cast<double>(i) - static_cast<double>(row.size() - 1) / 2;
    }
}

void Pass::startPlaces() {
    for (const auto& row : m_rows) {
        double width = 0;
        for (uint32_t cell : row)
            width += m_cells[cell].w + m_request.columnGap;
        double x = -(width - m_request.columnGap) / 2;
        for (uint32_t cell : row) {
            m_cells[cell].x = x + m_cells[cell].w / 2;
            x += m_cells[cell].w + m_request.columnGap;
        }
    }
}

/// Least squares towards `wanted` under the gaps of the row: pool adjacent violators.
void Pass::placeRow(const std::vector<uint32_t>& row, const std::vector<double>& wanted,
                    const std::vector<double>& weights) {
    struct Pool {
        double sum, weight;
        size_t count;
    };

    std::vector<Pool> pools;
    std::vector<double> offset(row.size(), 0);
    for (size_t i = 0; i < row.size(); ++i) {
        if (i > 0) {
            const Cell &left = m_cells[row[i - 1]], &right = m_cells[row[i]];
            double gap = left.lane && right.lane ? m_request.columnGap / 2 : m_request.columnGap;
            offset[i] = offset[i - 1] + (left.w + right.w) / 2 + gap;
        }
        pools.push_back({(wanted[i] - offset[i]) * weights[i], weights[i], 1});
        while (pools.size() > 1) {
            const Pool& last = pools.back();
            Pool& before = pools[pools.size() - 2];
            if (before.sum / before.weight <= last.sum / last.weight)
                break;
            before = {before.sum + last.sum, before.weight + last.weight,
                      before.count + last.count};
            pools.pop_back();
        }
    }
    size_t i = 0;
    for (const Pool& pool : pools)
        for (size_t k = 0; k < pool.count; ++k, ++i)
            m_cells[row[i]].x = pool.sum / pool.weight + offset[i];
}

void Pass::place(bool downwards, std::vector<const std::vector<std::vector<Neighbour>>*> sides) {
    std::vector<double> wanted, weights;
    for (size_t step = 0; step < m_rows.size(); ++step) {
        const auto& row = m_rows[downwards ? step : m_rows.size() - 1 - step];
        wanted.clear();
        weights.clear();
        for (uint32_t cell : row) {
            double sum = 0, weight = 0;
            for (const auto* side : sides)
                for (const Neighbour& n : (*side)[cell]) {
                    sum += n.weight * m_cells[n.cell].x;
                    weight += n.weight;
                }
            wanted.push_back(weight > 0 ? sum / weight : m_cells[cell].x);
            weights.push_back(std::max(weight, 0.1));
        }
        placeRow(row, wanted, weights);
    }
}

LayoutResult Pass::result() const {
    LayoutResult out;
    std::vector<double> top(m_rows.size(), 0), height(m_rows.size(), 0);
    double y = 0;
    for (size_t r = 0; r < m_rows.size(); ++r) {
        for (uint32_t cell : m_rows[r])
            height[r] = std::max(height[r], m_cells[cell].h);
        top[r] = y;
        y += m_rows[r].empty() ? 0 : height[r] + m_request.rowGap;
    }
    double left = 0, right = 0;
    for (const Cell& cell : m_cells) {
        left = std::min(left, cell.x - cell.w / 2);
        right = std::max(right, cell.x + cell.w / 2);
    }
    for (size_t i = 0; i < m_request.sizes.size(); ++i) {
        const Cell& cell = m_cells[i];
        out.places.push_back(
            {cell.x - cell.w / 2 - left, top[cell.row] + (height[cell.row] - cell.h) / 2});
    }
    for (const auto& lanes : m_lanes) {
        auto& bends = out.bends.emplace_back();
        for (uint32_t lane : lanes) {
            const Cell& cell = m_cells[lane];
            bends.push_back({cell.x - left, top[cell.row]});
            bends.push_back({cell.x - left, top[cell.row] + height[cell.row]});
        }
    }
    out.width = right - left;
    out.height = m_rows.empty() ? 0 : y - m_request.rowGap;
    return out;
}

} // namespace

Result<LayoutResult> LinearLayout::layout(const LayoutRequest& request, Progress& progress) {
    if (progress.cancelled())
        return cancelledFailure("layout");
    Pass pass(request);
    pass.run();
    return pass.result();
}

} // namespace fuselage::scene
