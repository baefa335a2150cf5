// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory and copies of boxes and of pixels in the shim: what lands where, and
// that each step that a device needs is missed when it is not there. Tensor maps: every rule of the
// driver's header.
#include "tests/shim/simt_launch.h"
#include "tests/shim/tensor_map.h"
#include "tests/shim/tma_kernels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace {

struct alignas(64) Map {
    unsigned char bytes[128];
};

constexpr int float32 = 7, swizzle128 = 3;

struct Result {
    std::vector<float> out = std::vector<float>(size_t{tma::tiles} * 32);
    std::string message;
};

float at(int row, int column) {
    return static_cast<float>((row * 31 + column * 7) % 23);
}

float at(int image, int row, int column, int channel) {
    return at(image * 31 + row * 7 + column, channel);
}

/// What the kernel does with `tensor` by a map.
Result resultBy(const Map& map, tma::Steps& steps, bool early) {
    Result result;
    void* const arguments[] = {&steps, const_cast<Map*>(&map), result.out.data()};
    result.message =
        simt::tryRun(
            {"ring", tma::ring, arguments, {1, 1, 1}, {64, 1, 1}, tma::ringBytes + 32, early})
            .message;
    return result;
}

/// Images of 30 channels, which a pixel of the map has two more of: these are zeros.
Result resultOfPixels(tma::Steps steps, bool early) {
    const size_t pixels = size_t{tma::images} * tma::height * tma::width;
    const size_t floats = (pixels - 1) * tma::pitch + tma::columns;
    simt::GuardedMemory memory((floats * 4 + 15) / 16 * 16);
    auto* const tensor = reinterpret_cast<float*>(memory.data());
    for (int image = 0; image < tma::images; ++image)
        for (int row = 0; row < tma::height; ++row)
            for (int column = 0; column < tma::width; ++column)
                for (int channel = 0; channel < tma::columns; ++channel)
                    tensor[((image * tma::height + row) * tma::width + column) * tma::pitch +
                           channel] = at(image, row, column, channel);
    Map map;
    constexpr uint64_t pitch = tma::pitch * 4;
    const uint64_t dims[] = {tma::columns, tma::width, tma::height, tma::images};
    const uint64_t strides[] = {pitch, pitch * tma::width, pitch * tma::width * tma::height};
    const uint32_t elementStrides[] = {1, tma::stepAlong, tma::stepDown, 1};
    const int lower[] = {-1, -1}, upper[] = {-1, -1};
    const char* broken = simt::encodePixelMap(
        &map, {float32, 4, tensor, dims, strides, nullptr, elementStrides, 0, swizzle128, 0, 0},
        {lower, upper, tma::boxColumns, tma::boxRows});
    EXPECT_EQ(broken, nullptr) << broken;
    steps.pixels = true;
    return resultBy(map, steps, early);
}

/// The tensor ends with its last element: a copy that reads behind it faults.
Result resultOf(tma::Steps steps, bool early) {
    if (steps.pixels)
        return resultOfPixels(steps, early);
    const size_t floats = size_t{tma::rows - 1} * tma::pitch + tma::columns;
    simt::GuardedMemory memory((floats * 4 + 15) / 16 * 16);
    auto* const tensor = reinterpret_cast<float*>(memory.data());
    for (int row = 0; row < tma::rows; ++row)
        for (int column = 0; column < tma::columns; ++column)
            tensor[row * tma::pitch + column] = at(row, column);
    Map map;
    const uint64_t dims[] = {tma::columns, tma::rows}, strides[] = {tma::pitch * 4};
    const uint32_t box[] = {tma::boxColumns, tma::boxRows}, ones[] = {1, 1};
    const char* broken = simt::encodeTensorMap(
        &map, {float32, 2, tensor, dims, strides, box, ones, 0, swizzle128, 0, 0});
    EXPECT_EQ(broken, nullptr) << broken;
    return resultBy(map, steps, early);
}

