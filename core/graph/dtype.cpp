// SPDX-License-Identifier: Apache-2.0
#include "core/graph/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace fuselage {

namespace {

struct DTypeRow {
    DType type;
    const char* name;
    size_t size;
    bool isFloat;
    bool isInteger;
    bool isSigned;
    int64_t onnxNumber;
};

constexpr std::array<DTypeRow, 27> rows{{
    {DType::Undefined, "undefined", 0, false, false, false, 0},
    {DType::Float32, "float", 4, true, false, true, 1},
    {DType::Float16, "float16", 2, true, false, true, 10},
    {DType::BFloat16, "bfloat16", 2, true, false, true, 16},
    {DType::Float64, "double", 8, true, false, true, 11},
    {DType::Int8, "int8", 1, false, true, true, 3},
    {DType::Int16, "int16", 2, false, true, true, 5},
    {DType::Int32, "int32", 4, false, true, true, 6},
    {DType::Int64, "int64", 8, false, true, true, 7},
    {DType::UInt8, "uint8", 1, false, true, false, 2},
    {DType::UInt16, "uint16", 2, false, true, false, 4},
    {DType::UInt32, "uint32", 4, false, true, false, 12},
    {DType::UInt64, "uint64", 8, false, true, false, 13},
    {DType::Bool, "bool", 1, false, false, false, 9},
    {DType::String, "string", 0, false, false, false, 8},
    {DType::Float8E4M3FN, "float8e4m3fn", 1, true, false, true, 17},
    {DType::Float8E5M2, "float8e5m2", 1, true, false, true, 19},
    {DType::Int4, "int4", 1, false, true, true, 22},
    {DType::UInt4, "uint4", 1, false, true, false, 21},
    {DType::Float8E4M3FNUZ, "float8e4m3fnuz", 1, true, false, true, 18},
    {DType::Float8E5M2FNUZ, "float8e5m2fnuz", 1, true, false, true, 20},
    {DType::Float4E2M1, "float4e2m1", 1, true, false, true, 23},
    {DType::Int2, "int2", 1, false, true, true, 26},
    {DType::UInt2, "uint2", 1, false, true, false, 25},
    {DType::Float8E8M0, "float8e8m0", 1, true, false, false, 24},
    {DType::Complex64, "complex64", 8, false, false, false, 14},
    {DType::Complex128, "complex128", 16, false, false, false, 15},
}};

const DTypeRow& row(DType type) {
    return rows[static_cast<size_t>(type)];
}

/// A float of 8 or 4 bits: sign, exponent, mantissa.
struct SmallFloat {
    int bits, mantissaBits, bias;
    double largest;
    uint8_t infinity; ///< its magnitude's code; 0: it has none
    uint8_t nan;      ///< 0: it has none
    bool signedZero = true;

    uint8_t signBit() const { return static_cast<uint8_t>(1 << (bits - 1)); }
};

SmallFloat smallFloatOf(DType type) {
    switch (type) {
    case DType::Float8E5M2:
        return {8, 2, 15, 57344, 0x7c, 0x7f};
    case DType::Float8E4M3FNUZ:
        return {8, 3, 8, 240, 0, 0x80, false};
    case DType::Float8E5M2FNUZ:
        return {8, 2, 16, 57344, 0, 0x80, false};
    case DType::Float4E2M1:
        return {4, 1, 1, 6, 0, 0};
    default:
        return {8, 3, 7, 448, 0, 0x7f};
    }
}

constexpr int scaleBias = 127;
constexpr uint8_t noScale = 0xff; ///< NaN

uint8_t scaleAbove(float value, bool saturates) {
    const float magnitude = std::fabs(value);
    if (!std::isfinite(magnitude))
        return noScale;
    if (magnitude < std::numeric_limits<float>::min()) // 2^-126; below is 2^-127 or 0
        return magnitude > std::ldexp(1.0F, -scaleBias) ? 1 : 0;
    const int exponent = std::ilogb(magnitude);
    const int rounded = exponent + (std::ldexp(1.0F, exponent) < magnitude ? 1 : 0);
    if (rounded > scaleBias)
        return saturates ? noScale - 1 : noScale;
    return static_cast<uint8_t>(rounded + scaleBias);
}

/// What is beyond the largest number and does not become it.
uint8_t overflowOf(const SmallFloat& form, uint8_t sign) {
    if (!form.signedZero)
        return form.nan;
    return sign | (form.infinity ? form.infinity : form.nan);
}

} // namespace

const char* nameOf(DType type) {
    return row(type).name;
}

std::optional<DType> dtypeFromName(std::string_view name) {
    for (const DTypeRow& candidate : rows)
        if (name == candidate.name)
            return candidate.type;
    return std::nullopt;
}

int64_t onnxNumber(DType type) {
    return row(type).onnxNumber;
}

std::optional<DType> dtypeFromOnnx(int64_t number) {
    for (const DTypeRow& candidate : rows)
        if (number == candidate.onnxNumber)
            return candidate.type;
    return std::nullopt;
}

size_t sizeOf(DType type) {
    return row(type).size;
}

int bitsOf(DType type) {
    switch (type) {
    case DType::Int4:
    case DType::UInt4:
    case DType::Float4E2M1:
        return 4;
    case DType::Int2:
    case DType::UInt2:
        return 2;
    default:
        return static_cast<int>(8 * sizeOf(type));
    }
}

