// SPDX-License-Identifier: Apache-2.0
// Views, shape arithmetic and movement: symbolic results of inference, values, refused input.
#include "tests/unit/ops_harness.h"

#include <gtest/gtest.h>

using namespace fuselage;
using namespace fuselage::testing;

namespace {

const Dim n = Dim::symbol("N");
const Dim s = Dim::symbol("S");
using Ints = std::vector<int64_t>;

} // namespace

TEST(ReshapeInference, MinusOneIsWhatRemainsOfASymbolicShape) {
    Inference out(Op::Reshape, {known({n, s, 768}), contents({0, -1, 12, 64})});
    EXPECT_EQ(out.type(), "float[N,S,12,64]");
    EXPECT_EQ(Inference(Op::Reshape, {known({n, 12, s, 64}), contents({n, s, -1})}).type(),
              "float[N,S,768]");
}

TEST(ReshapeInference, CopiedDimensionsCancelEvenWhenUnknown) {
    Inference out(Op::Reshape, {known({Dim(), 8, 4}), contents({0, -1})});
    EXPECT_EQ(out.type(), "float[?,32]");
}

TEST(ReshapeInference, OneUnknownTargetFollowsFromTheElementCount) {
    Inference out(Op::Reshape, {known({n, 6, 4}), contents({n, Dim(), 8})});
    EXPECT_EQ(out.type(), "float[N,3,8]");
}

TEST(ReshapeInference, ElementCountsThatDoNotFitAreReported) {
    EXPECT_NE(Inference(Op::Reshape, {known({2, 3}), contents({4, 2})}).problems(), "");
    EXPECT_NE(Inference(Op::Reshape, {known({2, 3}), contents({4, -1})}).problems(), "");
}

TEST(ReshapeInference, NothingIsReshapedToNothing) {
    EXPECT_EQ(Inference(Op::Reshape, {known({0, 2}), contents({0, 4, 2})}).type(), "float[0,4,2]");
    EXPECT_EQ(Inference(Op::Reshape, {known({0, 8}), contents({0, 4, 2})}).problems(), "");
    EXPECT_EQ(Inference(Op::Reshape, {known({0, 3}), contents({-1, 2})}).type(), "float[0,2]");
    // 0 copies the 8.
    EXPECT_NE(Inference(Op::Reshape, {known({0, 8}), contents({2, 0, 8})})
                  .problems()
                  .find("[2,0,8]: 0 copies, which makes it [2,8,8]"),
              std::string::npos);
}

TEST(ReshapeInference, WhatIsRefusedWhileItRunsIsRefusedBefore) {
    EXPECT_NE(Inference(Op::Reshape, {known({0, 3, 16}), contents({0, 4, -1})}).problems(), "");
    EXPECT_NE(Inference(Op::Reshape, {known({n, 4}), contents({-1, -1, 4})}).problems(), "");
    EXPECT_EQ(Inference(Op::Reshape, {known({n, 3, 16}), contents({0, 4, -1})}).problems(), "");
    EXPECT_EQ(Inference(Op::Reshape, {known({0, 3, 16}), contents({0, 4, Dim()})}).problems(), "");
}

TEST(ShapeArithmetic, ShapeGatherConcatKeepSymbols) {
    Inference shape(Op::Shape, {known({n, 3, s, s})});
    EXPECT_EQ(shape.contentsText(), "[N,3,S,S]");
    Inference gather(Op::Gather, {contents({n, 3, s}), scalarContents(-1)});
    EXPECT_EQ(gather.contentsText(), "[S]");
    EXPECT_EQ(gather.type(), "int64[]");
    Inference concat(Op::Concat, {contents({n}), known({1}, DType::Int64), contents({4})},
                     {{"axis", int64_t(0)}});
    EXPECT_EQ(concat.contentsText(), "[N,?,4]");
}

TEST(ShapeArithmetic, SliceOfContents) {
    Inference out(Op::Slice,
                  {contents({n, 3, s, 7}), contents({-2}), contents({INT64_MAX}), contents({0})});
    EXPECT_EQ(out.contentsText(), "[S,7]");
}

