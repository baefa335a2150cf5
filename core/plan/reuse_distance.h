// SPDX-License-Identifier: Apache-2.0
// How far back in a run what a step reads was written: what caches are asked with. Counts bytes;
// knows nothing about steps but their order.
#pragma once

#include "core/cost/cost.h"

#include <cstdint>
#include <vector>

namespace fuselage::planner {

/// Bytes that the steps between a value's producer and its reader move. A processor's caches
/// outlive a run: what no step made was read one run ago; and they hold less of a value, the more
/// its producer went on to read while it wrote.
class ReuseDistances {
public:
    explicit ReuseDistances(const DeviceProfile& profile)
        : m_outlive(profile.kind == DeviceKind::Cpu) {}

    /// Logical bytes of the next step.
    void add(int64_t bytes) { m_moved.push_back(m_moved.back() + bytes); }

    /// Of a value of so many bytes. `producer`: a step, or below 0 where none made it. Every step
    /// must have been added.
    int64_t of(size_t reader, int64_t producer, int64_t bytes) const;

private:
    bool m_outlive;
    std::vector<int64_t> m_moved{0}; ///< before each step
};

} // namespace fuselage::planner
