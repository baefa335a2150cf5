// SPDX-License-Identifier: Apache-2.0
// Products of warpgroups in the shim: which thread holds which sum, and that each step that a
// device needs is missed when it is not there.
#include "tests/shim/simt_launch.h"
#include "tests/shim/wgmma_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace {

struct Result {
    std::vector<float> out = std::vector<float>(size_t{128} * 33);
    std::string message;
};

Result resultOf(wgmma::Steps steps, bool early = false) {
    Result result;
    void* const arguments[] = {&steps, result.out.data()};
    result.message =
        simt::tryRun({"product", wgmma::product, arguments, {1, 1, 1}, {128, 1, 1}, 16384, early})
            .message;
    return result;
}

float wantedAt(int row, int column, const wgmma::Steps& steps) {
    const auto number = [&](int element, bool isSigned) {
        return steps.bytes && !isSigned ? element & 0xff : element;
    };
    int sum = 0;
    for (int k = 0; k < 64; ++k)
        sum += number(wgmma::a(row, k), steps.signedA) * number(wgmma::b(k, column), steps.signedB);
    return static_cast<float>(sum);
}

constexpr wgmma::Steps forms[] = {
    {},
    {.anew = false},
    {.weighted = true},
    {.bytes = true},
    {.bytes = true, .anew = false},
    {.bytes = true, .signedA = false},
    {.bytes = true, .signedB = false},
    {.bytes = true, .signedA = false, .signedB = false},
};

void expectSums(wgmma::Steps steps) {
    for (const bool early : {false, true}) {
        const Result result = resultOf(steps, early);
        ASSERT_EQ(result.message, "");
        for (int thread = 0; thread < 128; ++thread)
            for (int i = 0; i < 32; ++i) {
                const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
                const int column = i / 4 * 8 + thread % 4 * 2 + i % 2;
                ASSERT_EQ(result.out[static_cast<size_t>(thread * 33 + i)],
                          wantedAt(row, column, steps))
                    << "thread " << thread << ", sum " << i;
            }
    }
}

TEST(Warpgroup, everyThreadGetsTheSumsOfTheManual) {
    for (const wgmma::Steps& steps : forms)
        expectSums(steps);
}

TEST(Warpgroup, sumsAreNotThereBeforeTheWait) {
    for (const wgmma::Steps& steps : forms)
        for (const bool early : {false, true})
            EXPECT_TRUE(std::isnan(resultOf(steps, early).out[32]));
}

/// Of all forms of products.
void expectFound(wgmma::Steps steps, const char* words) {
    for (const wgmma::Steps form :
         {wgmma::Steps{}, wgmma::Steps{.weighted = true}, wgmma::Steps{.bytes = true}})
        for (const bool early : {false, true}) {
            steps.weighted = form.weighted;
            steps.bytes = form.bytes;
            const std::string message = resultOf(steps, early).message;
            EXPECT_NE(message.find(words), std::string::npos) << message;
        }
}

TEST(Warpgroup, writesWithoutAFenceAreFound) {
    expectFound({.fence = false}, "without a fence.proxy.async between");
}

TEST(Warpgroup, writesWithoutABarrierAreFound) {
    expectFound({.barrier = false}, "a race in shared memory");
}

TEST(Warpgroup, sumsThatWereNotOpenedAreFound) {
    expectFound({.open = false}, "without wgmma.fence");
}

TEST(Warpgroup, aKernelThatDoesNotWaitIsFound) {
    expectFound({.wait = false}, "ends before its products");
}

TEST(Warpgroup, threadsMustAgree) {
    expectFound({.together = false}, "ask for different products");
}

TEST(Warpgroup, registersThatChangeBeforeTheWaitAreFound) {
    for (const bool early : {false, true}) {
        const std::string message = resultOf({.weighted = true, .kept = false}, early).message;
        EXPECT_NE(message.find("registers of a product that changed"), std::string::npos)
            << message;
    }
}

} // namespace