bool isPacked(DType type) {
    return bitsOf(type) == 4 || bitsOf(type) == 2;
}

bool isFloat(DType type) {
    return row(type).isFloat;
}

bool isInteger(DType type) {
    return row(type).isInteger;
}

bool isSigned(DType type) {
    return row(type).isSigned;
}

float halfToFloat(uint16_t bits) {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
    uint32_t exponent = (bits >> 10) & 31U;
    uint32_t mantissa = bits & 0x3ffU;
    if (exponent == 31)
        return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
    if (exponent == 0) {
        float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
        return sign ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t floatToHalf(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
    uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U)
        return static_cast<uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
    if (magnitude >= 0x477ff000U) // rounds to 65536 or more
        return static_cast<uint16_t>(sign | 0x7c00U);
    if (magnitude < 0x38800000U) { // below the smallest normal half
        float scaled = std::ldexp(std::bit_cast<float>(magnitude), 24);
        return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(scaled)));
    }
    uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

float bfloat16ToFloat(uint16_t bits) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t floatToBfloat16(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U)
        return static_cast<uint16_t>((bits >> 16) | 0x40U);
    return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

float float8ToFloat(DType type, uint8_t bits) {
    if (type == DType::Float8E8M0)
        return bits == noScale ? NAN : std::ldexp(1.0F, bits - scaleBias);
    const SmallFloat form = smallFloatOf(type);
    if (!form.signedZero && bits == form.nan)
        return NAN;
    const auto magnitude = static_cast<uint8_t>(bits & (form.signBit() - 1));
    const auto sign = static_cast<float>(bits & form.signBit() ? -1 : 1);
    if (form.infinity && magnitude == form.infinity)
        return sign * INFINITY;
    if (form.signedZero && form.nan && magnitude >= (form.infinity ? form.infinity : form.nan))
        return NAN;
    const int exponent = magnitude >> form.mantissaBits;
    const int mantissa = magnitude & ((1 << form.mantissaBits) - 1);
    const int implied = exponent > 0 ? 1 << form.mantissaBits : 0;
    return sign * std::ldexp(static_cast<float>(implied + mantissa),
                             (exponent > 0 ? exponent : 1) - form.bias - form.mantissaBits);
}

uint8_t floatToFloat8(DType type, float value, bool saturates) {
    if (type == DType::Float8E8M0)
        return scaleAbove(value, saturates);
    const SmallFloat form = smallFloatOf(type);
    if (std::isnan(value) && form.nan)
        return form.nan;
    const uint8_t sign = std::signbit(value) && !std::isnan(value) ? form.signBit() : uint8_t{0};
    if (std::isinf(value) && !form.signedZero)
        return form.nan;
    const double magnitude =
        std::isnan(value) ? form.largest : std::fabs(static_cast<double>(value));
    int exponent = 1 - form.bias;
    if (std::isfinite(magnitude) && magnitude > 0)
        exponent = std::max(exponent, std::ilogb(magnitude));
    const double steps = std::ldexp(magnitude, form.mantissaBits - exponent);
    double rounded = std::ldexp(std::nearbyint(steps), exponent - form.mantissaBits);
    if (!(rounded <= form.largest)) {
        if (!saturates && form.nan)
            return overflowOf(form, sign);
        rounded = form.largest;
    }
    if (rounded == 0 && !form.signedZero)
        return 0;
    exponent = rounded > 0 ? std::max(1 - form.bias, std::ilogb(rounded)) : 1 - form.bias;
    const auto mantissa = static_cast<int>(std::ldexp(rounded, form.mantissaBits - exponent));
    const int one = 1 << form.mantissaBits; // of a normal number
    const int field = mantissa < one ? 0 : exponent + form.bias;
    return static_cast<uint8_t>(sign | (field << form.mantissaBits) | (mantissa & (one - 1)));
}

double roundTo(DType type, double value) {
    switch (type) {
    case DType::Float32:
        return static_cast<float>(value);
    case DType::Float16:
        return halfToFloat(floatToHalf(static_cast<float>(value)));
    case DType::BFloat16:
        return bfloat16ToFloat(floatToBfloat16(static_cast<float>(value)));
    case DType::Float8E4M3FN:
    case DType::Float8E5M2:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2FNUZ:
    case DType::Float4E2M1:
    case DType::Float8E8M0:
        return float8ToFloat(type, floatToFloat8(type, static_cast<float>(value)));
    default:
        return value;
    }
}

int64_t wrapTo(DType type, int64_t value) {
    switch (type) {
    case DType::Int8:
        return static_cast<int8_t>(value);
    case DType::Int16:
        return static_cast<int16_t>(value);
    case DType::Int32:
        return static_cast<int32_t>(value);
    case DType::UInt8:
        return static_cast<uint8_t>(value);
    case DType::UInt16:
        return static_cast<uint16_t>(value);
    case DType::UInt32:
        return static_cast<uint32_t>(value);
    case DType::Int4:
        return static_cast<int8_t>(static_cast<uint8_t>(value) << 4) >> 4;
    case DType::UInt4:
        return value & 15;
    case DType::Int2:
        return static_cast<int8_t>(static_cast<uint8_t>(value) << 6) >> 6;
    case DType::UInt2:
        return value & 3;
    case DType::Bool:
        return value != 0;
    default:
        return value;
    }
}

} // namespace fuselage
