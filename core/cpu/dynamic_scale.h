// SPDX-License-Identifier: Apache-2.0
// How data is quantised to uint8 while it runs: the scale and zero point of its range, in float32
// step by step, as DynamicQuantizeLinear defines them.
#pragma once

#include <algorithm>
#include <cmath>

namespace fuselage::cpu {

struct DynamicScale {
    float scale = 1, zero = 0;

    /// Of a range that contains zero.
    static DynamicScale of(float low, float high) {
        const float scale = high > low ? (high - low) / 255 : 1;
        const float origin = std::nearbyint(-low / scale);
        return {scale, std::isnan(origin) ? 0 : std::clamp(origin, 0.0F, 255.0F)};
    }
};

} // namespace fuselage::cpu