TEST(Tma, boxesLandWithTheSwizzleAndZerosBehindTheEnd) {
    for (const bool early : {false, true}) {
        const Result result = resultOf({}, early);
        ASSERT_EQ(result.message, "");
        for (int tile = 0; tile < tma::tiles; ++tile)
            for (int column = 0; column < 32; ++column) {
                float wanted = 0;
                for (int i = 0; i < 8; ++i)
                    if (const int row = tile * 8 + i; row < tma::rows && column < tma::columns)
                        wanted += static_cast<float>(i + 1) * at(row, column);
                ASSERT_EQ(result.out[static_cast<size_t>(tile * 32 + column)], wanted)
                    << "tile " << tile << ", column " << column;
            }
    }
}

/// What pixel number `pixel` of all results holds of a channel for the tap at `offset`.
float pixelAt(int pixel, int channel, const unsigned short (&offset)[2]) {
    const int image = pixel / (tma::along * tma::down);
    const int row = pixel / tma::along % tma::down * tma::stepDown - 1 + offset[1];
    const int column = pixel % tma::along * tma::stepAlong - 1 + offset[0];
    const bool inside = image < tma::images && row >= 0 && row < tma::height && column >= 0 &&
                        column < tma::width && channel < tma::columns;
    return inside ? at(image, row, column, channel) : 0;
}

/// Every tap of a 3 x 3 filter, columns that go on in the next row and image, borders, steps.
TEST(Tma, pixelsAreThoseOfTheFiltersPlaces) {
    static_assert(tma::along == (tma::width + 2 - 3) / tma::stepAlong + 1 &&
                  tma::down == (tma::height + 2 - 3) / tma::stepDown + 1);
    for (unsigned tap = 0; tap < 9; ++tap)
        for (const bool early : {false, true}) {
            tma::Steps steps;
            steps.offset[0] = static_cast<unsigned short>(tap % 3);
            steps.offset[1] = static_cast<unsigned short>(tap / 3);
            const Result result = resultOfPixels(steps, early);
            ASSERT_EQ(result.message, "");
            for (int tile = 0; tile < tma::tiles; ++tile)
                for (int channel = 0; channel < 32; ++channel) {
                    float wanted = 0;
                    for (int i = 0; i < 8; ++i)
                        wanted += static_cast<float>(i + 1) *
                                  pixelAt(tile * 8 + i, channel, steps.offset);
                    ASSERT_EQ(result.out[static_cast<size_t>(tile * 32 + channel)], wanted)
                        << "tap " << tap << ", tile " << tile << ", channel " << channel;
                }
        }
}

/// `late`: what is found with late copies, where that is something else.
void expectFound(tma::Steps steps, const char* words, const char* late = nullptr) {
    for (steps.pixels = false;; steps.pixels = true) {
        for (const bool early : {false, true}) {
            const std::string message = resultOf(steps, early).message;
            EXPECT_NE(message.find(early || late == nullptr ? words : late), std::string::npos)
                << (early ? "early: " : "late: ") << message;
        }
        if (steps.pixels)
            return;
    }
}

TEST(Tma, aStageThatIsReadBeforeItIsFullIsFound) {
    expectFound({.waitFull = false}, "a race in shared memory");
}

TEST(Tma, aStageThatIsFilledBeforeItIsEmptyIsFound) {
    expectFound({.waitEmpty = false}, "a race in shared memory", "an arrival too many");
}

TEST(Tma, aStageThatIsGivenBackBeforeItIsReadIsFound) {
    expectFound({.late = true}, "a race in shared memory");
}

TEST(Tma, lanesThatAreNotWaitedForAreFound) {
    expectFound({.sync = false}, "a race in shared memory");
}

TEST(Tma, aWrongParityIsFound) {
    expectFound({.flip = false}, "a race in shared memory", "an arrival too many");
}

TEST(Tma, stagesThatNobodyGivesBackAreADeadlockWithTheBarriersName) {
    expectFound({.empty = false}, "thread 0 waits for parity 0 of the barrier at byte 2064, phase "
                                  "0: 1 arrivals and 0 bytes are missing");
}

