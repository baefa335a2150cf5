// SPDX-License-Identifier: Apache-2.0
// Contraction and attention programs, and what they refuse.
#include "kernel_support.h"

using namespace fuselage;
using namespace fuselage::testing_kernel;

TEST(LowerContraction, MatMulBiasReluPrintsAsStableText) {
    KernelProgram program =
        expectLowers("(float[2,4,8] x, float[8,6] w, float[6] b) => (float[2,4,6] y) "
                     "{ t = MatMul(x, w)  u = Add(b, t)  y = Relu(u) }",
                     "Contraction");
    EXPECT_EQ(text(program),
              R"(Contraction (float[2,4,8], float[8,6], float[6]) => (float[2,4,6]) exact
  matmul space [2,4,6] k [8]
  batch 0 m 2 n 1
  a = in0[d0, d1, d3]
  b = in1[d3, d2]
  accumulate float
  read 0 = in2[d2]
  epilogue:
    r0 = input 1 : float
    r1 = input 0 : float
    r2 = add r0 r1 : float
    r3 = constant 0 : float
    r4 = max r2 r3 : float
    return r4
  write out0[d0, d1, d2]
)");
}

TEST(LowerContraction, HeadsAreSplitInTheWrites) {
    KernelProgram program = expectLowers("(float[2,4,8] x, float[8,6] w) => (float[2,3,4,2] y) "
                                         "{ t = MatMul(x, w)  s = Constant<value_ints=[2,4,3,2]>() "
                                         "r = Reshape(t, s)  y = Transpose<perm=[0,2,1,3]>(r) }",
                                         "Contraction");
    const auto& code = std::get<Contraction>(program.code);
    EXPECT_EQ(code.space, (Extents{2, 4, 3, 2}));
    EXPECT_EQ(code.nDims, 2U);
}

TEST(LowerContraction, HeadsAreMergedInTheReads) {
    KernelProgram program =
        expectLowers("(float[2,3,4,2] x, float[6,5] w) => (float[2,4,5] y) "
                     "{ t = Transpose<perm=[0,2,1,3]>(x)  s = Constant<value_ints=[2,4,6]>() "
                     "r = Reshape(t, s)  y = MatMul(r, w) }",
                     "Contraction");
    EXPECT_EQ(std::get<Contraction>(program.code).k, (Extents{3, 2}));
}

TEST(LowerContraction, BatchedMatMulBroadcastsItsBatchDims) {
    KernelProgram program = expectLowers(
        "(float[2,3,4,5] a, float[3,5,6] b) => (float[2,3,4,6] y) { y = MatMul(a, b) }",
        "Contraction");
    const auto& code = std::get<Contraction>(program.code);
    EXPECT_EQ(code.batchDims, 1U);
    EXPECT_EQ(code.mDims, 2U);
    expectLowers("(float[5] a, float[2,5,6] b) => (float[2,6] y) { y = MatMul(a, b) }",
                 "Contraction");
    expectLowers("(float[4,5] a, float[5] b) => (float[4] y) { y = MatMul(a, b) }", "Contraction");
    expectLowers("(float[5] a, float[5] b) => (float y) { y = MatMul(a, b) }", "Contraction");
}

TEST(LowerContraction, GemmTransposesAndScales) {
    expectLowers("(float[5,4] a, float[6,5] b, float[6] c) => (float[4,6] y) "
                 "{ t = Gemm<transA=1, transB=1, alpha=0.5, beta=2.0>(a, b, c)  y = Tanh(t) }",
                 "Contraction");
}

TEST(LowerContraction, GroupedAndDilatedConvolutions) {
    expectLowers("(float[2,4,7,8] x, float[6,2,3,3] w, float[6] b) => (float[2,6,3,4] y) "
                 "{ t = Conv<group=2, strides=[2,2], dilations=[2,1], pads=[1,1,1,0]>(x, w, b) "
                 "y = Sigmoid(t) }",
                 "Contraction");
    expectLowers("(float[1,4,9] x, float[4,1,3] w) => (float[1,4,5] y) "
                 "{ y = Conv<group=4, strides=[2], auto_pad=\"SAME_UPPER\">(x, w) }",
                 "Contraction");
}

TEST(LowerContraction, TransposedConvolution) {
    expectLowers("(float[1,4,5,5] x, float[4,3,3,3] w) => (float[1,6,11,11] y) "
                 "{ t = ConvTranspose<group=2, strides=[2,2], output_padding=[1,1], "
                 "pads=[0,0,1,1]>(x, w)  y = Relu(t) }",
                 "Contraction");
}

