// SPDX-License-Identifier: Apache-2.0
// Convolutions whose taps TMA fetches by im2col mode: which are taken, up to the last number that a
// tensor map and the instruction have bits for, and what is fetched. Mistakes in the text:
// mutants_test.cpp.
#include "gpu/backend/busy_share.h"
#include "gpu/kernels/variant_table.h"
#include "tests/shim/suite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace {

using namespace fuselage;
using namespace fuselage::gpu_suite;

struct Picture {
    int64_t images = 2, channels = 64, height = 12, width = 12, results = 64;
    int64_t down = 3, along = 3; ///< taps
    int64_t stride = 1, dilation = 1, pad = 1, groups = 1;
    const char* type = "float16";
    bool last = true; ///< channels innermost
};

/// One spatial dim where the picture is no rows high.
std::string bodyOf(const Picture& p) {
    const bool isLine = p.height == 0;
    const auto both = [&](int64_t down, int64_t along) {
        return isLine ? fmt::format("{}", along) : fmt::format("{},{}", down, along);
    };
    const auto results = [&](int64_t in, int64_t taps) {
        return (in + 2 * p.pad - (taps - 1) * p.dilation - 1) / p.stride + 1;
    };
    return fmt::format(
        "({0}[{1},{2},{3}] x, {0}[{4},{5},{6}] w) => ({0}[{1},{4},{7}] y) {{ y = "
        "Conv<kernel_shape=[{6}], strides=[{8}], dilations=[{9}], pads=[{10},{10}], "
        "group={11}>(x, w) }}",
        p.type, p.images, p.channels, both(p.height, p.width), p.results, p.channels / p.groups,
        both(p.down, p.along), both(results(p.height, p.down), results(p.width, p.along)),
        both(p.stride, p.stride), both(p.dilation, p.dilation), both(p.pad, p.pad), p.groups);
}

Prepared preparedOf(const Picture& picture, int units = 0) {
    Case source;
    source.bodies = {bodyOf(picture)};
    source.constants = "in1";
    source.capability = 90;
    source.units = units;
    if (picture.last)
        for (const char* operand : {"in0", "out0"})
            source.placements[operand] = {picture.height == 0 ? std::vector<uint32_t>{0, 2, 1}
                                                              : std::vector<uint32_t>{0, 2, 3, 1}};
    return prepare(source);
}

/// Why the variant does not take it; empty: it does.
std::string whyNot(const Picture& picture, const std::string& variant = "tma_im2col_128x64") {
    const Prepared prepared = preparedOf(picture);
    if (!prepared.program)
        return "it does not lower";
    for (const gpu::VariantRow& row : gpu::kernelVariants())
        if (row.name == variant) {
            const gpu::EmitResult result = row.emit(prepared.request);
            const auto* reason = std::get_if<Reason>(&result);
            return reason == nullptr ? "" : reason->text();
        }
    return "there is no such variant";
}

void expectRefused(const Picture& picture, const char* words) {
    const std::string why = whyNot(picture);
    EXPECT_NE(why.find(words), std::string::npos) << words << ": `" << why << "`";
}

TEST(Pixels, areThoseOfOneGroupWithChannelsInnermost) {
    EXPECT_EQ(whyNot({}), "");
    EXPECT_EQ(whyNot({.type = "bfloat16"}), "");
    expectRefused({.groups = 2}, "one group");
    expectRefused({.last = false}, "channels innermost");
    expectRefused({.channels = 60}, "a stride of");
    expectRefused({.type = "float"}, "TF32");
    expectRefused({.channels = 8}, "leave most of a stage empty");
    expectRefused({.images = 1, .height = 6, .width = 6}, "idle");
}

TEST(Pixels, thatAreBoxesAreLeftToThese) {
    const Picture point{.down = 1, .along = 1, .pad = 0};
    expectRefused(point, "its rows are boxes");
    EXPECT_EQ(whyNot(point, "tma_128x64"), "");
    EXPECT_EQ(whyNot({.height = 24, .down = 1, .along = 1, .stride = 2, .pad = 0}), "");
    EXPECT_EQ(whyNot({.down = 1, .along = 1, .pad = 1}), "");
}

TEST(Pixels, goAsFarAsMapsAndInstructionsHaveBits) {
    EXPECT_EQ(whyNot({.height = 60, .width = 60, .stride = 8}), "");
    expectRefused({.height = 60, .width = 60, .stride = 9}, "more than 8");
    // Offsets of 8 bits: the last tap lies at 2 * 127 and at 2 * 128.
    EXPECT_EQ(whyNot({.height = 20, .width = 20, .dilation = 127, .pad = 127}), "");
    expectRefused({.height = 20, .width = 20, .dilation = 128, .pad = 128}, "than an offset");
    // Corners of 8 bits: -128 below, 127 above.
    EXPECT_EQ(whyNot({.height = 20, .width = 20, .dilation = 120, .pad = 128}), "");
    expectRefused({.height = 20, .width = 20, .dilation = 120, .pad = 129}, "than a corner");
    EXPECT_EQ(whyNot({.down = 1, .along = 1, .pad = 127}), "");
    expectRefused({.down = 1, .along = 1, .pad = 128}, "than a corner");
    // Of one spatial dim both have 16.
    EXPECT_EQ(whyNot({.height = 0, .width = 400, .stride = 2, .dilation = 300, .pad = 300}), "");
}

/// The third layer's convolution in steps of two at batch 32, as an H200 would run it.
TEST(Pixels, areFetchedOnceATapAndByPairsTogether) {
    auto profile = deviceProfile("h200");
    ASSERT_TRUE(profile);
    Prepared prepared = preparedOf(
        {.images = 32, .channels = 128, .height = 56, .width = 56, .results = 128, .stride = 2});
    ASSERT_TRUE(prepared.program);
    prepared.request.profile = &*profile;
    double alone = 0, together = 0;
    for (const gpu::KernelSet& set : gpu::emitAll(prepared.request).accepted) {
        if (set.variant == "tma_im2col_192x128")
            alone = set.fetches.bytes;
        if (set.variant == "tma_im2col_192x128_pair")
            together = set.fetches.bytes;
    }
    EXPECT_EQ(alone,
              131.0 * 18 * (192 + 128) * 128); // tiles, taps in two slices, rows of 128 bytes
    EXPECT_EQ(together, 132.0 * 18 * (192 + 64) * 128);
}

/// What the channels of a tap leave of a stage is counted, and is part of the price.
TEST(Pixels, thatDoNotFillAStageAreDearer) {
    const std::pair<int64_t, double> sizes[] = {
        {64, 1}, {48, 7.0 / 9}, {72, 11.0 / 18}}; // 432 channels of all taps: seven stages of 64
    for (const auto& [channels, filled] : sizes) {
        SCOPED_TRACE(channels);
        const Prepared prepared = preparedOf({.channels = channels}, 2);
        size_t found = 0;
        for (gpu::KernelSet& set : gpu::emitAll(prepared.request).accepted) {
            if (set.variant != "tma_im2col_128x64")
                continue;
            ++found;
            EXPECT_EQ(set.fetches.filled, filled);
            const double busy = gpu::busyShare(prepared.request, set);
            set.fetches.filled = 1;
            EXPECT_DOUBLE_EQ(busy, gpu::busyShare(prepared.request, set) * filled);
        }
        EXPECT_EQ(found, 1U);
    }
}

} // namespace
