// SPDX-License-Identifier: Apache-2.0
// Integer inputs that are generated: of both signs and to the ends of their types where they are
// only computed with, legal where they look up, shape, count or hide.
#include "app/pipeline/inputs.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace fuselage;

namespace {

/// The elements of the first input over several seeds.
std::vector<int64_t> drawn(const std::string& text) {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    inferShapes(*graph);
    std::vector<int64_t> out;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        auto inputs = app::generateInputs(*graph, seed);
        EXPECT_TRUE(inputs) << (inputs ? "" : inputs.error().text());
        for (int64_t item : (*inputs)[0].toInts())
            out.push_back(item);
    }
    return out;
}

struct Ends {
    int64_t least = 0, most = 0;

    friend bool operator==(const Ends&, const Ends&) = default;
};

Ends endsOf(const std::vector<int64_t>& items) {
    const auto [least, most] = std::minmax_element(items.begin(), items.end());
    return {*least, *most};
}

} // namespace

TEST(GeneratedInputs, IntegersThatAreComputedWithReachTheEndsOfTheirType) {
    const Ends int32 = endsOf(drawn("g (int32[64] x, int32[64] z) => (int32[64] y) {"
                                    " a = Add(x, z) y = Neg(a) }"));
    EXPECT_LE(int32.least, INT32_MIN + 2);
    EXPECT_GE(int32.most, INT32_MAX - 2);
    const Ends int8 = endsOf(drawn("g (int8[64] x) => (int8[8,8] y) <int64[2] s = {8, 8}> {"
                                   " a = Abs(x) y = Reshape(a, s) }"));
    EXPECT_LE(int8.least, -126);
    EXPECT_GE(int8.most, 125);
}

/// What is made of them has less room: sums, floats.
TEST(GeneratedInputs, IntegersThatAreSummedOrBecomeFloatsAreSmall) {
    for (const char* text : {"g (int32[64] x) => (float[64] y) { y = Cast<to = 1>(x) }",
                             "g (int32[8,8] x, int32[8,8] z) => (int32[8,8] y) {"
                             " a = Neg(x) y = MatMul(z, a) }"})
        EXPECT_EQ(endsOf(drawn(text)), (Ends{-9, 9})) << text;
    EXPECT_EQ(endsOf(drawn("g (int32[64] x, int32[64] z) => (int32[64] y) { y = Div(z, x) }")),
              (Ends{1, 9}));
}

TEST(GeneratedInputs, WhatLooksUpShapesCountsOrHidesStaysLegal) {
    EXPECT_EQ(endsOf(drawn("g (int64[64] x, float[5,2] t) => (float[64,2] y) {"
                           " c = Identity(x) y = Gather(t, c) }")),
              (Ends{0, 4}));
    for (const char* text :
         {"g (int64[2] x, float[1,1] t) => (float[n,m] y) { y = Expand(t, x) }",
          "g (int64[64] o, int64[64] x, float[5] t) => (float[64] y) {"
          " s = Mul(x, o) y = GatherElements(t, s) }",
          "g (int64[1] x, float[5] t) => (float[k] y, int64[k] i) { y, i = TopK(t, x) }"}) {
        const Ends ends = endsOf(drawn(text));
        EXPECT_GE(ends.least, 0) << text;
        EXPECT_LE(ends.most, 1) << text;
    }
    EXPECT_EQ(endsOf(drawn("g (int64[64] pad_mask) => (int64[64] y) { y = Neg(pad_mask) }")),
              (Ends{1, 1}));
}
