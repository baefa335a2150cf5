// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/scale.h"

#include "core/ops/quantize.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <iterator>

namespace fuselage::quantize {

namespace {

/// In the order of StoredType.
constexpr DType dtypes[] = {DType::Int8,         DType::UInt8,      DType::Int16, DType::UInt16,
                            DType::Float8E4M3FN, DType::Float8E5M2, DType::Int4,  DType::UInt4};

/// Steps from 0 to the largest number of a symmetric type, from the least to it of others.
double stepsOf(DType type) {
    if (isFloat(type)) // what is beyond the largest becomes it
        return roundTo(type, static_cast<double>(FLT_MAX));
    return std::ldexp(1.0, bitsOf(type) - (isSigned(type) ? 1 : 0)) - 1;
}

} // namespace

const char* nameOf(StoredType type) {
    return fuselage::nameOf(dtypeOf(type));
}

std::optional<StoredType> storedTypeFromName(std::string_view name) {
    for (size_t i = 0; i < std::size(dtypes); ++i)
        if (name == fuselage::nameOf(dtypes[i]))
            return static_cast<StoredType>(i);
    return std::nullopt;
}

const char* storedTypeNames() {
    return "int8, uint8, int16, uint16, float8e4m3fn, float8e5m2, int4, uint4";
}

DType dtypeOf(StoredType type) {
    return dtypes[static_cast<size_t>(type)];
}

bool isSymmetric(StoredType type) {
    return isSigned(dtypeOf(type));
}

std::optional<Scale> scaleOf(StoredType type, const Range& range) {
    const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
    const double steps = stepsOf(dtypeOf(type));
    const double width = (isSymmetric(type) ? std::max(-low, high) : high - low) / steps;
    // The quotient of two float32 numbers must not become infinite either.
    const auto step = static_cast<float>(width);
    if (!(step >= FLT_MIN) || !std::isfinite(step))
        return std::nullopt;
    if (isSymmetric(type))
        return Scale{step, 0};
    const double zero = std::nearbyint(-low / static_cast<double>(step));
    return Scale{step, static_cast<int64_t>(std::clamp(zero, 0.0, steps))};
}

double storedValue(double value, const Scale& scale, StoredType type) {
    const auto zero = static_cast<double>(scale.zero);
    const auto step = static_cast<double>(scale.step);
    if (isFloat(dtypeOf(type)))
        return roundTo(dtypeOf(type), value / step) * step;
    return (static_cast<double>(quantized(value, step, zero, dtypeOf(type))) - zero) * step;
}

} // namespace fuselage::quantize
