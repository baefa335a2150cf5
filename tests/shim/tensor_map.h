// SPDX-License-Identifier: Apache-2.0
// The stand-in for the driver's tensor maps: made by the rules of cuda.h for cuTensorMapEncodeTiled
// and cuTensorMapEncodeIm2col, and read by the shim's copies (tma.cpp). The real driver's maps look
// different.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace simt {

/// What both functions are told.
struct TensorMapArguments {
    int type = 0; ///< CUtensorMapDataType
    uint32_t rank = 0;
    const void* address = nullptr;
    const uint64_t* dims = nullptr;    ///< elements, innermost first
    const uint64_t* strides = nullptr; ///< bytes, of the dims from the second on
    const uint32_t* box = nullptr;     ///< of im2col mode none
    const uint32_t* elementStrides = nullptr;
    int interleave = 0, swizzle = 0, promotion = 0, fill = 0;
};

/// What cuTensorMapEncodeIm2col is told besides.
struct PixelArguments {
    const int *lower = nullptr, *upper = nullptr; ///< of the dims between channels and images
    uint32_t channels = 0, pixels = 0;
};

/// Each writes 128 bytes; else says which rule of the header is broken.
const char* encodeTensorMap(void* map, const TensorMapArguments& arguments);
const char* encodePixelMap(void* map, const TensorMapArguments& arguments,
                           const PixelArguments& pixels);

struct TensorMapFacts {
    const std::byte* address = nullptr;
    uint32_t rank = 0;
    size_t elementBytes = 0;
    bool swizzled = false; ///< units of 16 bytes within 128
    std::array<uint64_t, 5> dims{}, strides{};
    std::array<uint32_t, 5> box{};          ///< of im2col mode: channels, then pixels
    bool pixels = false;                    ///< of im2col mode, with what follows:
    std::array<int64_t, 5> first{}, last{}; ///< places that the filter's base may take
    std::array<uint32_t, 5> steps{};
    uint32_t mostOffset = 0;

    size_t boxBytes() const;
    size_t tensorBytes() const; ///< from the first element to the end of the last
};

/// False for memory that neither function wrote.
bool decodeTensorMap(const void* map, TensorMapFacts& out);

} // namespace simt
