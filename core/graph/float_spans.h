// SPDX-License-Identifier: Apache-2.0
// Loops over the floats of a weight, without branches so that compilers make vectors of them.
#pragma once

#include "core/graph/dtype.h"

#include <cstdint>
#include <limits>
#include <span>

namespace fuselage {

/// floatToHalf() and floatToBfloat16() of each element; `to` is as long as `from`.
void floatsToHalves(std::span<const float> from, std::span<uint16_t> to);
void floatsToBfloats16(std::span<const float> from, std::span<uint16_t> to);

/// What finite elements lie between; infinities and NaN are passed over.
struct FloatRange {
    float lowest = std::numeric_limits<float>::infinity();
    float highest = -std::numeric_limits<float>::infinity();
    float leastMagnitude = std::numeric_limits<float>::infinity(); ///< zeros passed over
};

FloatRange rangeOf(std::span<const float> values);

} // namespace fuselage
