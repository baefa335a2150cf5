// SPDX-License-Identifier: Apache-2.0
// Single elements of any type, for loops over types that no library has.
#pragma once

#include "core/graph/dtype.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fuselage::cpu {

template <typename T> T plainAt(const std::byte* data, int64_t index) {
    T value;
    std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
}

/// Of any type, as the accumulator's.
template <typename Acc> Acc elementAs(DType type, const std::byte* data, int64_t index) {
    switch (type) {
    case DType::Float32:
        return static_cast<Acc>(plainAt<float>(data, index));
    case DType::Float64:
        return static_cast<Acc>(plainAt<double>(data, index));
    case DType::Float16:
        return static_cast<Acc>(halfToFloat(plainAt<uint16_t>(data, index)));
    case DType::BFloat16:
        return static_cast<Acc>(bfloat16ToFloat(plainAt<uint16_t>(data, index)));
    case DType::Int8:
        return static_cast<Acc>(plainAt<int8_t>(data, index));
    case DType::Int16:
        return static_cast<Acc>(plainAt<int16_t>(data, index));
    case DType::Int32:
        return static_cast<Acc>(plainAt<int32_t>(data, index));
    case DType::UInt8:
    case DType::Bool:
        return static_cast<Acc>(plainAt<uint8_t>(data, index));
    case DType::UInt16:
        return static_cast<Acc>(plainAt<uint16_t>(data, index));
    case DType::UInt32:
        return static_cast<Acc>(plainAt<uint32_t>(data, index));
    default:
        return static_cast<Acc>(plainAt<int64_t>(data, index));
    }
}

template <typename Acc> void storeAs(DType type, std::byte* data, int64_t index, Acc value) {
    auto put = [&](auto narrow) {
        std::memcpy(data + index * static_cast<int64_t>(sizeof narrow), &narrow, sizeof narrow);
    };
    switch (type) {
    case DType::Float32:
        return put(static_cast<float>(value));
    case DType::Float64:
        return put(static_cast<double>(value));
    default:
        break;
    }
    auto integer = static_cast<int64_t>(value);
    switch (sizeOf(type)) {
    case 1:
        return put(static_cast<uint8_t>(integer));
    case 2:
        return put(static_cast<uint16_t>(integer));
    case 4:
        return put(static_cast<uint32_t>(integer));
    default:
        return put(integer);
    }
}

} // namespace fuselage::cpu
