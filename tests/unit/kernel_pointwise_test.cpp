// SPDX-License-Identifier: Apache-2.0
// Pointwise programs: index maps, broadcasting, several results, rounding.
#include "kernel_support.h"

using namespace fuselage;
using namespace fuselage::testing_kernel;

TEST(LowerPointwise, PrintsAsStableText) {
    KernelProgram program = expectLowers(
        "(float[2,3] x, float[3] b) => (float[2,3] y) { t = Add(x, b)  y = Relu(t) }", "Pointwise");
    EXPECT_EQ(text(program), R"(Pointwise (float[2,3], float[3]) => (float[2,3]) exact
  space [2,3]
  read 0 = in0[d0, d1]
  read 1 = in1[d1]
  tape:
    r0 = input 0 : float
    r1 = input 1 : float
    r2 = add r0 r1 : float
    r3 = constant 0 : float
    r4 = max r2 r3 : float
    return r4
  write out0[d0, d1]
)");
}

TEST(LowerPointwise, TransposedAndBroadcastOperandsAreReads) {
    KernelProgram program = expectLowers("(float[2,3,4] x, float[4,1,2] z) => (float[4,3,2] y) "
                                         "{ t = Transpose<perm=[2,1,0]>(x)  y = Mul(t, z) }",
                                         "Pointwise");
    const auto& code = std::get<Pointwise>(program.code);
    EXPECT_EQ(code.reads[0].index[0].terms[0].dim, 2U);
    EXPECT_TRUE(code.reads[1].index[1].terms.empty());
}

TEST(LowerPointwise, ReshapeThatSplitsADimRefinesTheSpace) {
    KernelProgram program =
        expectLowers("(float[2,12] x, float[2,3,4] z) => (float[2,12] y) "
                     "{ s = Constant<value_ints=[2,12]>()  r = Reshape(z, s)  y = Add(x, r) }",
                     "Pointwise");
    EXPECT_EQ(std::get<Pointwise>(program.code).space, (Extents{2, 3, 4}));
}

TEST(LowerPointwise, InnerAndFinalResultsAreBothWritten) {
    KernelProgram program =
        expectLowers("(float[2,3] x) => (float[2,3] t, float[3,2] y) "
                     "{ t = Relu(x)  n = Neg(t)  y = Transpose<perm=[1,0]>(n) }",
                     "Pointwise");
    EXPECT_EQ(std::get<Pointwise>(program.code).reads.size(), 1U);
}

TEST(LowerPointwise, BatchNormalizationIsScaleAndShift) {
    KernelProgram program =
        expectLowers("(float[2,3,2,2] x, float[3] g, float[3] b, float[3] m, float[3] var) => "
                     "(float[2,3,2,2] y) { t = BatchNormalization(x, g, b, m, var)  y = Relu(t) }",
                     "Pointwise");
    EXPECT_EQ(program.numeric, NumericClass::Reassociated);
}

TEST(LowerPointwise, SlicesAreReadsWithOffsetAndStep) {
    expectLowers("(float[8,6] x) => (float[4,2] y) { s = Constant<value_ints=[1,4]>() "
                 "e = Constant<value_ints=[8,0]>()  a = Constant<value_ints=[0,1]>() "
                 "p = Constant<value_ints=[2,-2]>()  t = Slice(x, s, e, a, p)  y = Neg(t) }",
                 "Pointwise");
}

TEST(LowerPointwise, HalfIsComputedInFloatAndRoundedBeforeItIsCompared) {
    KernelProgram program = programOf(
        bodyFrom("(float16[4] x, float16[4] z) => (bool[4] y) { t = Mul(x, z)  y = Less(t, z) }"));
    EXPECT_EQ(program.numeric, NumericClass::Wider);
    EXPECT_NE(text(program).find("cast r4 : float16"), std::string::npos) << text(program);
}

TEST(LowerPointwise, CastIsKept) {
    KernelProgram program = programOf(bodyFrom(
        "(float[4] x) => (float[4] y) { h = Cast<to=10>(x)  f = Cast<to=1>(h)  y = Neg(f) }"));
    EXPECT_NE(text(program).find(": float16"), std::string::npos) << text(program);
}

TEST(LowerPointwise, ResultsOfDifferentSizeAreRefused) {
    Reason reason = refusalOf("(float[2,3] x, float[3] b) => (float[2,3] y, float[3] z) "
                              "{ y = Relu(x)  z = Neg(b) }");
    EXPECT_EQ(reason.code, "shape-mismatch");
    EXPECT_EQ(reason.facts, (std::vector<ReasonFact>{{"a", "[3]"}, {"b", "[2,3]"}}));
}

TEST(LowerPointwise, OneElementConstantsAreInTheTape) {
    LowerRequest request = bodyFrom("(float[4] x, float c) => (float[4] y) { y = Mul(x, c) }",
                                    {{"c", Tensor::scalar(3)}});
    KernelProgram program = expectLowers(request, "Pointwise");
    EXPECT_EQ(std::get<Pointwise>(program.code).reads.size(), 1U);
}

TEST(LowerPieces, RotatedHalvesAreTwoPartsOfOneTape) {
    KernelProgram program = expectLowers(
        "(float[2,3,4,6] x, float[4,6] cos, float[4,6] sin) => (float[2,3,4,6] y) "
        "{ z = Constant<value_ints=[0]>()  h = Constant<value_ints=[3]>() "
        "e = Constant<value_ints=[6]>()  a = Constant<value_ints=[3]>() "
        "l = Slice(x, z, h, a)  r = Slice(x, h, e, a)  n = Neg(r)  t = Concat<axis=-1>(n, l) "
        "c = Mul(x, cos)  s = Mul(t, sin)  y = Add(c, s) }",
        "Pointwise");
    const auto& code = std::get<Pointwise>(program.code);
    EXPECT_EQ(code.space, (Extents{2, 3, 4, 3}));
    EXPECT_EQ(code.writes.size(), 2U);
    EXPECT_EQ(code.reads.size(), 6U); // both halves of each operand, once
}

TEST(LowerPieces, InterleavedPairs) {
    KernelProgram program = expectLowers(
        "(float[4,6] x) => (float[4,6] y) { z = Constant<value_ints=[0]>() "
        "o = Constant<value_ints=[1]>()  e = Constant<value_ints=[6]>() "
        "a = Constant<value_ints=[1]>()  t = Constant<value_ints=[2]>() "
        "l = Slice(x, z, e, a, t)  r = Slice(x, o, e, a, t)  n = Neg(r) "
        "w = Constant<value_ints=[4,3,1]>()  p = Reshape(n, w)  q = Reshape(l, w) "
        "c = Concat<axis=2>(p, q)  v = Constant<value_ints=[4,6]>()  y = Reshape(c, v) }",
        "Pointwise");
    EXPECT_EQ(std::get<Pointwise>(program.code).writes.size(), 2U);
}

TEST(LowerPieces, PartsOfOtherSizesAreRefused) {
    Reason reason = refusalOf("(float[4,6] a, float[4,3] b) => (float[4,9] y) "
                              "{ c = Concat<axis=1>(a, b)  y = Exp(c) }");
    EXPECT_EQ(reason.code, "kind");
    EXPECT_NE(reason.message.find("no common tape"), std::string::npos);
}
