// SPDX-License-Identifier: Apache-2.0
// Weighted neighbours of points in a plane: found once, summed for every channel.
#pragma once

#include "core/cpu/vector_table.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuselage::cpu {

/// Of `count` points: [tap][point]. Behind the neighbours that are inside of the plane, a point has
/// as many without weight as others have more.
class PlaneTaps {
public:
    static size_t bytes(size_t taps, size_t count) {
        return taps * count * (sizeof(int32_t) + sizeof(float));
    }

    /// In memory of bytes(taps, count).
    PlaneTaps(std::byte* memory, size_t taps, size_t count)
        : m_indices(reinterpret_cast<int32_t*>(memory)),
          m_weights(reinterpret_cast<float*>(m_indices + taps * count)), m_taps(taps),
          m_count(count) {}

    void set(size_t point, size_t tap, int64_t index, double weight) {
        m_indices[tap * m_count + point] = static_cast<int32_t>(index);
        m_weights[tap * m_count + point] = static_cast<float>(weight);
    }

    /// No more taps than `inside` were set for this point.
    void end(size_t point, size_t inside) {
        for (size_t tap = inside; tap < m_taps; ++tap)
            set(point, tap, 0, 0);
        if (inside < m_taps)
            m_fewer.push_back({point, inside});
    }

    /// out[point] = the sum over its neighbours. Nothing times infinity is no number, so what has
    /// fewer neighbours is summed again without those that it lacks.
    void sum(const VectorTable& table, const float* plane, float* out) const {
        table.gatherSum(out, plane, m_indices, m_weights, m_taps, m_count);
        for (const Fewer& each : m_fewer) {
            float total = 0;
            for (size_t t = 0, at = each.point; t < each.inside; ++t, at += m_count)
                total += m_weights[at] * plane[m_indices[at]];
            out[each.point] = total;
        }
    }

private:
    struct Fewer {
        size_t point = 0;
        size_t inside = 0;
    };

    int32_t* m_indices;
    float* m_weights;
    size_t m_taps, m_count;
    std::vector<Fewer> m_fewer;
};

} // namespace fuselage::cpu
