// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory and copies of boxes in the shim: what lands where, and that each step
// that a device needs is missed when it is not there. Tensor maps: every rule of the driver's
// header.
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

/// The tensor ends with its last element: a copy that reads behind it faults.
Result resultOf(tma::Steps steps, bool early) {
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
    Result result;
    void* const arguments[] = {&steps, &map, result.out.data()};
    result.message =
        simt::tryRun(
            {"ring", tma::ring, arguments, {1, 1, 1}, {64, 1, 1}, tma::ringBytes + 32, early})
            .message;
    return result;
}

TEST(Tma, boxesLandWithTheSwizzleAndZerosBehindTheEnd) {
    for (const bool early : {false, true}) {
        const Result result = resultOf({}, early);
        ASSERT_EQ(result.message, "");
        for (int tile = 0; tile < tma::tiles; ++tile)
            for (int column = 0; column < 32; ++column) {
                float wanted = 0;
                for (int row = tile * 8; row < tile * 8 + 8; ++row)
                    wanted += row < tma::rows && column < tma::columns ? at(row, column) : 0;
                ASSERT_EQ(result.out[static_cast<size_t>(tile * 32 + column)], wanted)
                    << "tile " << tile << ", column " << column;
            }
    }
}

/// `late`: what is found with late copies, where that is something else.
void expectFound(tma::Steps steps, const char* words, const char* late = nullptr) {
    for (const bool early : {false, true}) {
        const std::string message = resultOf(steps, early).message;
        EXPECT_NE(message.find(early || late == nullptr ? words : late), std::string::npos)
            << (early ? "early: " : "late: ") << message;
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

TEST(TensorMap, otherMemoryIsNone) {
    Map map{};
    simt::TensorMapFacts facts;
    EXPECT_FALSE(simt::decodeTensorMap(&map, facts));
}

} // namespace
