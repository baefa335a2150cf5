// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/tensor_map.h"

#include <cstring>

namespace simt {

namespace {

constexpr uint64_t mark = 0x70616d726f736e74;
constexpr int swizzleNone = 0, swizzle128 = 3;

struct Encoded {
    uint64_t mark, address;
    uint64_t strides[4];
    uint32_t lastIndex[5]; ///< one less than the dim, which may be 2^32
    uint16_t box[5];
    int16_t lower[3], upper[3];
    uint8_t steps[3];
    uint8_t rank, elementBytes, swizzle, pixels;
};

static_assert(sizeof(Encoded) <= 128);

/// Bytes of a CUtensorMapDataType; 0: packed or unknown.
size_t elementBytesOf(int type) {
    static constexpr size_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return type >= 0 && type < 13 ? bytes[type] : 0;
}

bool isMultiple(uint64_t number, uint64_t of) {
    return number % of == 0;
}

const char* checkDims(const TensorMapArguments& from, size_t bytes) {
    uint64_t inner = bytes;
    for (uint32_t d = 0; d < from.rank; ++d) {
        if (from.dims[d] == 0 || from.dims[d] > uint64_t{1} << 32)
            return "a dim must be from 1 to 2^32";
        if (d == 0) {
            inner *= from.dims[0];
            continue;
        }
        const uint64_t stride = from.strides[d - 1];
        if (!isMultiple(stride, 16) || stride >= uint64_t{1} << 40)
            return "a stride must be a multiple of 16 and less than 2^40";
        if (stride < inner)
            return "a stride must reach over the dims before it";
        inner = stride * from.dims[d];
    }
    return nullptr;
}

const char* checkSteps(const TensorMapArguments& from) {
    for (uint32_t d = 1; d < from.rank; ++d)
        if (from.elementStrides[d] == 0 || from.elementStrides[d] > 8)
            return "an element stride must be from 1 to 8";
    return nullptr;
}

/// `inner`: bytes of a row of the box.
const char* checkRows(const TensorMapArguments& from, size_t inner) {
    static constexpr size_t spans[] = {0, 32, 64, 128, 128, 128, 128};
    if (!isMultiple(inner, 16))
        return "the box's inner rows must be multiples of 16 bytes";
    if (from.swizzle != swizzleNone && inner > spans[from.swizzle])
        return "the box's inner rows must lie within the swizzle's span";
    return nullptr;
}

const char* checkBox(const TensorMapArguments& from, size_t bytes) {
    for (uint32_t d = 0; d < from.rank; ++d)
        if (from.box[d] == 0 || from.box[d] > 256)
            return "an extent of the box must be from 1 to 256";
    if (const char* broken = checkSteps(from))
        return broken;
    return checkRows(from, from.box[0] * bytes);
}

/// Bits of a corner, which has a sign, and of an offset, which has none, by the dims of places.
constexpr int placeBits[] = {0, 16, 8, 5};

const char* checkPixels(const TensorMapArguments& from, const PixelArguments& pixels,
                        size_t bytes) {
    if (from.rank < 3)
        return "the rank must be from 3 to 5";
    const int64_t least = -(int64_t{1} << (placeBits[from.rank - 2] - 1));
    for (uint32_t d = 0; d + 2 < from.rank; ++d) {
        for (const int corner : {pixels.lower[d], pixels.upper[d]})
            if (corner < least || corner >= -least)
                return "a corner of the box of pixels must be a signed number of 16 bits with one "
                       "dim of places, of 8 with two, of 5 with three";
        if (pixels.lower[d] > static_cast<int64_t>(from.dims[d + 1]) - 1 + pixels.upper[d])
            return "the box of pixels must not be empty";
    }
    if (pixels.channels == 0 || pixels.channels > 256)
        return "the channels of a pixel must be from 1 to 256";
    if (pixels.pixels == 0 || pixels.pixels > 1024)
        return "the pixels of a column must be from 1 to 1024";
    if (const char* broken = checkSteps(from))
        return broken;
    return checkRows(from, pixels.channels * bytes);
}

/// The rules of both functions.
const char* checkTensor(const void* map, const TensorMapArguments& from) {
    const size_t bytes = elementBytesOf(from.type);
    if (reinterpret_cast<uintptr_t>(map) % 64 != 0)
        return "the map must lie at a multiple of 64 bytes";
    if (bytes == 0 || from.interleave != 0 || from.promotion < 0 || from.promotion > 3 ||
        from.fill != 0)
        return "a type, interleave, promotion or fill that is not modelled";
    if (from.swizzle != swizzleNone && from.swizzle != swizzle128)
        return "a swizzle that is not modelled";
    if (from.rank == 0 || from.rank > 5)
        return "the rank must be from 1 to 5";
    if (reinterpret_cast<uintptr_t>(from.address) % 16 != 0)
        return "the tensor must lie at a multiple of 16 bytes";
    return checkDims(from, bytes);
}

Encoded encoded(const TensorMapArguments& from) {
    Encoded out{};
    out.mark = mark;
    out.address = reinterpret_cast<uintptr_t>(from.address);
    for (uint32_t d = 0; d < from.rank; ++d) {
        out.lastIndex[d] = static_cast<uint32_t>(from.dims[d] - 1);
        out.box[d] = 1;
        if (d > 0)
            out.strides[d - 1] = from.strides[d - 1];
    }
    out.rank = static_cast<uint8_t>(from.rank);
    out.elementBytes = static_cast<uint8_t>(elementBytesOf(from.type));
    out.swizzle = static_cast<uint8_t>(from.swizzle);
    return out;
}

void write(void* map, const Encoded& encoded) {
    std::memset(map, 0, 128);
    std::memcpy(map, &encoded, sizeof encoded);
}

} // namespace

const char* encodeTensorMap(void* map, const TensorMapArguments& from) {
    if (const char* broken = checkTensor(map, from))
        return broken;
    if (const char* broken = checkBox(from, elementBytesOf(from.type)))
        return broken;
    for (uint32_t d = 1; d < from.rank; ++d)
        if (from.elementStrides[d] != 1)
            return "element strides of boxes are not modelled";
    Encoded out = encoded(from);
    for (uint32_t d = 0; d < from.rank; ++d)
        out.box[d] = static_cast<uint16_t>(from.box[d]);
    write(map, out);
    return nullptr;
}

const char* encodePixelMap(void* map, const TensorMapArguments& from,
                           const PixelArguments& pixels) {
    if (const char* broken = checkTensor(map, from))
        return broken;
    if (const char* broken = checkPixels(from, pixels, elementBytesOf(from.type)))
        return broken;
    if (from.elementStrides[from.rank - 1] != 1)
        return "steps over images are not modelled";
    Encoded out = encoded(from);
    out.pixels = 1;
    out.box[0] = static_cast<uint16_t>(pixels.channels);
    out.box[1] = static_cast<uint16_t>(pixels.pixels);
    for (uint32_t d = 0; d + 2 < from.rank; ++d) {
        out.lower[d] = static_cast<int16_t>(pixels.lower[d]);
        out.upper[d] = static_cast<int16_t>(pixels.upper[d]);
        out.steps[d] = static_cast<uint8_t>(from.elementStrides[d + 1]);
    }
    write(map, out);
    return nullptr;
}

bool decodeTensorMap(const void* map, TensorMapFacts& out) {
    Encoded from;
    std::memcpy(&from, map, sizeof from);
    if (from.mark != mark)
        return false;
    out = {};
    out.address = reinterpret_cast<const std::byte*>(from.address);
    out.rank = from.rank;
    out.elementBytes = from.elementBytes;
    out.swizzled = from.swizzle == swizzle128;
    for (size_t d = 0; d < from.rank; ++d) {
        out.dims[d] = uint64_t{from.lastIndex[d]} + 1;
        out.strides[d] = d == 0 ? from.elementBytes : from.strides[d - 1];
        out.box[d] = from.box[d];
    }
    out.pixels = from.pixels != 0;
    if (!out.pixels)
        return true;
    for (size_t d = 1; d + 1 < from.rank; ++d) {
        out.first[d] = from.lower[d - 1];
        out.last[d] = static_cast<int64_t>(out.dims[d]) - 1 + from.upper[d - 1];
        out.steps[d] = from.steps[d - 1];
    }
    out.mostOffset = (uint32_t{1} << placeBits[from.rank - 2]) - 1;
    return true;
}

size_t TensorMapFacts::boxBytes() const {
    size_t out = elementBytes;
    for (size_t d = 0; d < rank; ++d)
        out *= box[d];
    return out;
}

size_t TensorMapFacts::tensorBytes() const {
    size_t out = elementBytes;
    for (size_t d = 0; d < rank; ++d)
        out += (dims[d] - 1) * strides[d];
    return out;
}

} // namespace simt