TEST(Tma, arrivalsThatNeverComeAreADeadlock) {
    expectFound({.arrivals = 2}, "waits for parity 0 of the barrier at byte 2048, phase 0: 1 "
                                 "arrivals and 0 bytes are missing");
}

TEST(Tma, bytesThatNeverComeAreADeadlock) {
    expectFound({.expect = tma::boxBytes + 16}, "0 arrivals and 16 bytes are missing");
}

TEST(Tma, arrivalsTooManyAreFound) {
    expectFound({.again = 1}, "an arrival too many at the barrier at byte 2048, phase 0");
}

TEST(Tma, barriersWithoutTheirFenceAreFound) {
    expectFound({.publish = false}, "made without fence.mbarrier_init");
}

TEST(Tma, barriersThatNobodyWaitedForAreFound) {
    expectFound({.meet = false}, "a race in shared memory");
}

TEST(Tma, ordinaryWritesBeforeACopyNeedAFence) {
    expectFound({.generic = true}, "a copy of a box overwrites in thread 0 what thread 0 writes");
}

TEST(Tma, pixelsThatBeginOutsideOfTheirBoxAreFound) {
    for (const int aside : {-1, 5}) {
        tma::Steps steps;
        steps.aside = aside;
        EXPECT_NE(resultOfPixels(steps, true).message.find("outside of their box"),
                  std::string::npos);
    }
}

TEST(Tma, offsetsHaveEightBitsWithTwoDimsOfPlaces) {
    for (const bool isDown : {false, true}) {
        tma::Steps steps;
        steps.offset[isDown ? 1 : 0] = 255;
        EXPECT_EQ(resultOfPixels(steps, true).message, "");
        steps.offset[isDown ? 1 : 0] = 256;
        EXPECT_NE(resultOfPixels(steps, true).message.find("no bits for"), std::string::npos);
    }
}

/// A map that is right but for what `change` does.
template <typename Change> std::string brokenRule(Change change) {
    struct Numbers {
        uint64_t dims[3] = {64, 10, 4}, strides[2] = {128, 1280};
        uint32_t box[3] = {32, 8, 1}, ones[3] = {1, 1, 1};
        size_t address = 4096, map = 0;
        int swizzle = swizzle128;
        uint32_t rank = 3;
    } numbers;
    change(numbers);
    alignas(64) unsigned char map[192];
    const char* broken = simt::encodeTensorMap(
        map + numbers.map,
        {6, numbers.rank, reinterpret_cast<const void*>(numbers.address), numbers.dims,
         numbers.strides, numbers.box, numbers.ones, 0, numbers.swizzle, 2, 0});
    return broken == nullptr ? "" : broken;
}

TEST(TensorMap, keepsEveryRuleOfTheHeader) {
    EXPECT_EQ(brokenRule([](auto&) {}), "");
    EXPECT_NE(brokenRule([](auto& n) { n.map = 32; }).find("multiple of 64"), std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.address = 4104; }).find("16 bytes"), std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.rank = 0; }).find("rank"), std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.dims[1] = 0; }).find("a dim"), std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.dims[2] = (uint64_t{1} << 32) + 1; }).find("a dim"),
              std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.strides[0] = 136; }).find("multiple of 16"),
              std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.strides[1] = uint64_t{1} << 40; }).find("2^40"),
              std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.strides[1] = 640; }).find("reach over"),
              std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.box[1] = 257; }).find("256"), std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.box[1] = 0; }).find("256"), std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.box[0] = 12; }).find("16 bytes"), std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.box[0] = 72; }).find("span"), std::string::npos);
    EXPECT_NE(brokenRule([](auto& n) { n.ones[1] = 9; }).find("1 to 8"), std::string::npos);
}

