// SPDX-License-Identifier: Apache-2.0
// Axes of an operand on which numbers of an index tensor pick a position: what the kernels of
// Gather, Scatter and their relatives share.
#pragma once

#include "core/graph/type.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fuselage::gpu {

struct PickedAxes {
    struct Axis {
        int64_t extent = 0;
        int64_t step = 0; ///< of the place, from one position to the next
    };

    std::vector<Axis> axes; ///< one a number of the tuple
    int64_t numberStep = 0; ///< elements of the index from a number of a tuple to the next

    /// Statements that declare `long long at`, the place, and `bool inside`: no number lies outside
    /// of its axis. `index`: a pointer to the tuple.
    std::string place(const std::string& index, const std::string& indent) const;
};

/// Types of index tensors that kernels read.
bool picksPlaces(DType type);

} // namespace fuselage::gpu
