// SPDX-License-Identifier: Apache-2.0
// A placement as text: what is written reads back, what is no placement is refused with its line.
#include "app/quantize/pair_plan.h"

#include <gtest/gtest.h>

using namespace fuselage;
using namespace fuselage::quantize;

namespace {

PairPlan planOf(const std::string& text) {
    auto plan = parsePairPlan(text);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
    return plan ? *plan : PairPlan{};
}

} // namespace

TEST(QuantizePlan, ItIsOneReadALineAndReadsBack) {
    PairPlan plan;
    plan.model = "net";
    plan.data = "4 generated sets, seed 1";
    plan.foldedNorm = false;
    plan.smooth = 0.25;
    plan.pairs = {{"/conv/Conv",
                   0,
                   "INPUT",
                   StoredType::UInt8,
                   {},
                   0,
                   RangeMethod::Entropy,
                   Range{-0.1, 1.0 / 3},
                   "ConvBN",
                   "std/convolution",
                   61,
                   0},
                  {"/conv/Conv",
                   1,
                   "W",
                   StoredType::Int4,
                   0,
                   32,
                   RangeMethod::MinMax,
                   {},
                   "ConvBN",
                   "std/convolution",
                   61,
                   0},
                  {"a \"b\"\n", 2, "MINE", StoredType::Int8, -1, 0, RangeMethod::Percentile,
                   Range{-1e-30, 1e30}, "", "", 0, 0}};
    const std::string text = planText(plan);
    EXPECT_EQ(text,
              "quantize 1\nmodel \"net\"\ndata \"4 generated sets, seed 1\"\nnorm kept\n"
              "smooth 0.25\n\n"
              "\"/conv/Conv\"[0] INPUT: uint8 entropy -0.1 .. 0.3333333333333333 by ConvBN "
              "\"std/convolution\":61\n"
              "\"/conv/Conv\"[1] W: int4 axis 0 block 32 minmax by ConvBN \"std/convolution\":61\n"
              "\"a \\\"b\\\"\\x0a\"[2] MINE: int8 axis -1 percentile -1e-30 .. 1e+30 by "
              "hand\n");
    PairPlan again = planOf(text);
    ASSERT_EQ(again.pairs.size(), 3u);
    EXPECT_EQ(again.pairs[0].range, plan.pairs[0].range);
    EXPECT_EQ(again.pairs[1].line, 8u);
    EXPECT_EQ(again.smooth, 0.25);
    EXPECT_FALSE(again.foldedNorm);
    EXPECT_EQ(planText(again), text);
}

TEST(QuantizePlan, SpacesCommentsAndEndsOfLinesDoNotCount) {
    EXPECT_EQ(
        planOf("quantize 1\r\n# mine\r\n\r\n  \"n\" [0]  P : int8 minmax  -1  ..  1  by  hand\r\n")
            .pairs.size(),
        1u);
}

TEST(QuantizePlan, WhatIsNoPlacementIsRefusedWithItsLine) {
    for (const char* line : {"\"n\" P: int8 minmax by hand",
                             "\"n\"[x] P: int8 minmax by hand",
                             "\"n\"[-1] P: int8 minmax by hand",
                             "\"n\"[99999999999] P: int8 minmax by hand",
                             "\"n\"[0]: int8 minmax by hand",
                             "\"n\"[0] P int8 minmax by hand",
                             "\"n\"[0] P: int7 minmax by hand",
                             "\"n\"[0] P: int8 axis minmax by hand",
                             "\"n\"[0] P: int4 axis 0 block 0 minmax by hand",
                             "\"n\"[0] P: int4 axis 0 block minmax by hand",
                             "\"n\"[0] P: int4 block 32 minmax by hand",
                             "smooth 2",
                             "smooth 0.5 now",
                             "\"n\"[0] P: int8 guess by hand",
                             "\"n\"[0] P: int8 minmax 1 by hand",
                             "\"n\"[0] P: int8 minmax 1 .. by hand",
                             "\"n\"[0] P: int8 minmax nan .. 1 by hand",
                             "\"n\"[0] P: int8 minmax 0 .. inf by hand",
                             "\"n\"[0] P: int8 minmax 0 .. 1",
                             "\"n\"[0] P: int8 minmax by R",
                             "\"n\"[0] P: int8 minmax by R \"f\"",
                             "\"n\"[0] P: int8 minmax by R \"f\":-1",
                             "\"n\"[0] P: int8 minmax by hand now",
                             "\"n[0] P: int8 minmax by hand",
                             "model net",
                             "norm gone",
                             "data",
                             "ConvBN: \"a\""}) {
        auto plan = parsePairPlan(std::string("quantize 1\n") + line + "\n");
        ASSERT_FALSE(plan) << line;
        EXPECT_EQ(plan.error().code, "plan.syntax") << line;
        EXPECT_NE(plan.error().message.find("line 2: "), std::string::npos) << line;
    }
    for (const char* text : {"", "quantize 2\n", "fuseplan 1\n", "\x01\x02"})
        EXPECT_FALSE(parsePairPlan(text)) << text;
}

TEST(QuantizePlan, AReadHasOneLine) {
    auto plan = parsePairPlan("quantize 1\n\"n\"[0] P: int8 minmax by hand\n"
                              "\"n\"[1] P: int8 minmax by hand\n"
                              "\"n\"[0] Q: uint8 minmax by hand\n");
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().message, "line 4: \"n\"[0] is on line 2 already");
    EXPECT_EQ(plan.error().code, "plan.twice");
    EXPECT_EQ(plan.error().fix, "take one of the two lines out: a read has one pair");
}

TEST(QuantizePlan, ARangeThatIsNoneSaysWhatToWrite) {
    auto reversed = parsePairPlan("quantize 1\n\"n\"[0] P: int8 minmax 2 .. -1 by hand\n");
    ASSERT_FALSE(reversed);
    EXPECT_EQ(reversed.error().message, "line 2: the range 2 .. -1 ends before it begins");
    EXPECT_EQ(reversed.error().fix, "write -1 .. 2");
    EXPECT_TRUE(parsePairPlan("quantize 1\n\"n\"[0] P: int8 minmax -1 .. 2 by hand\n"));
    for (const char* range : {"1 .. 1e39", "-4e38 .. 1", "0 .. 1e-40"}) {
        auto beyond = parsePairPlan(std::string("quantize 1\n\"n\"[0] P: int8 minmax ") + range +
                                    " by hand\n");
        ASSERT_FALSE(beyond) << range;
        EXPECT_EQ(beyond.error().code, "plan.range") << range;
        EXPECT_NE(beyond.error().message.find("line 2"), std::string::npos);
    }
    for (const char* range : {"1 .. 3e38", "-1e-37 .. 0", "0 .. 0"})
        EXPECT_TRUE(parsePairPlan(std::string("quantize 1\n\"n\"[0] P: int8 minmax ") + range +
                                  " by hand\n"))
            << range;
    auto none = parsePairPlan("quantize 1\n\"n\"[0] P: int8 minmax nan .. 1 by hand\n");
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("finite"), std::string::npos) << none.error().message;
    EXPECT_NE(none.error().fix.find("both ends, or none"), std::string::npos);
}
