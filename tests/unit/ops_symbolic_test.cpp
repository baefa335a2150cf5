// SPDX-License-Identifier: Apache-2.0
// Shape arithmetic on dimensions: what symbols decide, and what they leave unknown.
#include "core/ops/symbolic_tape.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

const Dim N = Dim::symbol("N");
const Dim L = Dim::symbol("L");

std::string binary(TapeOp op, DType result, const Dim& a, const Dim& b) {
    TapeBuilder builder;
    Scalar x = builder.input(DType::Int64);
    Scalar y = builder.input(DType::Int64);
    Tape tape = builder.finish({builder.apply(op, result, {x, y})});
    auto out = evaluateOnDims(tape, {{{}, {a}}, {{}, {b}}}, 64);
    return out ? text(out->contents) : "none";
}

std::string arithmetic(TapeOp op, const Dim& a, const Dim& b) {
    return binary(op, DType::Int64, a, b);
}

std::string comparison(TapeOp op, const Dim& a, const Dim& b) {
    return binary(op, DType::Bool, a, b);
}

} // namespace

TEST(SymbolicTape, PolynomialsStayExact) {
    EXPECT_EQ(arithmetic(TapeOp::Mul, N + 1, 3), "[3*N+3]");
    EXPECT_EQ(arithmetic(TapeOp::Sub, N * L + N, N), "[L*N]");
    EXPECT_EQ(arithmetic(TapeOp::Div, N * 768, 12), "[64*N]");
    EXPECT_EQ(arithmetic(TapeOp::Mod, N * 8, 4), "[0]");
}

TEST(SymbolicTape, IntegerDivisionTruncates) {
    EXPECT_EQ(arithmetic(TapeOp::Div, -7, 2), "[-3]");
    EXPECT_EQ(arithmetic(TapeOp::Mod, -7, 2), "[1]");
    EXPECT_EQ(arithmetic(TapeOp::Fmod, -7, 2), "[-1]");
}

TEST(SymbolicTape, DivisionOfWhatMayBeNegativeIsUnknown) {
    EXPECT_EQ(arithmetic(TapeOp::Div, N - 5, 2), "[?]");
}

TEST(SymbolicTape, DivisionByZeroIsUnknown) {
    EXPECT_EQ(arithmetic(TapeOp::Div, 4, 0), "[?]");
    EXPECT_EQ(arithmetic(TapeOp::Mod, 4, 0), "[?]");
}

TEST(SymbolicTape, ExtentsAreNeverNegative) {
    EXPECT_EQ(comparison(TapeOp::Equal, N, -1), "[0]");
    EXPECT_EQ(comparison(TapeOp::Less, N, 0), "[0]");
    EXPECT_EQ(comparison(TapeOp::LessOrEqual, 0, N), "[1]");
}

TEST(SymbolicTape, ComparisonsThatSymbolsDoNotDecideAreUnknown) {
    EXPECT_EQ(comparison(TapeOp::Equal, N, 1), "[?]");
    EXPECT_EQ(comparison(TapeOp::Less, N, L), "[?]");
    EXPECT_EQ(comparison(TapeOp::Less, 0, N), "[?]") << "a dimension may be 0";
}

TEST(SymbolicTape, MinAndMaxWhereOneCertainlyIs) {
    EXPECT_EQ(arithmetic(TapeOp::Max, N + 2, N), "[N+2]");
    EXPECT_EQ(arithmetic(TapeOp::Min, N + 2, N), "[N]");
    EXPECT_EQ(arithmetic(TapeOp::Min, N, 512), "[?]");
}

TEST(SymbolicTape, OperandsBroadcast) {
    TapeBuilder builder;
    Scalar x = builder.input(DType::Int64);
    Tape tape = builder.finish({x * builder.input(DType::Int64)});
    auto out = evaluateOnDims(tape, {{{3}, {N, 2, L}}, {{}, {4}}}, 64);
    ASSERT_TRUE(out);
    EXPECT_EQ(text(out->contents), "[4*N,8,4*L]");
    EXPECT_FALSE(evaluateOnDims(tape, {{{3}, {N, 2, L}}, {{2}, {1, 2}}}, 64));
    EXPECT_FALSE(evaluateOnDims(tape, {{{3}, {N, 2, L}}, {{}, {4}}}, 2)) << "above the limit";
}
