// SPDX-License-Identifier: Apache-2.0
// What generated tensors hold: mostly small multiples of a quarter, on which sums and products are
// exact, so that a difference is a difference of meaning; edge values; NaN and infinities on
// demand.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <cstdint>
#include <vector>

namespace fuselage::app {

enum class Contents : uint8_t {
    Distinct, ///< 0.25, -0.5, 0.75 ...: in no symmetric order
    Quarters, ///< random multiples of 1/4 in [-2, 2]
    Edges,    ///< 0, 1 and -1
    Normal,   ///< any number around 0
    Specials, ///< quarters with NaN and infinities among them
    Count_,
};

/// Positive: powers of two.
Tensor sampleTensor(DType dtype, const Extents& extents, Contents kind, uint64_t seed,
                    bool positive = false);

/// One tensor per graph input; indices stay inside of their tables.
Result<std::vector<Tensor>> sampleInputs(const Graph& graph, Contents kind, uint64_t seed);

} // namespace fuselage::app
