// SPDX-License-Identifier: Apache-2.0
#include "core/graph/dtype.h"

#include <array>
#include <bit>
#include <cmath>

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

constexpr std::array<DTypeRow, 15> rows{{
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
}};

const DTypeRow& row(DType type) {
    return rows[static_cast<size_t>(type)];
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

double roundTo(DType type, double value) {
    switch (type) {
    case DType::Float32:
        return static_cast<float>(value);
    case DType::Float16:
        return halfToFloat(floatToHalf(static_cast<float>(value)));
    case DType::BFloat16:
        return bfloat16ToFloat(floatToBfloat16(static_cast<float>(value)));
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
    case DType::Bool:
        return value != 0;
    default:
        return value;
    }
}

} // namespace fuselage
