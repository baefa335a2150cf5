// SPDX-License-Identifier: Apache-2.0
// Splits the elements of a tensor in rows that are reduced together, for reductions and
// normalisations along any axes.
#pragma once

#include "core/ops/op_table.h"

#include <optional>
#include <vector>

namespace fuselage {

/// Row r has the elements bases[r] + offsets[0], bases[r] + offsets[1] ...
struct ReductionPlan {
    std::vector<int64_t> bases;   ///< in the row-major order of the kept axes
    std::vector<int64_t> offsets; ///< in the row-major order of the reduced axes
    Extents kept;                 ///< the extents with reduced axes as 1
};

ReductionPlan planReduction(const Extents& extents, const std::vector<size_t>& axes);

/// The extents with the axes as 1, or without them.
Extents reducedExtents(const Extents& extents, const std::vector<size_t>& axes, bool keep);

/// Calls body(row) for every row of the plan, on all threads.
template <typename Body>
void forEachRow(const ReductionPlan& plan, ThreadPool& threads, const Body& body) {
    size_t grain = 1 + 4096 / (plan.offsets.size() + 1);
    threads.forRange(plan.bases.size(), grain, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row)
            body(row);
    });
}

} // namespace fuselage