TEST(LowerContraction, ConvBatchNormAddReluHasTwoResults) {
    KernelProgram program = expectLowers(
        "(float[1,2,5,5] x, float[3,2,3,3] w, float[3] g, float[3] b, float[3] m, float[3] var, "
        "float[1,3,5,5] r) => (float[1,3,5,5] s, float[1,3,5,5] y) "
        "{ c = Conv<pads=[1,1,1,1]>(x, w)  n = BatchNormalization(c, g, b, m, var) "
        "s = Add(r, n)  y = Relu(s) }",
        "Contraction");
    EXPECT_EQ(std::get<Contraction>(program.code).epilogue.writes.size(), 2U);
    EXPECT_EQ(program.numeric, NumericClass::Reassociated);
}

TEST(LowerContraction, StemEndsInAPool) {
    KernelProgram program =
        expectLowers("(float[1,3,9,9] x, float[4,3,3,3] w, float[4] b) => (float[1,4,3,3] y) "
                     "{ c = Conv<strides=[2,2], pads=[1,1,1,1]>(x, w, b)  r = Relu(c) "
                     "y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(r) }",
                     "Contraction");
    const auto& code = std::get<Contraction>(program.code);
    EXPECT_EQ(code.poolSpace, (Extents{1, 4, 3, 3}));
    EXPECT_EQ(code.space, (Extents{1, 4, 5, 5}));
}

TEST(LowerContraction, PatchEmbeddingFlattensInTheWrites) {
    expectLowers("(float[1,3,8,8] x, float[5,3,4,4] w) => (float[1,4,5] y) "
                 "{ c = Conv<strides=[4,4]>(x, w)  s = Constant<value_ints=[1,5,4]>() "
                 "r = Reshape(c, s)  y = Transpose<perm=[0,2,1]>(r) }",
                 "Contraction");
}

TEST(LowerContraction, CheapWorkOnAnOperandIsAPrologue) {
    KernelProgram program =
        expectLowers("(float[1,3,4,4] x, float[1,3,1,1] s, float[2,3,1,1] w) => (float[1,2,4,4] y) "
                     "{ t = Mul(s, x)  y = Conv(t, w) }",
                     "Contraction");
    EXPECT_TRUE(std::get<Contraction>(program.code).prologueA.has_value());
}

TEST(LowerContraction, ExpensivePrologueIsRefused) {
    Reason reason = refusalOf("(float[4,5] x, float[5,6] w) => (float[4,6] y) "
                              "{ t = Tanh(x)  y = MatMul(t, w) }");
    EXPECT_EQ(reason.code, "kind");
    EXPECT_EQ(reason.facts[0], (ReasonFact{"producer", "Pointwise"}));
}

TEST(LowerContraction, TwoContractionsAreRefused) {
    Reason reason = refusalOf("(float[4,5] x, float[5,6] w, float[6,3] v) => (float[4,3] y) "
                              "{ t = MatMul(x, w)  y = MatMul(t, v) }");
    EXPECT_EQ(reason.code, "kind");
    EXPECT_EQ(reason.facts,
              (std::vector<ReasonFact>{{"producer", "Contraction"}, {"consumer", "Contraction"}}));
}

TEST(LowerContraction, ReductionAfterAContractionIsRefused) {
    Reason reason = refusalOf("(float[4,5] x, float[5,6] w) => (float[4,6] y) "
                              "{ t = MatMul(x, w)  y = Softmax(t) }");
    EXPECT_EQ(reason.code, "kind");
    EXPECT_EQ(reason.facts[1], (ReasonFact{"consumer", "Row"}));
}

TEST(LowerContraction, AccumulatorReadAtTwoPlacesIsRefused) {
    Reason reason = refusalOf("(float[4,5] x, float[5,4] w) => (float[4,4] y) "
                              "{ t = MatMul(x, w)  u = Transpose<perm=[1,0]>(t)  y = Add(t, u) }");
    EXPECT_EQ(reason.code, "kind");
}

TEST(LowerAttention, ScaledAndMasked) {
    KernelProgram program = expectLowers(
        "(float[2,3,4,5] q, float[2,3,5,7] k, float[2,3,7,6] v, float[2,1,1,7] m) => "
        "(float[2,3,4,6] y) { c = Constant<value_float=2.0>()  s = MatMul(q, k)  d = Div(s, c) "
        "a = Add(d, m)  p = Softmax<axis=-1>(a)  y = MatMul(p, v) }",
        "Attention");
    EXPECT_EQ(
        text(program),
        R"(Attention (float[2,3,4,5], float[2,3,5,7], float[2,3,7,6], float[2,1,1,7]) => (float[2,3,4,6]) reassociated
  batch [2,3] l 4 s 7 d 5 e 6 scale 0.5
  q = in0[d0, d1, d2, d3]
  k = in1[d0, d1, d3, d2]
  v = in2[d0, d1, d2, d3]
  mask = + in3[d0, 0, 0, d3]
  write out0[d0, d1, d2, d3]
)");
}