/// The same of a map of im2col mode.
template <typename Change> std::string brokenPixels(Change change) {
    struct Numbers {
        uint64_t dims[5] = {64, 10, 4, 3, 2}, strides[4] = {128, 1280, 5120, 15360};
        uint32_t steps[5] = {1, 2, 1, 1, 1}, channels = 64, pixels = 128, rank = 4;
        int lower[3] = {-1, -1, 0}, upper[3] = {-1, -1, 0};
        size_t address = 4096, map = 0;
        int swizzle = swizzle128;
    } numbers;
    change(numbers);
    alignas(64) unsigned char map[192];
    const char* broken = simt::encodePixelMap(
        map + numbers.map,
        {6, numbers.rank, reinterpret_cast<const void*>(numbers.address), numbers.dims,
         numbers.strides, nullptr, numbers.steps, 0, numbers.swizzle, 2, 0},
        {numbers.lower, numbers.upper, numbers.channels, numbers.pixels});
    return broken == nullptr ? "" : broken;
}

TEST(TensorMap, ofPixelsKeepsEveryRuleOfTheHeader) {
    const auto expectBroken = [](const char* words, auto change) {
        EXPECT_NE(brokenPixels(change).find(words), std::string::npos)
            << words << ": " << brokenPixels(change);
    };
    EXPECT_EQ(brokenPixels([](auto&) {}), "");
    expectBroken("multiple of 64", [](auto& n) { n.map = 32; });
    expectBroken("16 bytes", [](auto& n) { n.address = 4104; });
    expectBroken("from 3 to 5", [](auto& n) { n.rank = 2; });
    expectBroken("the rank", [](auto& n) { n.rank = 6; });
    expectBroken("a dim", [](auto& n) { n.dims[3] = 0; });
    expectBroken("a dim", [](auto& n) { n.dims[3] = (uint64_t{1} << 32) + 1; });
    expectBroken("multiple of 16", [](auto& n) { n.strides[1] = 1288; });
    expectBroken("2^40", [](auto& n) { n.strides[2] = uint64_t{1} << 40; });
    expectBroken("reach over", [](auto& n) { n.strides[0] = 112; });
    expectBroken("from 1 to 256", [](auto& n) { n.channels = 0; });
    expectBroken("from 1 to 256", [](auto& n) { n.channels = 264; });
    expectBroken("16 bytes", [](auto& n) { n.channels = 12; });
    expectBroken("span", [](auto& n) { n.channels = 72; });
    expectBroken("from 1 to 1024", [](auto& n) { n.pixels = 0; });
    expectBroken("from 1 to 1024", [](auto& n) { n.pixels = 1025; });
    EXPECT_EQ(brokenPixels([](auto& n) { n.pixels = 1024; }), "");
    for (const int dim : {1, 2}) {
        expectBroken("1 to 8", [&](auto& n) { n.steps[dim] = 0; });
        expectBroken("1 to 8", [&](auto& n) { n.steps[dim] = 9; });
        EXPECT_EQ(brokenPixels([&](auto& n) { n.steps[dim] = 8; }), "");
    }
}

TEST(TensorMap, cornersOfPixelsHaveTheBitsOfTheirRank) {
    constexpr int most[] = {32767, 127, 15};
    for (uint32_t rank = 3; rank <= 5; ++rank) {
        const int limit = most[rank - 3];
        for (uint32_t d = 0; d + 2 < rank; ++d) {
            SCOPED_TRACE(rank * 10 + d);
            const auto with = [&](int lower, int upper) {
                return brokenPixels([&](auto& n) {
                    n.rank = rank;
                    n.dims[d + 1] = 2;
                    n.lower[d] = lower;
                    n.upper[d] = upper;
                });
            };
            EXPECT_EQ(with(-limit - 1, limit), "");
            EXPECT_EQ(with(limit, limit), "");
            EXPECT_EQ(with(-limit - 1, -limit - 1), "");
            EXPECT_NE(with(-limit - 2, 0).find("a corner"), std::string::npos);
            EXPECT_NE(with(0, limit + 1).find("a corner"), std::string::npos);
            EXPECT_NE(with(3, 1).find("empty"), std::string::npos);
            EXPECT_EQ(with(3, 2), "");
        }
    }
}

TEST(TensorMap, otherMemoryIsNone) {
    Map map{};
    simt::TensorMapFacts facts;
    EXPECT_FALSE(simt::decodeTensorMap(&map, facts));
}

} // namespace
