// SPDX-License-Identifier: Apache-2.0
// The stand-in for the driver's tensor maps: made by the rules of cuda.h for cuTensorMapEncodeTiled
// and read by the shim's copies (tma.cpp). The real driver's maps look different.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace simt {

/// Arguments of cuTensorMapEncodeTiled, in its order.
struct TensorMapArguments {
    int type = 0; ///< CUtensorMapDataType
    uint32_t rank = 0;
    const void* address = nullptr;
    const uint64_t* dims = nullptr;    ///< elements, innermost first
    const uint64_t* strides = nullptr; ///< bytes, of the dims from the second on
    const uint32_t* box = nullptr;
    const uint32_t* elementStrides = nullptr;
    int interleave = 0, swizzle = 0, promotion = 0, fill = 0;
};

/// Writes 128 bytes; else says which rule of the header is broken.
const char* encodeTensorMap(void* map, const TensorMapArguments& arguments);

struct TensorMapFacts {
    const std::byte* address = nullptr;
    uint32_t rank = 0;
    size_t elementBytes = 0;
    bool swizzled = false; ///< units of 16 bytes within 128
    std::array<uint64_t, 5> dims{}, strides{};
    std::array<uint32_t, 5> box{};

    size_t boxBytes() const;
    size_t tensorBytes() const; ///< from the first element to the end of the last
};

/// False for memory that no encodeTensorMap() wrote.
bool decodeTensorMap(const void* map, TensorMapFacts& out);

} // namespace simt
