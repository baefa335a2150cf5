// SPDX-License-Identifier: Apache-2.0
#include "tests/fakecuda/libraries/strided.h"

#include "tests/fakecuda/fake_state.h"

#include <bit>
#include <cstring>

namespace fakelibs {

namespace {

float fromBFloat16(uint16_t bits) {
    return std::bit_cast<float>(uint32_t{bits} << 16);
}

uint16_t toBFloat16(float value) {
    auto bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U)
        return static_cast<uint16_t>(bits >> 16 | 0x40U);
    bits += 0x7fffU + (bits >> 16 & 1U);
    return static_cast<uint16_t>(bits >> 16);
}

template <typename T> T peek(const void* from) {
    T out;
    std::memcpy(&out, from, sizeof out);
    return out;
}

template <typename T> void poke(void* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

} // namespace

size_t sizeOf(Element type) {
    if (type == Element::Int8 || type == Element::UInt8)
        return 1;
    return type == Element::Float32 || type == Element::Int32 ? 4 : 2;
}

double load(const void* from, Element type) {
    switch (type) {
    case Element::Float32:
        return peek<float>(from);
    case Element::Float16:
        return static_cast<double>(peek<_Float16>(from));
    case Element::BFloat16:
        return fromBFloat16(peek<uint16_t>(from));
    case Element::Int8:
        return peek<int8_t>(from);
    case Element::UInt8:
        return peek<uint8_t>(from);
    case Element::Int32:
        return peek<int32_t>(from);
    }
    return 0;
}

void store(void* to, Element type, double value) {
    switch (type) {
    case Element::Float32:
        return poke(to, static_cast<float>(value));
    case Element::Float16:
        return poke(to, static_cast<_Float16>(static_cast<float>(value)));
    case Element::BFloat16:
        return poke(to, toBFloat16(static_cast<float>(value)));
    case Element::Int8:
        return poke(to, static_cast<int8_t>(value));
    case Element::UInt8:
        return poke(to, static_cast<uint8_t>(value));
    case Element::Int32:
        return poke(to, static_cast<int32_t>(value));
    }
}

double rounded(Element type, double value) {
    uint32_t bits = 0;
    store(&bits, type, value);
    return load(&bits, type);
}

int64_t countOf(const Numbers& extents) {
    int64_t out = 1;
    for (int64_t extent : extents)
        out *= extent;
    return out;
}

int64_t Strided::offsetOf(int64_t element) const {
    int64_t out = 0;
    for (size_t d = extents.size(); d-- > 0; element /= extents[d])
        out += element % extents[d] * strides[d];
    return out;
}

size_t Strided::spanBytes() const {
    int64_t last = 0;
    for (size_t d = 0; d < extents.size(); ++d)
        last += (extents[d] - 1) * strides[d];
    return static_cast<size_t>(last + 1) * sizeOf(type);
}

bool onDevice(const void* address, size_t bytes) {
    const fakecuda::Allocation* found = fakecuda::find(reinterpret_cast<uint64_t>(address), bytes);
    return found != nullptr && !found->pinned;
}

std::vector<double> read(const void* address, const Strided& tensor) {
    std::vector<double> out(static_cast<size_t>(countOf(tensor.extents)));
    for (size_t i = 0; i < out.size(); ++i) {
        const int64_t offset = tensor.offsetOf(static_cast<int64_t>(i));
        out[i] = load(static_cast<const std::byte*>(address) +
                          offset * static_cast<int64_t>(sizeOf(tensor.type)),
                      tensor.type);
    }
    return out;
}

void write(void* address, const Strided& tensor, const std::vector<double>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
        const int64_t offset = tensor.offsetOf(static_cast<int64_t>(i));
        store(static_cast<std::byte*>(address) + offset * static_cast<int64_t>(sizeOf(tensor.type)),
              tensor.type, values[i]);
    }
}

} // namespace fakelibs
