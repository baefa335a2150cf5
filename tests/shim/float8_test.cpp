// SPDX-License-Identifier: Apache-2.0
// Floats of 8 bits as kernels read and round them, against the house's own: every code, and numbers
// at, between and beside the codes.
#include "core/graph/dtype.h"
#include "tests/shim/simt.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

// In a namespace, since other files of the test compile these functions with instrumentation.
namespace device {
// clang-format off
#include "gpu/device/types.cuh"
#include "gpu/device/float8.cuh"
// clang-format on
} // namespace device

namespace {

using namespace fuselage;

template <typename Format> void expectAgreement(DType type) {
    for (unsigned code = 0; code < 256; ++code) {
        const float got = Format::decode(code);
        const float want = float8ToFloat(type, static_cast<uint8_t>(code));
        EXPECT_TRUE(std::isnan(want)
                        ? std::isnan(got)
                        : std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(want))
            << nameOf(type) << ", code " << code << ": " << got << ", wanted " << want;
    }
    auto expectRounded = [&](float x) {
        const unsigned largest = Format::template encode<true>(x),
                       beyond = Format::template encode<false>(x);
        EXPECT_EQ(largest, floatToFloat8(type, x, true)) << nameOf(type) << ", " << x;
        EXPECT_EQ(beyond, floatToFloat8(type, x, false)) << nameOf(type) << ", " << x;
    };
    for (unsigned low = 0; low < 256; ++low)
        for (unsigned high : {low, low + 1}) {
            const float between = (float8ToFloat(type, static_cast<uint8_t>(low)) +
                                   float8ToFloat(type, static_cast<uint8_t>(high))) /
                                  2;
            for (uint32_t beside : {uint32_t{0}, uint32_t{1}, ~uint32_t{0}})
                expectRounded(std::bit_cast<float>(std::bit_cast<uint32_t>(between) + beside));
        }
    for (uint32_t bits = 0; bits < 65536; ++bits)
        expectRounded(std::bit_cast<float>(bits << 16));
}

TEST(Float8, hasTheHousesCodes) {
    expectAgreement<device::Float8E4M3FN>(DType::Float8E4M3FN);
    expectAgreement<device::Float8E5M2>(DType::Float8E5M2);
    expectAgreement<device::Float8E4M3FNUZ>(DType::Float8E4M3FNUZ);
    expectAgreement<device::Float8E5M2FNUZ>(DType::Float8E5M2FNUZ);
}

} // namespace