TEST(LowerAttention, HeadsAreAbsorbed) {
    expectLowers("(float[2,4,6] q, float[2,5,6] k, float[2,5,6] v) => (float[2,4,6] y) "
                 "{ ql = Constant<value_ints=[2,4,3,2]>()  kl = Constant<value_ints=[2,5,3,2]>() "
                 "c = Constant<value_float=0.5>() "
                 "q1 = Reshape(q, ql)  q2 = Transpose<perm=[0,2,1,3]>(q1)  q3 = Mul(q2, c) "
                 "k1 = Reshape(k, kl)  k2 = Transpose<perm=[0,2,3,1]>(k1) "
                 "v1 = Reshape(v, kl)  v2 = Transpose<perm=[0,2,1,3]>(v1) "
                 "s = MatMul(q3, k2)  p = Softmax(s)  o = MatMul(p, v2) "
                 "t = Transpose<perm=[0,2,1,3]>(o)  ol = Constant<value_ints=[2,4,6]>() "
                 "y = Reshape(t, ol) }",
                 "Attention");
}

TEST(LowerAttention, BooleanMaskKeepsItsFill) {
    KernelProgram program = expectLowers(
        "(float[3,4,5] q, float[3,5,4] k, float[3,4,6] v, bool[4,4] m) => (float[3,4,6] y) "
        "{ c = Constant<value_float=-10000.0>()  s = MatMul(q, k)  a = Where(m, s, c) "
        "p = Softmax(a)  y = MatMul(p, v) }",
        "Attention");
    EXPECT_EQ(std::get<Attention>(program.code).steps.at(0).fill, -10000);
}

TEST(LowerAttention, CausalWhereHidesScoresWhereTrue) {
    KernelProgram program = expectLowers(
        "(float[3,4,5] q, float[3,5,4] k, float[3,4,6] v, bool[4,4] hidden) => (float[3,4,6] y) "
        "{ c = Constant<value_float=-50.0>()  s = MatMul(q, k)  a = Where(hidden, c, s) "
        "p = Softmax(a)  y = MatMul(p, v) }",
        "Attention");
    const ScoreStep& mask = std::get<Attention>(program.code).steps.at(0);
    EXPECT_EQ(mask.kind, ScoreStep::Kind::KeepWhereFalse);
    EXPECT_EQ(mask.fill, -50);
    EXPECT_NE(text(program).find("mask = not in3[d1, d2] else -50"), std::string::npos);
}

TEST(LowerAttention, MasksAreAppliedInTheirOrder) {
    KernelProgram program = expectLowers(
        "(float[3,4,5] q, float[3,5,4] k, float[3,4,6] v, bool[4,4] keep, float[3,1,4] m) => "
        "(float[3,4,6] y) { c = Constant<value_float=-8.0>()  h = Constant<value_float=0.5>() "
        "s = MatMul(q, k)  a = Where(keep, s, c)  b = Mul(a, h)  d = Add(m, b)  p = Softmax(d) "
        "y = MatMul(p, v) }",
        "Attention");
    const auto& attention = std::get<Attention>(program.code);
    ASSERT_EQ(attention.steps.size(), 2U);
    EXPECT_EQ(attention.steps[0].kind, ScoreStep::Kind::KeepWhereTrue);
    EXPECT_EQ(attention.steps[0].fill, -4); // scaled with the scores
    EXPECT_EQ(attention.steps[1].kind, ScoreStep::Kind::Add);
    EXPECT_EQ(attention.scale, 0.5);
}

TEST(LowerAttention, WindowMaskIsAddedUnderAnotherShape) {
    KernelProgram program = expectLowers(
        "(float[6,2,4,5] q, float[6,2,5,4] k, float[6,2,4,5] v, float[1,2,4,4] bias, "
        "float[1,3,1,4,4] mask) => (float[6,2,4,5] y) { s = MatMul(q, k)  a = Add(s, bias) "
        "w = Constant<value_ints=[2,3,2,4,4]>()  b = Reshape(a, w)  c = Add(b, mask) "
        "j = Constant<value_ints=[6,2,4,4]>()  d = Reshape(c, j)  p = Softmax(d) "
        "y = MatMul(p, v) }",
        "Attention");
    const auto& attention = std::get<Attention>(program.code);
    EXPECT_EQ(attention.batch, (Extents{2, 3, 2}));
    EXPECT_EQ(attention.steps.size(), 2U);
    EXPECT_NE(text(program).find("in4[0, d1, 0, d3, d4]"), std::string::npos);
}

