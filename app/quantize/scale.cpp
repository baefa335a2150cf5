// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/scale.h"

#include "core/ops/quantize.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace fuselage::quantize {

const char* nameOf(StoredType type) {
    return type == StoredType::Int8 ? "int8" : "uint8";
}

std::optional<StoredType> storedTypeFromName(std::string_view name) {
    for (StoredType type : {StoredType::Int8, StoredType::UInt8})
        if (name == nameOf(type))
            return type;
    return std::nullopt;
}

DType dtypeOf(StoredType type) {
    return type == StoredType::Int8 ? DType::Int8 : DType::UInt8;
}

std::optional<Scale> scaleOf(StoredType type, const Range& range) {
    const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
    const double width = type == StoredType::Int8 ? std::max(-low, high) / 127 : (high - low) / 255;
    // The quotient of two float32 numbers must not become infinite either.
    const auto step = static_cast<float>(width);
    if (!(step >= FLT_MIN) || !std::isfinite(step))
        return std::nullopt;
    if (type == StoredType::Int8)
        return Scale{step, 0};
    const double zero = std::nearbyint(-low / static_cast<double>(step));
    return Scale{step, static_cast<int64_t>(std::clamp(zero, 0.0, 255.0))};
}

double storedValue(double value, const Scale& scale, StoredType type) {
    const auto zero = static_cast<double>(scale.zero);
    const auto step = static_cast<double>(scale.step);
    return (static_cast<double>(quantized(value, step, zero, dtypeOf(type))) - zero) * step;
}

} // namespace fuselage::quantize
