// SPDX-License-Identifier: Apache-2.0
// The parts of a pointwise program that only small operands reach, computed before all else in each
// run: the sigmoid of a gate for each channel is taken once a channel, not once an element.
#pragma once

#include "core/cpu/constant_part.h"

namespace fuselage::cpu {

/// Reads whole operands, writes results of their shape, row-major.
struct SmallPart {
    Pointwise program;
    std::vector<uint32_t> operands; ///< parallel to its inputs
    std::vector<OperandLayout> inputs, outputs;
    std::vector<size_t> offsets; ///< of its results in the memory of all parts
};

struct PointwiseInParts {
    FoldedPointwise rest; ///< its inputs: those of `folded`, then results, which have no constant
    std::vector<SmallPart> parts;
    size_t bytes = 0; ///< memory of their results
};

/// Takes parts with expensive functions out that are repeated for many elements. `given`: inputs of
/// `folded` that a run brings.
PointwiseInParts takeSmallParts(FoldedPointwise folded, size_t given);

} // namespace fuselage::cpu
