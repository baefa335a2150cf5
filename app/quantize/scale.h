// SPDX-License-Identifier: Apache-2.0
// From a range of numbers to the scale and zero point that store it in a few bits.
#pragma once

#include "core/graph/dtype.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fuselage::quantize {

/// What a value is stored as between the two nodes of a pair.
enum class StoredType : uint8_t {
    Int8,  ///< symmetric: the zero point is 0, -127..127 are used by what lies in the range
    UInt8, ///< asymmetric: the zero point lies where 0 is
    Int16,
    UInt16,
    Float8E4M3FN, ///< symmetric: the range's end becomes the largest number, 448
    Float8E5M2,   ///< the same with 57344
    Int4,         ///< of constants; -7..7
    UInt4,        ///< of constants; 0..15 with a zero point
};

const char* nameOf(StoredType type); ///< "int8": as of the DType
std::optional<StoredType> storedTypeFromName(std::string_view name);
const char* storedTypeNames(); ///< "int8, uint8, ...": all
DType dtypeOf(StoredType type);
bool isSymmetric(StoredType type); ///< the zero point is 0

/// In whose sums of products int32 holds a bias: 8-bit integers.
constexpr bool isByte(StoredType type) {
    return type == StoredType::Int8 || type == StoredType::UInt8;
}

/// Too few bits for anything but weights.
constexpr bool isOfConstants(StoredType type) {
    return type == StoredType::Int4 || type == StoredType::UInt4;
}

/// In the value's own units. Zero is stored exactly whatever the range: it is widened to hold it.
struct Range {
    double low = 0, high = 0;

    friend bool operator==(const Range&, const Range&) = default;
};

struct Scale {
    float step = 1; ///< positive and finite
    int64_t zero = 0;

    friend bool operator==(const Scale&, const Scale&) = default;
};

/// None for a range of zeros, which no step fits.
std::optional<Scale> scaleOf(StoredType type, const Range& range);

/// What storing leaves of a value: rounding half to even, saturation, as QuantizeLinear defines it.
double storedValue(double value, const Scale& scale, StoredType type);

} // namespace fuselage::quantize
