// SPDX-License-Identifier: Apache-2.0
// Where the epilogue of sums of integers begins with a scale and a shift of its columns.
#include "core/kernel/tape_cut.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

/// tanh(float(sum) * read 0 * read 1 + read 2)
Tape scaledTape() {
    TapeBuilder tape;
    const Scalar sum = cast(tape.input(DType::Int32), DType::Float32);
    const Scalar scale = tape.input(DType::Float32) * tape.input(DType::Float32);
    return tape.finish({unary(TapeOp::Tanh, sum * scale + tape.input(DType::Float32))});
}

} // namespace

TEST(TapeCut, ScaleAndShiftOfColumnsAreCutOff) {
    const auto found = matchScaledSums(scaledTape(), {true, true, true});
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->hasShift);
    EXPECT_EQ(found->columns.tape.outputs.size(), 2U);
    EXPECT_EQ(found->columns.reads, (std::vector<uint32_t>{0, 1, 2}));
    ASSERT_TRUE(found->rest);
    EXPECT_TRUE(found->rest->reads.empty());
    EXPECT_EQ(found->rest->tape.code.size(), 2U) << found->rest->tape.text();
}

TEST(TapeCut, AShiftOfEachResultStaysInTheRest) {
    const auto found = matchScaledSums(scaledTape(), {true, true, false});
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->hasShift);
    ASSERT_TRUE(found->rest);
    EXPECT_EQ(found->rest->reads, std::vector<uint32_t>{2});
}

TEST(TapeCut, AScaleOfRowsIsNoneOfColumns) {
    EXPECT_FALSE(matchScaledSums(scaledTape(), {true, false, true}));
}

TEST(TapeCut, SumsThatAreReadTwiceAreNotScaledInPlace) {
    TapeBuilder tape;
    const Scalar sum = cast(tape.input(DType::Int32), DType::Float32);
    const Scalar scaled = sum * tape.input(DType::Float32);
    EXPECT_FALSE(matchScaledSums(tape.finish({scaled + sum}), {true}));
}

TEST(TapeCut, ScaledSumsMayBeTheResult) {
    TapeBuilder tape;
    const Scalar sum = cast(tape.input(DType::Int32), DType::Float32);
    const auto found = matchScaledSums(tape.finish({sum * tape.input(DType::Float32)}), {true});
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->rest);
    EXPECT_FALSE(found->hasShift);
}
