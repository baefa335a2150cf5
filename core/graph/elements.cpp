// SPDX-License-Identifier: Apache-2.0
#include "core/graph/elements.h"

#include <cstring>

namespace fuselage {

namespace {

template <typename T, typename Wide>
void widen(const std::byte* data, int64_t first, std::span<Wide> out) {
    data += static_cast<size_t>(first) * sizeof(T);
    for (size_t i = 0; i < out.size(); ++i) {
        T value;
        std::memcpy(&value, data + i * sizeof(T), sizeof(T));
        out[i] = static_cast<Wide>(value);
    }
}

template <typename T, typename Wide>
void narrow(std::byte* data, int64_t first, std::span<const Wide> values) {
    data += static_cast<size_t>(first) * sizeof(T);
    for (size_t i = 0; i < values.size(); ++i) {
        const T value = static_cast<T>(values[i]);
        std::memcpy(data + i * sizeof(T), &value, sizeof(T));
    }
}

} // namespace

void readFloats(const Tensor& tensor, int64_t first, std::span<double> out) {
    switch (tensor.dtype()) {
    case DType::Float32:
        return widen<float>(tensor.bytes(), first, out);
    case DType::Float64:
        return widen<double>(tensor.bytes(), first, out);
    default:
        for (size_t i = 0; i < out.size(); ++i)
            out[i] = tensor.at(first + static_cast<int64_t>(i));
    }
}

void readInts(const Tensor& tensor, int64_t first, std::span<int64_t> out) {
    switch (tensor.dtype()) {
    case DType::Int8:
    case DType::Int4:
    case DType::Int2:
        return widen<int8_t>(tensor.bytes(), first, out);
    case DType::UInt8:
    case DType::UInt4:
    case DType::UInt2:
        return widen<uint8_t>(tensor.bytes(), first, out);
    case DType::Int16:
        return widen<int16_t>(tensor.bytes(), first, out);
    case DType::UInt16:
        return widen<uint16_t>(tensor.bytes(), first, out);
    case DType::Int32:
        return widen<int32_t>(tensor.bytes(), first, out);
    case DType::UInt32:
        return widen<uint32_t>(tensor.bytes(), first, out);
    case DType::Int64:
    case DType::UInt64:
        return widen<int64_t>(tensor.bytes(), first, out);
    case DType::Bool:
        widen<uint8_t>(tensor.bytes(), first, out);
        for (int64_t& value : out)
            value = value != 0 ? 1 : 0;
        return;
    default:
        for (size_t i = 0; i < out.size(); ++i)
            out[i] = tensor.intAt(first + static_cast<int64_t>(i));
    }
}

void writeFloats(Tensor& tensor, int64_t first, std::span<const double> values) {
    switch (tensor.dtype()) {
    case DType::Float32:
        return narrow<float>(tensor.bytes(), first, values);
    case DType::Float64:
        return narrow<double>(tensor.bytes(), first, values);
    default:
        for (size_t i = 0; i < values.size(); ++i)
            tensor.set(first + static_cast<int64_t>(i), values[i]);
    }
}

void writeInts(Tensor& tensor, int64_t first, std::span<const int64_t> values) {
    switch (tensor.dtype()) {
    case DType::Int8:
    case DType::UInt8:
        return narrow<uint8_t>(tensor.bytes(), first, values);
    case DType::Int16:
    case DType::UInt16:
        return narrow<uint16_t>(tensor.bytes(), first, values);
    case DType::Int32:
    case DType::UInt32:
        return narrow<uint32_t>(tensor.bytes(), first, values);
    case DType::Int64:
    case DType::UInt64:
        return narrow<int64_t>(tensor.bytes(), first, values);
    default:
        for (size_t i = 0; i < values.size(); ++i)
            tensor.setInt(first + static_cast<int64_t>(i), values[i]);
    }
}

} // namespace fuselage
