// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/panel_product.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

/// The sum of products of as many elements, in lanes that any build makes vectors of.
float dot(const float* a, const float* b, size_t n) {
    float lanes[laneGroup] = {};
    for (size_t i = 0; i < n; i += laneGroup)
        for (size_t lane = 0; lane < laneGroup; ++lane)
            lanes[lane] += a[i + lane] * b[i + lane];
    float out = 0;
    for (float lane : lanes)
        out += lane;
    return out;
}

/// Products for which a second thread is worth its start.
constexpr size_t grainProducts = 1 << 17;

} // namespace

PanelProduct::PanelProduct(const VectorTable& table, int64_t n, int64_t k)
    : m_table(table), m_n(static_cast<size_t>(n)), m_k(static_cast<size_t>(k)),
      m_depth(roundUpToGroup(m_k)) {}

size_t PanelProduct::packedBytes() const {
    return panels() * m_table.winograd.panel * m_depth * sizeof(float);
}

void PanelProduct::pack(const Row& row, std::byte* to, Threads& threads) const {
    const size_t panel = m_table.winograd.panel;
    auto* packed = reinterpret_cast<float*>(to);
    const size_t grain = grainProducts / std::max<size_t>(panel * m_depth, 1) + 1;
    threads.forRange(panels(), grain, [&](size_t worker, size_t begin, size_t end) {
        const size_t step = m_depth + laneGroup; // lines of a power of two would share cache sets
        auto* lines =
            reinterpret_cast<float*>(threads.scratch(worker).reserve(panel * step * sizeof(float)));
        for (size_t p = begin; p < end; ++p) {
            const size_t columns = std::min(panel, m_n - p * panel);
            std::fill_n(lines, panel * step, 0.0F);
            for (size_t c = 0; c < columns; ++c) {
                row(static_cast<int64_t>(p * panel + c), lines + c * step);
                std::fill(lines + c * step + m_k, lines + (c + 1) * step, 0.0F);
            }
            float* first = packed + p * panel * m_depth;
            for (size_t i = 0; i < m_depth; ++i)
                for (size_t c = 0; c < panel; ++c)
                    first[i * panel + c] = lines[c * step + i];
        }
    });
}

size_t PanelProduct::panels() const {
    return (m_n + m_table.winograd.panel - 1) / m_table.winograd.panel;
}

/// Some rows as floats, group of lanes after group, zero behind their ends.
void PanelProduct::stage(const RowCall& call, size_t first, size_t count, float* to) const {
    const size_t bytes = sizeOf(call.aType);
    for (size_t k = 0; k < m_depth; k += laneGroup)
        for (size_t r = 0; r < count; ++r, to += laneGroup) {
            const size_t given = std::min(laneGroup, m_k - k);
            std::fill(to, to + laneGroup, 0.0F);
            m_table.load[static_cast<size_t>(call.aType)](
                to, call.a + (first + r) * call.aStep + k * bytes, 1, given, 0, 1);
            std::fill(to + given, to + laneGroup, 0.0F);
        }
}

/// All rows of some panels, one or panelsTogether.
void PanelProduct::multiply(const RowCall& call, const float* a, size_t panel, size_t width,
                            float* tile) const {
    const WinogradLoops& loops = m_table.winograd;
    const auto rows = static_cast<size_t>(call.rows);
    const size_t column = panel * loops.panel, columns = width * loops.panel;
    const size_t taken = std::min(columns, m_n - column);
    const float* b = m_packed + panel * loops.panel * m_depth;
    for (size_t first = 0; first < rows; first += loops.mostRows) {
        const size_t count = std::min(loops.mostRows, rows - first);
        const float* from = a + first * m_depth;
        if (width == panelsTogether && loops.panels[count])
            loops.panels[count](from, count * laneGroup, b, loops.panel * m_depth, tile, columns,
                                m_depth);
        else
            for (size_t p = 0; p < width; ++p)
                loops.product[count](from, count * laneGroup, b + p * loops.panel * m_depth,
                                     tile + p * loops.panel, columns, m_depth);
        for (size_t r = 0; r < count; ++r)
            m_table.store[static_cast<size_t>(call.yType)](call.y + (first + r) * call.yStep +
                                                               column * sizeOf(call.yType),
                                                           tile + r * columns, 1, taken, 0, 1);
    }
}

size_t PanelProduct::scratchBytes(int64_t rows) const {
    return (static_cast<size_t>(rows) * m_depth + laneGroup) * sizeof(float);
}

void PanelProduct::run(const RowCall& call, std::byte* scratch, Threads& threads) const {
    const WinogradLoops& loops = m_table.winograd;
    auto* a = reinterpret_cast<float*>(scratch);
    const auto rows = static_cast<size_t>(call.rows);
    for (size_t first = 0; first < rows; first += loops.mostRows)
        stage(call, first, std::min(loops.mostRows, rows - first), a + first * m_depth);
    const size_t groups = (panels() + panelsTogether - 1) / panelsTogether;
    const size_t products = panelsTogether * loops.panel * m_depth * rows;
    const size_t grain = std::max<size_t>(grainProducts / std::max<size_t>(products, 1), 1);
    threads.forRange(groups, grain, [&](size_t worker, size_t begin, size_t end) {
        auto* tile = reinterpret_cast<float*>(threads.scratch(worker).reserve(
            (loops.mostRows * panelsTogether * loops.panel + laneGroup) * sizeof(float)));
        for (size_t group = begin; group < end; ++group) {
            const size_t panel = group * panelsTogether;
            multiply(call, a, panel, std::min(panelsTogether, panels() - panel), tile);
        }
    });
}

void PanelProduct::runUnpacked(const Row& row, const RowCall& call, std::byte* scratch,
                               Threads& threads) const {
    auto* a = reinterpret_cast<float*>(scratch);
    const auto rows = static_cast<size_t>(call.rows);
    for (size_t r = 0; r < rows; ++r) {
        m_table.load[static_cast<size_t>(call.aType)](a + r * m_depth, call.a + r * call.aStep, 1,
                                                      m_k, 0, 1);
        std::fill(a + r * m_depth + m_k, a + (r + 1) * m_depth, 0.0F);
    }
    constexpr size_t columnsAtOnce = 64;
    const size_t parts = (m_n + columnsAtOnce - 1) / columnsAtOnce;
    const size_t products = columnsAtOnce * m_depth * rows;
    const size_t grain = grainProducts / std::max<size_t>(products, 1) + 1;
    threads.forRange(parts, grain, [&](size_t worker, size_t begin, size_t end) {
        auto* line = reinterpret_cast<float*>(threads.scratch(worker).reserve(
            (m_depth + rows * columnsAtOnce + 2 * laneGroup) * sizeof(float)));
        float* tile = line + m_depth + laneGroup;
        for (size_t part = begin; part < end; ++part) {
            const size_t first = part * columnsAtOnce, taken = std::min(columnsAtOnce, m_n - first);
            for (size_t c = 0; c < taken; ++c) {
                row(static_cast<int64_t>(first + c), line);
                std::fill(line + m_k, line + m_depth, 0.0F);
                for (size_t r = 0; r < rows; ++r)
                    tile[r * columnsAtOnce + c] = dot(a + r * m_depth, line, m_depth);
            }
            for (size_t r = 0; r < rows; ++r)
                m_table.store[static_cast<size_t>(call.yType)](
                    call.y + r * call.yStep + first * sizeOf(call.yType), tile + r * columnsAtOnce,
                    1, taken, 0, 1);
        }
    });
}

} // namespace fuselage::cpu
