// SPDX-License-Identifier: Apache-2.0
#include "core/support/number_text.h"
#include "tests/unit/comma_locale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

using namespace fuselage;

namespace {

void expectNumbers() {
    EXPECT_EQ(numberIn("0.5"), 0.5);
    EXPECT_EQ(numberIn("-1.25e-3x"), -1.25e-3);
    EXPECT_EQ(numberIn("0x1.8p+1"), 3.0);
    EXPECT_EQ(numberIn("-inf"), -INFINITY);
    EXPECT_EQ(floatIn("0.1"), 0.1F);
    const std::string text = "1,5";
    const char* end = nullptr;
    EXPECT_EQ(numberIn(text, &end), 1.0);
    EXPECT_EQ(end, text.c_str() + 1);
}

} // namespace

TEST(NumberText, NumbersAreThoseOfFiles) {
    expectNumbers();
}

TEST(NumberText, InEveryLocale) {
    const LocaleWithCommas locale;
    if (!locale)
        GTEST_SKIP() << "no locale with a decimal comma is installed";
    ASSERT_NE(std::stod("0,5"), 0.0);
    expectNumbers();
}