TEST(LowerAttention, AMaskThatIsScaledBehindItsSumIsAFunctionOfTheSum) {
    KernelProgram program = expectLowers(
        "(float[3,4,5] q, float[3,5,4] k, float[3,4,6] v, float[4,4] m, float[4] n) => "
        "(float[3,4,6] y) { c = Constant<value_float=0.5>()  t = Constant<value_float=30.0>() "
        "s = MatMul(q, k)  a = Add(s, m)  b = Mul(a, c)  d = Div(b, t)  e = Tanh(d)  f = Mul(e, t) "
        "g = Add(f, n)  h = Mul(g, c)  p = Softmax(h)  y = MatMul(p, v) }",
        "Attention");
    const auto& attention = std::get<Attention>(program.code);
    using Kind = ScoreStep::Kind;
    std::vector<Kind> kinds;
    for (const ScoreStep& step : attention.steps)
        kinds.push_back(step.kind);
    EXPECT_EQ(kinds, (std::vector<Kind>{Kind::Add, Kind::Apply, Kind::Add, Kind::Apply}));
    EXPECT_EQ(attention.scale, 1);
}

TEST(LowerAttention, WorkThatIsNoFunctionOfOneScoreIsRefused) {
    Reason reason =
        refusalOf("(float[3,4,5] q, float[3,5,4] k, float[3,4,6] v) => (float[3,4,6] y)"
                  "{ s = MatMul(q, k)  a = Mul(s, s)  p = Softmax(a)  y = MatMul(p, v) }");
    EXPECT_EQ(reason.code, "kind");
    EXPECT_NE(reason.message.find("Mul"), std::string::npos);
}

TEST(LowerAttention, FunctionsOfTheScoresAreOneTape) {
    KernelProgram program = expectLowers(
        "(float[3,4,5] q, float[3,5,4] k, float[3,4,6] v, float[4,4] m) => (float[3,4,6] y) "
        "{ c = Constant<value_float=0.5>()  t = Constant<value_float=30.0>()  s = MatMul(q, k) "
        "a = Mul(s, c)  b = Div(a, t)  d = Tanh(b)  e = Mul(d, t)  f = Abs(e)  g = Add(f, m) "
        "p = Softmax(g)  y = MatMul(p, v) }",
        "Attention");
    EXPECT_EQ(
        text(program),
        R"(Attention (float[3,4,5], float[3,5,4], float[3,4,6], float[4,4]) => (float[3,4,6]) reassociated
  batch [3] l 4 s 4 d 5 e 6 scale 0.016666666666666666
  q = in0[d0, d1, d2]
  k = in1[d0, d2, d1]
  v = in2[d0, d1, d2]
  score:
    r0 = input 0 : float
    r1 = tanh r0 : float
    r2 = constant 30 : float
    r3 = mul r1 r2 : float
    r4 = abs r3 : float
    return r4
  mask = + in3[d1, d2]
  write out0[d0, d1, d2]
)");
}

TEST(LowerAttention, AScaleOfEachHeadIsAnOperand) {
    KernelProgram program = expectLowers(
        "(float[2,3,4,5] q, float[2,3,5,7] k, float[2,3,7,6] v, float[3,1,1] h) => "
        "(float[2,3,4,6] y) { c = Constant<value_float=0.5>()  s = MatMul(q, k)  a = Mul(h, s) "
        "b = Mul(a, c)  p = Softmax(b)  y = MatMul(p, v) }",
        "Attention");
    EXPECT_NE(text(program).find("scale 0.5"), std::string::npos);
    EXPECT_NE(text(program).find("mask = * in3[d1, 0, 0]"), std::string::npos);
}

TEST(LowerAttention, AFunctionMayStandBehindAMask) {
    KernelProgram program = expectLowers(
        "(float[3,4,5] q, float[3,5,4] k, float[3,4,6] v, float[4,4] m, bool[1,4] c) => "
        "(float[3,4,6] y) { t = Constant<value_float=2.0>()  low = Constant<value_float=-3.0>() "
        "s = MatMul(q, k)  a = Add(s, m)  b = Where(c, a, low)  d = Sigmoid(b)  e = Mul(d, t) "
        "p = Softmax(e)  y = MatMul(p, v) }",
        "Attention");
    const auto& attention = std::get<Attention>(program.code);
    ASSERT_EQ(attention.steps.size(), 3U);
    EXPECT_EQ(attention.steps[2].kind, ScoreStep::Kind::Apply);
    EXPECT_EQ(attention.scale, 1);
}

