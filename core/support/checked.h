// SPDX-License-Identifier: Apache-2.0
// Overflow-checked sizes: model files are hostile input, so no size is multiplied unchecked.
#pragma once

#include <cstdint>
#include <optional>

namespace fuselage {

/// a * b, or nothing when either is negative or the product does not fit.
inline std::optional<int64_t> checkedMultiply(int64_t a, int64_t b) {
    int64_t out = 0;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &out))
        return std::nullopt;
    return out;
}

/// a + b, or nothing when the sum does not fit.
inline std::optional<int64_t> checkedAdd(int64_t a, int64_t b) {
    int64_t out = 0;
    if (__builtin_add_overflow(a, b, &out))
        return std::nullopt;
    return out;
}

} // namespace fuselage
