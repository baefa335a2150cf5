// SPDX-License-Identifier: Apache-2.0
#include "core/plan/memory_uses.h"

#include "core/cost/cost.h"
#include "core/plan/planner_internal.h"

#include <algorithm>

namespace fuselage::planner {

namespace {

/// Kernels of products share code, and so do all others.
bool runsAsProduct(const KernelProgram& program) {
    return std::holds_alternative<Contraction>(program.code) ||
           std::holds_alternative<Attention>(program.code);
}

} // namespace

MemoryUses::MemoryUses(const Plan& plan) : m_plan(plan) {
    for (const Step& step : plan.steps) {
        m_bytes.push_back(plan.isOnce(step) ? 0 : logicalTraffic(step.program).logical());
        m_run += static_cast<double>(m_bytes.back());
    }
    for (size_t i = 0; i < plan.steps.size(); ++i)
        advance();
    m_step = 0;
}

UseDistances MemoryUses::next() {
    const Step& step = m_plan.steps[m_step];
    auto distance = [&](uint32_t value) {
        const auto own = static_cast<double>(m_plan.values[value].bytes);
        // A run touches no more than its bytes.
        const double most = std::max(0.0, m_run - own);
        const auto at = lastUse(value);
        return static_cast<int64_t>(at ? std::min(m_moved - *at, most) : most);
    };
    UseDistances out;
    for (uint32_t input : step.inputs)
        out.read.push_back(distance(input));
    for (uint32_t output : step.outputs)
        out.written.push_back(distance(output));
    out.code = static_cast<int64_t>(m_moved - m_ran[runsAsProduct(step.program)]);
    advance();
    return out;
}

/// Caches hold less of what a step used, the more it went on to move.
void MemoryUses::advance() {
    const Step& step = m_plan.steps[m_step];
    const auto bytes = static_cast<double>(m_bytes[m_step]);
    ++m_step;
    if (m_plan.isOnce(step))
        return;
    for (const auto* list : {&step.inputs, &step.outputs})
        for (uint32_t value : *list)
            use(value, m_moved + bytes / 2);
    m_moved += bytes;
    m_ran[runsAsProduct(step.program)] = m_moved;
}

/// Bytes of the arena, where the value lies there. Inner values of a sweep lie in its workers',
/// fixed ones beside the constants.
std::optional<std::pair<int64_t, int64_t>> MemoryUses::rangeOf(uint32_t value) const {
    const RootPlace place = placeOf(m_plan, value);
    const PlanValue& root = m_plan.values[place.root];
    if (root.residence != Residence::Arena || root.inner || root.isFixed)
        return std::nullopt;
    const int64_t first = root.offset + place.offset;
    return std::pair(first, first + spanBytes(m_plan.values[value]));
}

std::optional<double> MemoryUses::lastUse(uint32_t value) const {
    const auto range = rangeOf(value);
    if (!range) {
        const auto known = m_values.find(rootOf(m_plan, value));
        return known == m_values.end() ? std::nullopt : std::optional(known->second);
    }
    const auto [first, end] = *range;
    auto piece = m_arena.upper_bound(first);
    if (piece != m_arena.begin())
        --piece;
    double sum = 0, known = 0;
    for (; piece != m_arena.end() && piece->first < end; ++piece) {
        const int64_t shared = std::min(end, piece->second.end) - std::max(first, piece->first);
        if (shared <= 0)
            continue;
        sum += piece->second.at * static_cast<double>(shared);
        known += static_cast<double>(shared);
    }
    return known > 0 ? std::optional(sum / known) : std::nullopt;
}

void MemoryUses::use(uint32_t value, double at) {
    const auto range = rangeOf(value);
    if (!range) {
        m_values[rootOf(m_plan, value)] = at;
        return;
    }
    const auto [first, end] = *range;
    if (first >= end)
        return;
    // Pieces that reach over either end keep what lies outside.
    for (int64_t edge : {first, end}) {
        auto piece = m_arena.upper_bound(edge);
        if (piece == m_arena.begin())
            continue;
        --piece;
        if (piece->first < edge && edge < piece->second.end) {
            m_arena[edge] = piece->second;
            piece->second.end = edge;
        }
    }
    m_arena.erase(m_arena.lower_bound(first), m_arena.lower_bound(end));
    m_arena[first] = {end, at};
}

} // namespace fuselage::planner
