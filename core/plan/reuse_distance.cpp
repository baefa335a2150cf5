// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reuse_distance.h"

#include <algorithm>

namespace fuselage::planner {

int64_t ReuseDistances::of(size_t reader, int64_t producer, int64_t bytes) const {
    if (producer < 0)
        return m_outlive ? std::max<int64_t>(0, m_moved.back() - bytes) : -1;
    const auto at = static_cast<size_t>(producer);
    return m_moved[reader] - (m_outlive ? (m_moved[at] + m_moved[at + 1]) / 2 : m_moved[at + 1]);
}

} // namespace fuselage::planner
