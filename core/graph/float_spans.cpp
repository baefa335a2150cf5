// SPDX-License-Identifier: Apache-2.0
#include "core/graph/float_spans.h"

#include <bit>
#include <cassert>
#include <cstddef>

// Compiled for each width of vectors, and chosen when the program is loaded.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define FUSELAGE_EACH_WIDTH __attribute__((target_clones("avx2", "default")))
#else
#define FUSELAGE_EACH_WIDTH
#endif

namespace fuselage {

namespace {

constexpr uint32_t signBit = 0x80000000U, infinity = 0x7f800000U; // of a float's bits

uint16_t half(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits & signBit) >> 16;
    const uint32_t magnitude = bits & ~signBit;
    // Added to a half, numbers below the smallest normal half are rounded to its last bits.
    constexpr float toLastBits = 0.5F;
    const uint32_t below = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + toLastBits) -
                           std::bit_cast<uint32_t>(toLastBits);
    const uint32_t normal = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13;
    const uint32_t none = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
    uint32_t out = magnitude < 0x38800000U ? below : normal;
    out = magnitude >= 0x477ff000U ? 0x7c00U : out;
    out = magnitude > infinity ? none : out;
    return static_cast<uint16_t>(sign | out);
}

uint16_t bfloat16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    const uint32_t none = (bits >> 16) | 0x40U;
    return static_cast<uint16_t>((bits & ~signBit) > infinity ? none : rounded);
}

/// Integers in the order of the floats whose bits they are; it is its own inverse.
int32_t ordered(int32_t bits) {
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

} // namespace

FUSELAGE_EACH_WIDTH void floatsToHalves(std::span<const float> from, std::span<uint16_t> to) {
    assert(from.size() == to.size());
    const float* in = from.data();
    uint16_t* out = to.data();
    for (size_t i = 0; i < from.size(); ++i)
        out[i] = half(in[i]);
}

FUSELAGE_EACH_WIDTH void floatsToBfloats16(std::span<const float> from, std::span<uint16_t> to) {
    assert(from.size() == to.size());
    const float* in = from.data();
    uint16_t* out = to.data();
    for (size_t i = 0; i < from.size(); ++i)
        out[i] = bfloat16(in[i]);
}

FUSELAGE_EACH_WIDTH FloatRange rangeOf(std::span<const float> values) {
    constexpr int32_t above = infinity, under = -above - 1; // of the finite ones, in order
    int32_t low = above, high = under, least = above;
    const float* in = values.data();
    for (size_t i = 0; i < values.size(); ++i) {
        const auto bits = std::bit_cast<int32_t>(in[i]);
        const int32_t magnitude = bits & 0x7fffffff, at = ordered(bits);
        const int32_t asLow = magnitude < above ? at : above;
        const int32_t asHigh = magnitude < above ? at : under;
        const int32_t asLeast = magnitude > 0 ? magnitude : above;
        low = asLow < low ? asLow : low;
        high = asHigh > high ? asHigh : high;
        least = asLeast < least ? asLeast : least;
    }
    return {std::bit_cast<float>(ordered(low)), std::bit_cast<float>(ordered(high)),
            std::bit_cast<float>(least)};
}

} // namespace fuselage