TEST(SliceInference, SymbolicBoundsGiveSymbolicLengths) {
    const auto sliced = [](Dim extent, Dim start, Dim end) {
        return Inference(Op::Slice,
                         {known({extent}), contents({start}), contents({end}), contents({0})})
            .type();
    };
    EXPECT_EQ(sliced(n, 0, INT64_MAX), "float[N]");
    EXPECT_EQ(sliced(n, 1, INT64_MAX), "float[N-1]");
    EXPECT_EQ(sliced(n, 0, -1), "float[N-1]");
    EXPECT_EQ(sliced(1024, n, n + s), "float[S]");
    EXPECT_EQ(sliced(n * Dim(3), n, n * Dim(2)), "float[N]");
    EXPECT_EQ(sliced(n, Dim(0) - s, INT64_MAX), "float[S]");
    EXPECT_EQ(sliced(n, 0, 100), "float[min(N,100)]");
    EXPECT_EQ(sliced(10, 2, 100), "float[8]");
}

TEST(FillInference, SizesComeFromSymbolicContents) {
    EXPECT_EQ(Inference(Op::ConstantOfShape, {contents({n, 4})}).type(), "float[N,4]");
    EXPECT_EQ(
        Inference(Op::Range, {scalarContents(0), scalarContents(s), scalarContents(1)}).type(),
        "int64[S]");
    EXPECT_EQ(Inference(Op::Expand, {known({n, 1, 1, s}), contents({n, 1, s, s})}).type(),
              "float[N,1,S,S]");
    EXPECT_EQ(Inference(Op::Tile, {known({1, 4}), contents({n, 2})}).type(), "float[N,8]");
}

TEST(FillInference, NegativeSizesAreReported) {
    EXPECT_NE(Inference(Op::ConstantOfShape, {contents({3, -2})}).problems(), "");
    EXPECT_EQ(Inference(Op::ConstantOfShape, {contents({n - Dim(3)})}).problems(), "");
}

/// So that sizes are looked for that are large enough.
TEST(TopKInference, MoreThanThereAreIsReported) {
    EXPECT_NE(Inference(Op::TopK, {known({3}), contents({5})}).problems(), "");
    EXPECT_EQ(Inference(Op::TopK, {known({7}), contents({5})}).problems(), "");
    EXPECT_EQ(Inference(Op::TopK, {known({n}), contents({5})}).type(), "float[5]");
}

TEST(SplitInference, SymbolicAxisSplitsEvenly) {
    Inference out(Op::Split, {known({n * Dim(4), 2})}, {{"axis", int64_t(0)}}, 2);
    EXPECT_EQ(out.type(0), "float[2*N,2]");
    EXPECT_EQ(out.type(1), "float[2*N,2]");
}

TEST(Reshape, ZeroCopiesAndMinusOneIsWorkedOut) {
    auto out = run(Op::Reshape, {counting({2, 3, 4}), ints({3}, {0, -1, 2})});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].extents, (Extents{2, 6, 2}));
}

TEST(Reshape, HostileTargetsAreRefused) {
    EXPECT_FALSE(run(Op::Reshape, {counting({2, 3}), ints({2}, {-1, -1})}));
    EXPECT_FALSE(run(Op::Reshape, {counting({2, 3}), ints({2}, {INT64_MAX, 4})}));
    EXPECT_FALSE(run(Op::Reshape, {counting({0}), ints({2}, {0, -1})}));
}

TEST(Transpose, PermutesElements) {
    auto out = run(Op::Transpose, {counting({2, 3})}, {{"perm", Ints{1, 0}}});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].floats, (std::vector<double>{0, 3, 1, 4, 2, 5}));
    EXPECT_FALSE(run(Op::Transpose, {counting({2, 3})}, {{"perm", Ints{1, 1}}}));
}

TEST(Slice, NegativeStepsReverse) {
    auto out = run(Op::Slice, {counting({4}), ints({1}, {-1}), ints({1}, {INT64_MIN}),
                               ints({1}, {0}), ints({1}, {-2})});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].floats, (std::vector<double>{3, 1}));
}

