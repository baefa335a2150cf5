// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/panel_product.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

/// Products for which a second thread is worth its start.
constexpr size_t grainProducts = 1 << 17;

} // namespace

PanelProduct::PanelProduct(const VectorTable& table, int64_t n, int64_t k)
    : m_table(table), m_n(static_cast<size_t>(n)), m_k(static_cast<size_t>(k)),
      m_depth(roundUpToGroup(m_k)) {}

size_t PanelProduct::packedBytes() const {
    return panels() * m_table.winograd.panel * m_depth * sizeof(float);
}

void PanelProduct::pack(const Row& row, std::byte* to, Threads& threads) {
    const size_t panel = m_table.winograd.panel;
    auto* packed = reinterpret_cast<float*>(to);
    const size_t grain = grainProducts / std::max<size_t>(panel * m_depth, 1) + 1;
    threads.forRange(panels(), grain, [&](size_t worker, size_t begin, size_t end) {
        auto* line = reinterpret_cast<float*>(
            threads.scratch(worker).reserve((m_depth + laneGroup) * sizeof(float)));
        for (size_t p = begin; p < end; ++p) {
            float* first = packed + p * panel * m_depth;
            std::fill_n(first, panel * m_depth, 0.0F);
            for (size_t c = 0; c < panel && p * panel + c < m_n; ++c) {
                row(static_cast<int64_t>(p * panel + c), line);
                for (size_t i = 0; i < m_k; ++i)
                    first[i * panel + c] = line[i];
            }
        }
    });
    m_packed = packed;
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

} // namespace fuselage::cpu
