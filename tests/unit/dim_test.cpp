// SPDX-License-Identifier: Apache-2.0
// Symbolic dimensions: polynomials with one text per meaning.
#include "core/graph/dim.h"

#include <gtest/gtest.h>

using fuselage::Dim;

TEST(Dim, EqualPolynomialsAreEqual) {
    Dim n = Dim::symbol("N");
    EXPECT_EQ(n * Dim(12), Dim(12) * n);
    EXPECT_EQ(n + n, Dim(2) * n);
    EXPECT_EQ((n + Dim(1)) - n, Dim(1));
    EXPECT_EQ((n * Dim(12)).text(), "12*N");
}

TEST(Dim, UnknownEqualsNothing) {
    EXPECT_FALSE(Dim() == Dim());
    EXPECT_TRUE((Dim() + Dim(1)).isUnknown());
}

TEST(Dim, DivisionIsExactWhereItCanBe) {
    Dim n = Dim::symbol("N");
    EXPECT_EQ(Dim::divide(n * Dim(12), Dim(4)).text(), "3*N");
    EXPECT_EQ(Dim::divide(n * Dim(12), n), Dim(12));
    EXPECT_EQ(Dim::divide(Dim(-7), Dim(2)), Dim(-4));
    EXPECT_EQ(Dim::ceilDivide(Dim(7), Dim(2)), Dim(4));
    EXPECT_EQ(Dim::divide(n + Dim(1), Dim(2)).text(), "floor((N+1)/2)");
}

TEST(Dim, BindReplacesSymbols) {
    Dim n = Dim::symbol("N");
    EXPECT_EQ((n * Dim(12) + Dim(1)).bind({{"N", 4}}), Dim(49));
    EXPECT_EQ((n * Dim::symbol("S")).bind({{"N", 4}}).text(), "4*S");
}

TEST(Dim, OverflowIsUnknownNotWrapped) {
    EXPECT_TRUE((Dim(INT64_MAX) + Dim(1)).isUnknown());
    EXPECT_TRUE((Dim(INT64_MAX) * Dim(2)).isUnknown());
}

TEST(Dim, TheSmallestNumberDividedByMinusOneIsUnknown) {
    EXPECT_TRUE(Dim::divide(Dim(INT64_MIN), Dim(-1)).isUnknown());
    EXPECT_EQ(Dim::divide(Dim(6), Dim(-1)), Dim(-6));
}

TEST(Dim, ExpressionsThatDoubleBecomeUnknown) {
    Dim doubling = Dim::symbol("N");
    for (int i = 0; i < 64; ++i)
        doubling = Dim::divide(doubling * doubling + Dim(1), Dim(3));
    EXPECT_TRUE(doubling.isUnknown());
    Dim wide = 0;
    for (int i = 0; i < 300; ++i)
        wide = wide + Dim::symbol("S" + std::to_string(i));
    EXPECT_TRUE(wide.isUnknown());
}

TEST(Dim, ConstantOffsetIsCertainlyDifferent) {
    Dim n = Dim::symbol("N");
    EXPECT_TRUE(certainlyDifferent(n, n + Dim(1)));
    EXPECT_FALSE(certainlyDifferent(n, Dim::symbol("M")));
}
