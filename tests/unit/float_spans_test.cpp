// SPDX-License-Identifier: Apache-2.0
// The loops over weights beside the conversions of one element, for floats of every exponent.
#include "core/graph/float_spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace fuselage {
namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

/// Every upper half of a float's bits, each with lower halves around what rounding asks for.
std::vector<float> everyExponent() {
    std::vector<float> out;
    for (uint32_t upper = 0; upper <= 0xffff; ++upper)
        for (uint32_t lower : {0x0000U, 0x0001U, 0x0fffU, 0x1000U, 0x1001U, 0x7fffU, 0x8000U,
                               0x8001U, 0xefffU, 0xf000U, 0xf001U, 0xffffU})
            out.push_back(std::bit_cast<float>((upper << 16) | lower));
    return out;
}

TEST(FloatSpans, EachElementIsConvertedAsItIsAlone) {
    const std::vector<float> values = everyExponent();
    std::vector<uint16_t> halves(values.size()), bfloats(values.size());
    floatsToHalves(values, halves);
    floatsToBfloats16(values, bfloats);
    for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(halves[i], floatToHalf(values[i])) << std::hexfloat << values[i];
        ASSERT_EQ(bfloats[i], floatToBfloat16(values[i])) << std::hexfloat << values[i];
    }
}

TEST(FloatSpans, EveryLengthIsConvertedWhole) {
    const std::vector<float> values(67, 1.5F);
    for (size_t length = 0; length <= values.size(); ++length) {
        std::vector<uint16_t> out(length + 1, 0xdead);
        floatsToHalves(std::span(values).first(length), std::span(out).first(length));
        for (size_t i = 0; i < length; ++i)
            ASSERT_EQ(out[i], floatToHalf(1.5F)) << length;
        ASSERT_EQ(out[length], 0xdead) << length;
    }
}

TEST(FloatSpans, ARangeIsThatOfTheFiniteElements) {
    const std::vector<float> odd = {infinite, -infinite, std::nanf(""), -std::nanf(""), 0.0F,
                                    -0.0F,    1e-45F,    -1e-45F,       3.4e38F,        -3.4e38F};
    std::mt19937 draw(7);
    for (int round = 0; round < 2000; ++round) {
        std::vector<float> values(draw() % 40);
        float low = infinite, high = -infinite, least = infinite;
        for (float& value : values) {
            value = draw() % 3 == 0 ? odd[draw() % odd.size()]
                                    : std::bit_cast<float>(static_cast<uint32_t>(draw()));
            if (!std::isfinite(value))
                continue;
            low = std::min(low, value);
            high = std::max(high, value);
            if (value != 0)
                least = std::min(least, std::fabs(value));
        }
        const FloatRange range = rangeOf(values);
        EXPECT_EQ(range.lowest, low);
        EXPECT_EQ(range.highest, high);
        EXPECT_EQ(range.leastMagnitude, least);
    }
}

} // namespace
} // namespace fuselage
