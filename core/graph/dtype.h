// SPDX-License-Identifier: Apache-2.0
// Element types, named as in ONNX; the `to` and `dtype` attributes of operators hold ONNX's
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fuselage {

enum class DType : uint8_t {
    Undefined,
    Float32,
    Float16,
    BFloat16,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Bool,
    String,
    Float8E4M3FN,
    Float8E5M2,
    Int4, ///< one in a byte in memory; files have two
    UInt4,
    Float8E4M3FNUZ, ///< neither infinities nor a negative zero, whose code is the one NaN
    Float8E5M2FNUZ,
    Float4E2M1, ///< 0.5 to 6, neither infinities nor NaN; one in a byte in memory, files have two
    Int2,       ///< one in a byte in memory; files have four
    UInt2,
    Float8E8M0, ///< a power of two, 2^-127 to 2^127, or NaN: scales of blocks
    Complex64,  ///< kept as its bytes: no values are read from it
    Complex128,
};

/// "float", "float16", "int64" ...: the names of ONNX's textual syntax.
const char* nameOf(DType type);
std::optional<DType> dtypeFromName(std::string_view name);

/// ONNX's number of an element type (float 1, uint8 2 ...), as attributes hold it, and back.
int64_t onnxNumber(DType type);
std::optional<DType> dtypeFromOnnx(int64_t number);

/// Bytes of one element in memory; 0 for Undefined and String.
size_t sizeOf(DType type);

/// Bits of one element in a file.
int bitsOf(DType type);

/// Bits of one element in a file are fewer than those of a byte.
bool isPacked(DType type);

/// 8-bit and 4-bit floats, integers of 4 and 2 bits: values are stored so between QuantizeLinear
/// and DequantizeLinear, moved and cast; nothing computes on them. Nor on complex numbers, which
/// are no more than kept.
constexpr bool isStorageOnly(DType type) {
    return type >= DType::Float8E4M3FN;
}

constexpr bool isComplex(DType type) {
    return type == DType::Complex64 || type == DType::Complex128;
}

bool isFloat(DType type);

/// float16 and bfloat16: computed in float32 and rounded where they are stored.
constexpr bool isNarrowFloat(DType type) {
    return type == DType::Float16 || type == DType::BFloat16;
}

bool isInteger(DType type); ///< without Bool
bool isSigned(DType type);

/// Conversions of the 16-bit formats, round to nearest even, NaN kept.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float bfloat16ToFloat(uint16_t bits);
uint16_t floatToBfloat16(float value);

/// The same of a type of 8 or 4 bits; of Float8E8M0, which has no sign, the next power of two that
/// is not smaller. Numbers beyond the largest become the largest where it
/// saturates, else infinite, or NaN in a type without infinity; infinity does too, but is NaN in
/// the types without a negative zero. Float4E2M1 always saturates, and its NaN is 6.
/// ONNX: "Float stored in 8 bits", "Float stored in 4 bits".
float float8ToFloat(DType type, uint8_t bits);
uint8_t floatToFloat8(DType type, float value, bool saturates = true);

/// The value that `type` stores for `value` (round to nearest even); identity for Float64; types
/// of 8 and 4 bits saturate.
double roundTo(DType type, double value);

/// Wraps an integer as storing it in `type` would.
int64_t wrapTo(DType type, int64_t value);

} // namespace fuselage