TEST(LowerAttention, ASinkIsOneMoreKeyWithoutAValue) {
    const std::string scores =
        "(float[2,3,4,5] q, float[2,3,5,7] k, float[2,3,7,6] v, float[3] h) => (float[2,3,4,6] y) "
        "{ e = Constant<value_ints=[1,3,1,1]>()  w = Constant<value_ints=[2,3,4,1]>() "
        "z = Constant<value_ints=[0]>()  n = Constant<value_ints=[7]>() "
        "l = Constant<value_ints=[-1]>()  s = MatMul(q, k)  r = Reshape(h, e)  b = Expand(r, w) "
        "c = Concat<axis=-1>(s, b)  p = Softmax<axis=3>(c)  t = Slice(p, z, n, l) "
        "y = MatMul(t, v) }";
    KernelProgram program = expectLowers(scores, "Attention");
    EXPECT_NE(text(program).find("sink = in3[d1]"), std::string::npos);
    // The weights of all keys but the last one: no sink.
    Reason reason =
        refusalOf("(float[3,4,5] q, float[3,5,8] k, float[3,7,6] v) => (float[3,4,6] y) "
                  "{ z = Constant<value_ints=[0]>()  n = Constant<value_ints=[7]>() "
                  "l = Constant<value_ints=[-1]>()  s = MatMul(q, k)  p = Softmax(s) "
                  "t = Slice(p, z, n, l)  y = MatMul(t, v) }");
    EXPECT_NE(reason.message.find("weighs more keys"), std::string::npos);
}

TEST(LowerAttention, RowsOfNanMayCountAsZeros) {
    const std::string head = "(float[3,4,5] q, float[3,5,4] k, float[3,4,6] v, bool[4,4] c) => "
                             "(float[3,4,6] y) { z = Constant<value_float=0.0>() "
                             "o = Constant<value_float=-1.0>()  low = Div(o, z)  s = MatMul(q, k) "
                             "a = Where(c, s, low)  p = Softmax(a)  n = IsNaN(p) ";
    KernelProgram program =
        expectLowers(head + "w = Where(n, z, p)  y = MatMul(w, v) }", "Attention");
    EXPECT_NE(text(program).find("rows of NaN are zeros"), std::string::npos);
    Reason reason = refusalOf(head + "w = Where(n, o, p)  y = MatMul(w, v) }");
    EXPECT_NE(reason.message.find("changes the weights"), std::string::npos);
}

TEST(LowerAttention, CastsAroundTheSoftmaxAreWhatTheKernelDoes) {
    expectLowers("(float16[3,4,5] q, float16[3,5,4] k, float16[3,4,6] v) => (float16[3,4,6] y) "
                 "{ s = MatMul(q, k)  a = Cast<to=1>(s)  p = Softmax(a)  b = Cast<to=10>(p) "
                 "y = MatMul(b, v) }",
                 "Attention", 2e-3);
}

// Windows over other dims than the convolution's: the pool is a program of its own.
TEST(LowerContraction, APoolOfARearrangedResultIsRefused) {
    const std::string conv = " { c = Conv<kernel_shape=[1,1]>(x, w)  ";
    for (const std::string& rest :
         {"(float[1,4,5,5] x, float[1,4,1,1] w) => (float[1,5,4] y)" + conv +
              "s = Constant<value_ints=[1,5,5]>()  r = Reshape(c, s)  "
              "y = MaxPool<kernel_shape=[2]>(r) }",
          "(float[1,4,5,5] x, float[5,4,1,1] w) => (float[1,5,4,4] y)" + conv +
              "r = Transpose<perm=[0,2,1,3]>(c)  y = MaxPool<kernel_shape=[2,2]>(r) }",
          "(float[2,3,4,4] x, float[2,3,1,1] w) => (float[4,4,4] y)" +
              conv + // split back, all fits
              "s = Constant<value_ints=[4,4,4]>()  r = Reshape(c, s)  "
              "y = MaxPool<kernel_shape=[1]>(r) }"}) {
        const Reason reason = refusalOf(rest);
        EXPECT_EQ(reason.code, "kind") << reason.text();
    }
}