TEST(Slice, ExtremeBoundsAreClampedNotOverflowed) {
    auto out = run(Op::Slice, {counting({4}), ints({1}, {INT64_MIN}), ints({1}, {INT64_MAX}),
                               ints({1}, {0}), ints({1}, {INT64_MAX})});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].floats, (std::vector<double>{0}));
    EXPECT_FALSE(run(Op::Slice, {counting({4}), ints({1}, {0}), ints({1}, {1}), ints({1}, {0}),
                                 ints({1}, {0})}));
}

TEST(Concat, RefusesPiecesThatDoNotFit) {
    EXPECT_FALSE(run(Op::Concat, {counting({2, 3}), counting({2, 4})}, {{"axis", int64_t(0)}}));
    EXPECT_FALSE(run(Op::Concat, {counting({2}), ints({2}, {1, 2})}, {{"axis", int64_t(0)}}));
}

TEST(Split, SizesAreCheckedAgainstTheAxis) {
    auto out = run(Op::Split, {counting({5}), ints({2}, {2, 3})}, {}, 2);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[1].floats, (std::vector<double>{2, 3, 4}));
    EXPECT_FALSE(run(Op::Split, {counting({5}), ints({2}, {2, 4})}, {}, 2));
}

TEST(Pad, ModesFillTheSameBorder) {
    const auto pad = [](const char* mode) {
        auto out = run(Op::Pad, {counting({3}), ints({2}, {2, 1})}, {{"mode", std::string(mode)}});
        return out ? (*out)[0].floats : std::vector<double>{};
    };
    EXPECT_EQ(pad("constant"), (std::vector<double>{0, 0, 0, 1, 2, 0}));
    EXPECT_EQ(pad("edge"), (std::vector<double>{0, 0, 0, 1, 2, 2}));
    EXPECT_EQ(pad("reflect"), (std::vector<double>{2, 1, 0, 1, 2, 1}));
    EXPECT_EQ(pad("wrap"), (std::vector<double>{1, 2, 0, 1, 2, 0}));
}

TEST(Pad, HugePadsAreRefused) {
    EXPECT_FALSE(run(Op::Pad, {counting({3}), ints({2}, {INT64_MAX, 1})}));
    EXPECT_FALSE(run(Op::Pad, {counting({0}), ints({2}, {1, 1})}, {{"mode", std::string("edge")}}));
}

TEST(CenterCropPad, CropsAndPadsAroundTheCentre) {
    auto crop = run(Op::CenterCropPad, {counting({5}), ints({1}, {2})});
    ASSERT_TRUE(crop) << crop.error().text();
    EXPECT_EQ((*crop)[0].floats, (std::vector<double>{1, 2}));
    auto pad = run(Op::CenterCropPad, {counting({2}), ints({1}, {5})});
    ASSERT_TRUE(pad) << pad.error().text();
    EXPECT_EQ((*pad)[0].floats, (std::vector<double>{0, 0, 1, 0, 0}));
}

TEST(Col2Im, OverlappingWindowsAdd) {
    // Two 2-wide windows at 0 and 1 over an image of 3.
    auto out = run(Op::Col2Im, {floats({1, 2, 2}, {1, 2, 3, 4}), ints({1}, {3}), ints({1}, {2})});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].floats, (std::vector<double>{1, 5, 4}));
}

TEST(Range, CountsDownAndRefusesZeroSteps) {
    const auto scalar = [](int64_t value) { return ints({}, {value}); };
    auto out = run(Op::Range, {scalar(5), scalar(0), scalar(-2)});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].ints, (Ints{5, 3, 1}));
    EXPECT_FALSE(run(Op::Range, {scalar(0), scalar(5), scalar(0)}));
    EXPECT_FALSE(run(Op::Range, {scalar(INT64_MIN), scalar(INT64_MAX), scalar(1)}));
}

TEST(ConstantOfShape, OverflowingSizesAreRefused) {
    EXPECT_FALSE(run(Op::ConstantOfShape, {ints({2}, {INT64_MAX, 2})}));
    EXPECT_FALSE(run(Op::ConstantOfShape, {ints({1}, {-1})}));
}
