// SPDX-License-Identifier: Apache-2.0
// Gather, Scatter, TopK, Unique and their relatives: values that the backend tests do not show, and
// indices that must be refused.
#include "tests/unit/ops_harness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace fuselage;
using namespace fuselage::testing;

namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;

} // namespace

TEST(Gather, RefusesIndicesOutsideOfTheAxis) {
    EXPECT_FALSE(run(Op::Gather, {counting({3}), ints({1}, {3})}));
    EXPECT_FALSE(run(Op::Gather, {counting({3}), ints({1}, {-4})}));
    EXPECT_FALSE(run(Op::Gather, {counting({3}), ints({1}, {INT64_MIN})}));
    EXPECT_FALSE(run(Op::Gather, {counting({3}), floats({1}, {0})}));
    auto last = run(Op::Gather, {counting({3}), ints({1}, {-1})});
    ASSERT_TRUE(last) << last.error().text();
    EXPECT_EQ((*last)[0].floats, (Doubles{2}));
}

TEST(Gather, RefusesAnAxisThatDoesNotExist) {
    EXPECT_FALSE(run(Op::Gather, {counting({3}), ints({1}, {0})}, {{"axis", int64_t(1)}}));
    EXPECT_FALSE(run(Op::Gather, {counting({}), ints({1}, {0})}));
}

TEST(GatherND, BatchDimensionsSelectTheirOwnSlices) {
    auto out = run(Op::GatherND, {counting({2, 3, 2}), ints({2, 1}, {2, 0})},
                   {{"batch_dims", int64_t(1)}});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].extents, (Extents{2, 2}));
    EXPECT_EQ((*out)[0].floats, (Doubles{4, 5, 6, 7}));
}

TEST(GatherND, TuplesLongerThanTheRankAreRefused) {
    EXPECT_FALSE(run(Op::GatherND, {counting({2, 2}), ints({1, 3}, {0, 0, 0})}));
    EXPECT_FALSE(run(Op::GatherND, {counting({2, 2}), ints({1, 2}, {0, 2})}));
}

TEST(ScatterElements, ReductionsCombineWithWhatIsThere) {
    const auto scatter = [](const char* reduction) {
        auto out = run(Op::ScatterElements,
                       {floats({2}, {3, 5}), ints({3}, {0, 1, 1}), floats({3}, {4, 2, 6})},
                       {{"reduction", std::string(reduction)}});
        return out ? (*out)[0].floats : Doubles{};
    };
    EXPECT_EQ(scatter("none"), (Doubles{4, 6}));
    EXPECT_EQ(scatter("add"), (Doubles{7, 13}));
    EXPECT_EQ(scatter("mul"), (Doubles{12, 60}));
    EXPECT_EQ(scatter("min"), (Doubles{3, 2}));
    EXPECT_EQ(scatter("max"), (Doubles{4, 6}));
    EXPECT_EQ(scatter("other"), (Doubles{}));
}

TEST(ScatterElements, WhatIsNoNumberStays) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const char* reduction : {"min", "max"}) {
        auto out = run(
            Op::ScatterElements,
            {floats({3}, {0, nan, 2}), ints({5}, {0, 0, 0, 1, 2}), floats({5}, {-9, nan, 9, 1, 2})},
            {{"reduction", std::string(reduction)}});
        ASSERT_TRUE(out) << out.error().text();
        EXPECT_TRUE(std::isnan((*out)[0].floats[0])) << reduction;
        EXPECT_TRUE(std::isnan((*out)[0].floats[1])) << reduction;
        EXPECT_EQ((*out)[0].floats[2], 2) << reduction;
    }
}

TEST(ScatterND, IntegerSumsWrapToTheirType) {
    auto out =
        run(Op::ScatterND,
            {ints({1}, {250}, DType::UInt8), ints({1, 1}, {0}), ints({1}, {10}, DType::UInt8)},
            {{"reduction", std::string("add")}});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].ints, (Ints{4}));
}

TEST(ScatterND, UpdatesMustFillTheSlices) {
    EXPECT_FALSE(run(Op::ScatterND, {counting({2, 2}), ints({1, 1}, {0}), floats({1}, {1})}));
    EXPECT_FALSE(run(Op::ScatterND, {counting({2, 2}), ints({1, 1}, {2}), floats({1, 2}, {1, 1})}));
}

TEST(TopK, EqualValuesKeepTheirOrder) {
    auto out = run(Op::TopK, {floats({4}, {1, 3, 3, 2}), ints({1}, {3})}, {}, 2);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].floats, (Doubles{3, 3, 2}));
    EXPECT_EQ((*out)[1].ints, (Ints{1, 2, 3}));
}

TEST(TopK, NotANumberCountsAsLargest) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    auto out = run(Op::TopK, {floats({3}, {1, nan, 2}), ints({1}, {2})}, {}, 2);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[1].ints, (Ints{1, 2}));
}

TEST(TopK, RefusesMoreThanThereAre) {
    EXPECT_FALSE(run(Op::TopK, {counting({4}), ints({1}, {5})}, {}, 2));
    EXPECT_FALSE(run(Op::TopK, {counting({4}), ints({1}, {-1})}, {}, 2));
    EXPECT_FALSE(run(Op::TopK, {counting({4}), ints({0}, {})}, {}, 2));
}

TEST(TopKInference, SymbolicKIsTheExtent) {
    Inference out(Op::TopK, {known({4, 9}), contents({Dim::symbol("K")})}, {}, 2);
    EXPECT_EQ(out.type(0), "float[4,K]");
    EXPECT_EQ(out.type(1), "int64[4,K]");
}

TEST(Compress, RefusesMoreConditionsThanElements) {
    EXPECT_FALSE(run(Op::Compress, {counting({2}), ints({3}, {1, 1, 1}, DType::Bool)}));
    auto out = run(Op::Compress, {counting({3}), ints({2}, {0, 1}, DType::Bool)});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].floats, (Doubles{1}));
}

TEST(NonZero, OfAScalarHasOneRow) {
    auto out = run(Op::NonZero, {ints({}, {7})});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].extents, (Extents{1, 1}));
}

TEST(Unique, UnsortedGroupsComeByFirstAppearance) {
    auto out = run(Op::Unique, {floats({5}, {2, 1, 2, 3, 1})}, {{"sorted", int64_t(0)}}, 4);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].floats, (Doubles{2, 1, 3}));
    EXPECT_EQ((*out)[1].ints, (Ints{0, 1, 3}));
    EXPECT_EQ((*out)[2].ints, (Ints{0, 1, 0, 2, 1}));
    EXPECT_EQ((*out)[3].ints, (Ints{2, 2, 1}));
}
