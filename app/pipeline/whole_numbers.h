// SPDX-License-Identifier: Apache-2.0
// Integers for generated inputs: which ones a graph may be given without indices, masks, lengths or
// shapes becoming nonsense, and numbers of that kind.
#pragma once

#include "core/graph/graph.h"

#include <cstdint>

namespace fuselage::app {

/// What is done with an integer input, through copies and arithmetic.
enum class IntegerUse : uint8_t {
    Structure, ///< it looks up, selects, shapes, counts or hides, or nobody knows
    Divides,   ///< computed with, also as a divisor
    Sums,      ///< computed with; sums and floats that are made of it have less room than itself
    Computes,  ///< computed with, element by element
};

IntegerUse integerUse(const Graph& graph, ValueId id);

/// Small, of both signs where the type has them.
int64_t smallInteger(DType dtype, uint64_t random);

/// At the ends of the type, or of one that lies within it.
int64_t extremeInteger(DType dtype, uint64_t random);

/// Any that may stand for a use other than Structure; a quarter is extreme where all are used
/// alone.
int64_t integerFor(IntegerUse use, DType dtype, uint64_t random);

} // namespace fuselage::app
