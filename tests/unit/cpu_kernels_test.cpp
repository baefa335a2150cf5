// SPDX-License-Identifier: Apache-2.0
// Pointwise, Row, Copy, Window and Attention kernels against the plain evaluation of their
// programs, in both layouts, with one and two threads, counters included.
#include "core/cpu/constant_part.h"
#include "core/kernel/loops.h"
#include "cpu_support.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <random>

using namespace fuselage;
using namespace fuselage::testing_cpu;

TEST(CpuPointwise, OddShapesAndBroadcasts) {
    expectRuns("(float[3,5,7,11] x, float[5,1,1] c, float[11] r, float[3,1,7,1] m) => "
               "(float[3,5,7,11] y) { a = Mul(x, c)  b = Add(a, r)  d = Sub(b, m)  y = Tanh(d) }",
               "Pointwise");
}

TEST(CpuPointwise, ResultsThatAreOperands) {
    expectRuns("(float[6,64] x) => (float[6,64] a, float[6,64] b) { a = Identity(x)  b = Exp(x) }",
               "Pointwise");
}

TEST(CpuPointwise, LongContiguousRuns) {
    expectRuns("(float[2,3,40,1027] x, float[2,3,40,1027] z) => (float[2,3,40,1027] y) "
               "{ a = Add(x, z)  y = Relu(a) }",
               "Pointwise");
}

TEST(CpuPointwise, ConstantsThatMeetAreComputedBeforehand) {
    const std::string text =
        "(float[2,6,5,7] x, float[6] s, float[6] o, float[6] m, float[6] v, float[5,1] r) => "
        "(float[2,6,5,7] y) { n = BatchNormalization(x, s, o, m, v)  e = Exp(r)  y = Mul(n, e) }";
    std::map<std::string, Tensor> constants = {
        {"s", weights({6}, 3)},
        {"o", weights({6}, 4)},
        {"m", weights({6}, 5)},
        {"v", Tensor::ofFloats({6}, std::vector<float>(6, 0.7F))},
        {"r", weights({5, 1}, 6)}};
    expectRuns(text, "Pointwise", 2e-6, constants); // counts bytes, too
    LowerRequest request = bodyFrom(text, constants);
    KernelProgram program = programOf(request);
    Threads threads(1);
    PrepareContext context{{}, {}, vectorTable(), threads};
    for (size_t i = 0; i < program.inputs.size(); ++i) {
        context.inputs.push_back(
            layoutFor(DType::Float32, program.inputs[i].extents, Order::RowMajor));
        context.inputs.back().constant = request.constants[i];
    }
    FoldedPointwise folded = foldConstantPart(std::get<Pointwise>(program.code), context);
    EXPECT_EQ(folded.program.reads.size(), 4U) << "x, scale, shift, e^r";
    for (const TapeInstruction& x : folded.program.tape.code)
        EXPECT_TRUE(x.op == TapeOp::Input || x.op == TapeOp::Mul || x.op == TapeOp::Add)
            << folded.program.tape.text();
    EXPECT_EQ(folded.bytes, (4 * 6 + 5) * 4);
}

TEST(CpuPointwise, TransposedReads) {
    expectRuns("(float[37,70] x, float[70,37] z) => (float[70,37] y) "
               "{ t = Transpose<perm=[1,0]>(x)  y = Add(t, z) }",
               "Pointwise");
    expectRuns("(float[2,9,10,33] x) => (float[2,10,33,9] y) "
               "{ t = Transpose<perm=[0,2,3,1]>(x)  y = Exp(t) }",
               "Pointwise");
}

TEST(CpuPointwise, SeveralResultsOneReadByAnother) {
    expectRuns("(float[4,50] x) => (float[4,50] a, float[4,50] b) { a = Exp(x)  b = Mul(a, x) }",
               "Pointwise");
}

TEST(CpuPointwise, SixteenBitFloats) {
    expectRuns("(float16[5,33] x, float16[33] z) => (float16[5,33] y) { y = Add(x, z) }",
               "Pointwise", 2e-3);
    expectRuns("(bfloat16[5,33] x) => (float[5,33] y) { y = Cast<to=1>(x) }", "Pointwise");
}

TEST(CpuPointwise, IntegersAndBools) {
    expectRuns("(int64[6,9] x, int64[9] z) => (int64[6,9] y) { a = Mul(x, z)  y = Sub(a, z) }",
               "Pointwise");
    expectRuns("(bool[6,9] c, float[6,9] x, float[1] z) => (float[6,9] y) { y = Where(c, x, z) }",
               "Pointwise");
    expectRuns("(uint8[7,5] x) => (float[7,5] y) { y = Cast<to=1>(x) }", "Pointwise");
}

TEST(CpuPointwise, DoublePrecision) {
    expectRuns("(double[3,19] x) => (double[3,19] y) { a = Exp(x)  y = Sqrt(a) }", "Pointwise",
               1e-14);
}

TEST(CpuPointwise, PartsOfOneResult) {
    for (int half : {3, 16, 37})
        expectRuns(fmt::format("(float[2,3,40,{1}] x, float[40,{1}] cos, float[40,{1}] sin) => "
                               "(float[2,3,40,{1}] y) {{ z = Constant<value_ints=[0]>() "
                               "h = Constant<value_ints=[{0}]>()  e = Constant<value_ints=[{1}]>() "
                               "a = Constant<value_ints=[3]>()  l = Slice(x, z, h, a) "
                               "r = Slice(x, h, e, a)  n = Neg(r)  t = Concat<axis=-1>(n, l) "
                               "c = Mul(x, cos)  s = Mul(t, sin)  y = Add(c, s) }}",
                               half, 2 * half),
                   "Pointwise");
}

TEST(CpuRow, SoftmaxAlongEveryAxis) {
    for (const char* axis : {"0", "1", "2", "3"})
        expectRuns("(float[2,5,6,37] x) => (float[2,5,6,37] y) { y = Softmax<axis=" +
                       std::string(axis) + ">(x) }",
                   "Row");
}

TEST(CpuRow, RowsLongerThanATile) {
    expectRuns("(float[3,5000] x) => (float[3,5000] y) { y = LogSoftmax(x) }", "Row");
    expectRuns("(float[2,70001] x) => (float[2] y) { y = ReduceMean<axes=[1],keepdims=0>(x) }",
               "Row");
}

TEST(CpuRow, LayerNormWithResidual) {
    expectRuns("(float[2,13,96] x, float[2,13,96] r, float[96] g, float[96] b) => "
               "(float[2,13,96] s, float[2,13,96] y) "
               "{ s = Add(x, r)  y = LayerNormalization(s, g, b) }",
               "Row", 2e-5);
}

TEST(CpuRow, MeanOverSpatialDims) {
    expectRuns("(float[2,70,5,7] x) => (float[2,70,1,1] y) { y = GlobalAveragePool(x) }", "Row");
}

TEST(CpuRow, ReductionsOverSeveralDimsAndKinds) {
    expectRuns("(float[4,3,5,6] x) => (float[3,6] y) { y = ReduceMax<axes=[0,2],keepdims=0>(x) }",
               "Row");
    expectRuns("(float[4,33] x) => (float[4,1] y) { y = ReduceProd<axes=[1]>(x) }", "Row");
    expectRuns("(float[4,33] x) => (float y) { y = ReduceMin<axes=[0,1],keepdims=0>(x) }", "Row");
}

TEST(CpuRow, ArgMaxKeepsTheFirst) {
    expectRuns("(float[6,41] x) => (int64[6,1] y) { y = ArgMax<axis=1>(x) }", "Row");
    expectRuns("(float[6,41,3] x) => (int64[6,41] y) "
               "{ y = ArgMin<axis=2,keepdims=0,select_last_index=1>(x) }",
               "Row");
    expectRuns("(float[6,41,3] x) => (int64[41,3] y) { y = ArgMax<axis=0,keepdims=0>(x) }", "Row");
}

TEST(CpuRow, InstanceNormalization) {
    expectRuns("(float[2,5,7,9] x, float[5] s, float[5] b) => (float[2,5,7,9] y) "
               "{ y = InstanceNormalization(x, s, b) }",
               "Row", 2e-5);
}

TEST(CpuCopy, ConcatAndPad) {
    expectRuns("(float[2,3,5] x, float[2,4,5] z) => (float[2,7,5] y) { y = Concat<axis=1>(x, z) }",
               "Copy");
    expectRuns("(float[3,4] x) => (float[6,7] y) "
               "{ p = Constant<value_ints=[1,2,2,1]>()  y = Pad(x, p) }",
               "Copy");
}

TEST(CpuCopy, TransposesOfEveryElementSize) {
    for (const char* type : {"float", "double", "float16", "uint8", "bool"})
        expectRuns("(" + std::string(type) + "[33,40,3] x) => (" + type +
                       "[3,40,33] y) { y = Transpose<perm=[2,1,0]>(x) }",
                   "Copy");
}

TEST(CpuWindow, PoolsOfEveryKind) {
    expectRuns("(float[2,20,9,11] x) => (float[2,20,5,6] y) "
               "{ y = MaxPool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>(x) }",
               "Window");
    expectRuns("(float[2,20,9,11] x) => (float[2,20,5,6] y) "
               "{ y = AveragePool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>(x) }",
               "Window");
    expectRuns("(float[2,20,9,11] x) => (float[2,20,5,6] y) { y = AveragePool<kernel_shape=[3,3],"
               "strides=[2,2],pads=[1,1,1,1],count_include_pad=1>(x) }",
               "Window");
    for (const char* p : {"1", "2", "3"})
        expectRuns("(float[1,3,8,8] x) => (float[1,3,4,4] y) { y = LpPool<kernel_shape=[2,2],"
                   "strides=[2,2],p=" +
                       std::string(p) + ">(x) }",
                   "Window");
}

TEST(CpuWindow, ElementwiseWorkAroundAPool) {
    expectRuns("(float[1,6,8,8] x, float[6,1,1] b) => (float[1,6,4,4] y) "
               "{ p = MaxPool<kernel_shape=[2,2],strides=[2,2]>(x)  a = Add(p, b)  y = Relu(a) }",
               "Window");
}

TEST(CpuAttention, HeadsOfAProjection) {
    expectRuns("(float[2,3,70,16] q, float[2,3,33,16] k, float[2,3,33,24] v) => "
               "(float[2,3,70,24] y) { t = Transpose<perm=[0,1,3,2]>(k)  s = MatMul(q, t) "
               "c = Constant<value_float=0.25>()  m = Mul(s, c)  p = Softmax<axis=-1>(m) "
               "y = MatMul(p, v) }",
               "Attention", 1e-5);
}

// Several matrices a task, fewer in the last one, each with a mask of its own.
TEST(CpuAttention, SmallMatricesTogether) {
    expectRuns("(float[9,15,8] q, float[11,15,8] k, float[15,11,5] v, float[15,1,11] m) => "
               "(float[9,15,5] y) { a = Transpose<perm=[1,0,2]>(q)  b = Transpose<perm=[1,2,0]>(k) "
               "s = MatMul(a, b)  x = Add(s, m)  p = Softmax<axis=-1>(x)  o = MatMul(p, v) "
               "y = Transpose<perm=[1,0,2]>(o) }",
               "Attention", 1e-5);
    expectRuns("(float[5,3,7,8] q, float[5,1,7,8] k, float[5,1,7,8] v) => (float[5,3,7,8] y) "
               "{ b = Transpose<perm=[0,1,3,2]>(k)  s = MatMul(q, b)  p = Softmax<axis=-1>(s) "
               "y = MatMul(p, v) }",
               "Attention", 1e-5);
}

TEST(CpuAttention, StridedOperandsAndMask) {
    expectRuns("(float[2,19,3,16] q, float[2,19,3,16] k, float[2,19,3,16] v, float[2,1,1,19] m) => "
               "(float[2,19,48] y) { a = Transpose<perm=[0,2,1,3]>(q) "
               "b = Transpose<perm=[0,2,3,1]>(k)  c = Transpose<perm=[0,2,1,3]>(v) "
               "s = MatMul(a, b)  e = Constant<value_float=4.0>()  d = Div(s, e)  x = Add(d, m) "
               "p = Softmax<axis=-1>(x)  o = MatMul(p, c)  t = Transpose<perm=[0,2,1,3]>(o) "
               "h = Constant<value_ints=[2,19,48]>()  y = Reshape(t, h) }",
               "Attention", 1e-5);
}

TEST(CpuAttention, QueriesThatAreReadBackwards) {
    expectRuns("(float[2,3,8] x, float[2,8,4] k, float[2,4,8] v) => (float[2,3,8] y) "
               "{ b = Constant<value_ints=[-1]>()  e = Constant<value_ints=[-9]>() "
               "a = Constant<value_ints=[2]>()  q = Slice(x, b, e, a, b)  s = MatMul(q, k) "
               "p = Softmax<axis=2>(s)  y = MatMul(p, v) }",
               "Attention", 1e-5);
}

namespace {

/// q k^T of [2,3,37,16] and [2,3,29,16], `masks` from `s` to `x`, softmax and the product with v.
std::string maskedAttention(const std::string& inputs, const std::string& masks) {
    return fmt::format("(float[2,3,37,16] q, float[2,3,29,16] k, float[2,3,29,8] v, {}) => "
                       "(float[2,3,37,8] y) {{ low = Constant<value_float=-9.0>() "
                       "t = Transpose<perm=[0,1,3,2]>(k)  s = MatMul(q, t)  {} "
                       "p = Softmax<axis=-1>(x)  y = MatMul(p, v) }}",
                       inputs, masks);
}

} // namespace

TEST(CpuAttention, AddedMasksOfEveryBroadcast) {
    for (const char* shape :
         {"2,3,37,29", "2,1,37,29", "3,37,29", "37,29", "37,1", "29", "2,3,1,1"})
        expectRuns(maskedAttention(fmt::format("float[{}] m", shape), "x = Add(s, m)"), "Attention",
                   1e-5);
}

TEST(CpuAttention, ConditionsOfEveryBroadcastKeepTheirSide) {
    for (const char* shape : {"2,3,37,29", "2,1,1,29", "37,29", "3,37,1"}) {
        const std::string input = fmt::format("bool[{}] c", shape);
        expectRuns(maskedAttention(input, "x = Where(c, s, low)"), "Attention", 1e-5);
        expectRuns(maskedAttention(input, "x = Where(c, low, s)"), "Attention", 1e-5);
    }
}

TEST(CpuAttention, StridedConditionAndColumnwiseMask) {
    expectRuns(maskedAttention("bool[29,37] c, float[29,37] m",
                               "d = Transpose<perm=[1,0]>(c)  w = Where(d, s, low) "
                               "n = Transpose<perm=[1,0]>(m)  x = Add(w, n)"),
               "Attention", 1e-5);
}

TEST(CpuAttention, MasksInTheirOrder) {
    const std::string inputs = "bool[37,29] c, float[3,1,1] m, bool[29] d";
    expectRuns(maskedAttention(inputs, "a = Where(c, low, s)  b = Add(a, m)  x = Where(d, b, low)"),
               "Attention", 1e-5);
    expectRuns(maskedAttention(inputs, "a = Add(s, m)  b = Where(d, a, low)  x = Where(c, low, b)"),
               "Attention", 1e-5);
}

TEST(CpuAttention, BiasAndWindowMaskUnderAnotherShape) {
    expectRuns("(float[6,2,9,8] q, float[6,2,9,8] k, float[6,2,9,8] v, float[1,2,9,9] bias, "
               "float[1,3,1,9,9] mask) => (float[6,9,16] y) { t = Transpose<perm=[0,1,3,2]>(k) "
               "s = MatMul(q, t)  a = Add(s, bias)  w = Constant<value_ints=[2,3,2,9,9]>() "
               "b = Reshape(a, w)  c = Add(b, mask)  j = Constant<value_ints=[6,2,9,9]>() "
               "d = Reshape(c, j)  p = Softmax(d)  o = MatMul(p, v) "
               "u = Transpose<perm=[0,2,1,3]>(o)  h = Constant<value_ints=[6,9,16]>() "
               "y = Reshape(u, h) }",
               "Attention", 1e-5);
}

TEST(CpuAttention, CapsAndFactorsAmongMasks) {
    expectRuns(maskedAttention("float[37,29] m", "c = Constant<value_float=3.0>()  d = Div(s, c) "
                                                 "e = Tanh(d)  f = Mul(e, c)  x = Add(f, m)"),
               "Attention", 1e-5);
    expectRuns(maskedAttention("float[37,29] m, float[3,1,1] h, bool[29] keep",
                               "g = Mul(h, s)  i = Add(g, m)  c = Constant<value_float=3.0>() "
                               "e = Tanh(i)  f = Mul(e, c)  x = Where(keep, f, low)"),
               "Attention", 1e-5);
}

TEST(CpuAttention, ASinkOfEachHeadAndOfEachRow) {
    for (const char* sink : {"3,1,1", "3,5,1"})
        expectRuns(fmt::format("(float[3,5,16] q, float[3,16,29] k, float[3,29,8] v, float[{}] h) "
                               "=> (float[3,5,8] y) {{ w = Constant<value_ints=[3,5,1]>() "
                               "z = Constant<value_ints=[0]>()  n = Constant<value_ints=[29]>() "
                               "l = Constant<value_ints=[-1]>()  s = MatMul(q, k) "
                               "b = Expand(h, w)  j = Concat<axis=-1>(s, b) "
                               "p = Softmax<axis=-1>(j)  g = Slice(p, z, n, l) "
                               "y = MatMul(g, v) }}",
                               sink),
                   "Attention", 1e-5);
}

TEST(CpuAttention, RowsOfNanThatCountAsZeros) {
    expectRuns(
        "(float[3,9,16] q, float[3,16,29] k, float[3,29,8] v, bool[3,9,1] c) => "
        "(float[3,9,8] y) { z = Constant<value_float=0.0>()  o = Constant<value_float=-1.0>() "
        "i = Div(o, z)  s = MatMul(q, k)  x = Where(c, s, i)  p = Softmax<axis=-1>(x) "
        "n = IsNaN(p)  w = Where(n, z, p)  y = MatMul(w, v) }",
        "Attention", 1e-5);
}

TEST(CpuAttention, SoftmaxHasNoSubnormalNumbers) {
    for (size_t table = 0; table < vectorTableCount(); ++table) {
        std::vector<float> scores(64);
        for (size_t i = 0; i < scores.size(); ++i)
            scores[i] = -60 - static_cast<float>(i);
        scores[5] = 0;
        float sum = 0;
        vectorTable(table).softmax(
            {.scores = scores.data(), .rows = 1, .cols = 64, .stride = 64, .sums = &sum});
        EXPECT_EQ(scores[5], 1.0F);
        EXPECT_NEAR(sum, 1.0F, 1e-6);
        for (float x : scores)
            EXPECT_TRUE(x == 0 || std::isnormal(x)) << x;
        EXPECT_GT(scores[26], 0.0F) << "e^-86 is a normal number";
    }
}

TEST(CpuAttention, RowsWithoutAnyKeyAreNaN) {
    Tensor hidden(DType::Bool, {37, 29});
    auto* entries = reinterpret_cast<uint8_t*>(hidden.bytes());
    std::fill_n(entries + 5 * 29, 29, uint8_t{1});
    const std::string masks = "n = Constant<value_float=-1.0>()  z = Constant<value_float=0.0>() "
                              "inf = Div(n, z)  x = Where(c, inf, s)";
    CpuRun run =
        expectRuns(maskedAttention("bool[37,29] c", masks), "Attention", 1e-5, {{"c", hidden}});
    ASSERT_EQ(run.outputs.size(), 1U);
    for (size_t row = 0; row < 37; ++row)
        EXPECT_EQ(std::isnan(run.outputs[0].floats[row * 8]), row == 5) << "row " << row;
}

namespace {

KernelProgram gatherProgram(const LowerRequest& request) {
    KernelProgram program = programOf(request);
    EXPECT_STREQ(nameOf(kindOf(program)), "Library");
    return program;
}

} // namespace

TEST(CpuGather, CopiesRowsOfATable) {
    LowerRequest request = bodyFrom("(float[7,5] t, int64[2,3] i) => (float[2,3,5] y) "
                                    "{ y = Gather(t, i) }");
    KernelProgram program = gatherProgram(request);
    std::vector<ReferenceValue> inputs = inputsFor(request);
    inputs[1].ints = {0, -1, 3, 6, -7, 2};
    CpuRun run = runOnCpu(program, inputs, request.constants);
    ThreadPool pool(1);
    Progress progress;
    auto wanted = interpret(*request.body, inputs, pool, progress);
    ASSERT_TRUE(wanted);
    ASSERT_EQ(run.outputs.size(), 1U);
    expectNear(run.outputs[0], (*wanted)[0], 0);
    EXPECT_EQ(run.tactic, "gather");
    EXPECT_FALSE(run.error);
}

TEST(CpuGather, AnIndexOutsideIsAnErrorNotAnAccess) {
    LowerRequest request = bodyFrom("(float[7,5] t, int64[2] i) => (float[2,5] y) "
                                    "{ y = Gather(t, i) }");
    std::vector<ReferenceValue> inputs = inputsFor(request);
    inputs[1].ints = {0, 7};
    CpuRun run = runOnCpu(gatherProgram(request), inputs, request.constants);
    ASSERT_TRUE(run.error);
    EXPECT_EQ(run.error->code, "run.index");
}

/// Functions of what is smaller than the result are computed for it, whatever it lies along.
TEST(CpuPointwise, SmallOperandsAreComputedFirst) {
    std::mt19937 random(5);
    for (int drawn = 0; drawn < 60; ++drawn) {
        const int64_t extents[] = {1 + int64_t(random() % 3), 8 + int64_t(random() % 30),
                                   16 + int64_t(random() % 60)};
        std::string small[2];
        for (std::string& each : small) {
            const size_t kept = random() % 3; // at most one dimension moves
            for (size_t d = 0; d < 3; ++d)
                each += fmt::format("{}{}", d ? "," : "", d == kept ? extents[d] : 1);
        }
        const std::string full = fmt::format("{},{},{}", extents[0], extents[1], extents[2]);
        const CpuRun run = expectRuns(
            fmt::format("(float[{0}] x, float[{1}] s, float[{2}] t) => (float[{0}] y, float[{0}] z)"
                        " {{ a = Sigmoid(s) b = Exp(t) c = Mul(a, x) d = Add(b, a) y = Add(c, b) "
                        "e = Mul(x, t) f = Tanh(e) z = Sub(f, d) }}",
                        full, small[0], small[1]),
            "Pointwise", 1e-6);
        const bool isLarge = extents[0] * extents[1] * extents[2] > 2000;
        EXPECT_TRUE(!isLarge || run.tactic.find("small operands first") != std::string::npos)
            << run.tactic << ", " << full << " and " << small[0] << ", " << small[1];
        if (HasFailure())
            return;
    }
}

/// One operand along two dimensions, once with a function that is worth a part and once without.
TEST(CpuPointwise, OneSmallOperandIsReadInSeveralWays) {
    for (const char* cheap : {"Neg", "Exp"})
        expectRuns(fmt::format("(float[64,64] x, float[64] s) => (float[64,64] y) {{ r = "
                               "Constant<value_ints=[64,1]>() c = Reshape(s, r) a = {}(s) b = "
                               "{}(c) d = Mul(x, a) e = Mul(d, b) f = Tanh(s) y = Add(e, f) }}",
                               cheap, cheap),
                   "Pointwise", 1e-6);
}

/// Tiles of a few elements: what has periods along inner dimensions beside what is joined there.
TEST(CpuPointwise, PeriodsOfFewElementsAreWrittenSideBySide) {
    for (const auto& [periods, each] : {std::pair(3, 2), {2, 2}, {5, 1}, {3, 3}, {7, 4}, {40, 2}})
        expectRuns(fmt::format("(float[40,{0},{1}] x, float[{0},{1}] c) => (float[40,{0},{2}] y) "
                               "{{ a = Mul(x, c) p = Add(x, a) q = Sub(a, x) "
                               "y = Concat<axis=-1>(p, q) }}",
                               periods, each, 2 * each),
                   "Pointwise", 1e-6);
}

/// In one to three dimensions, with groups, strides, dilations, borders and constant filters.
TEST(CpuPointwise, RowsOfATileGoOnInAnotherLoop) {
    expectRuns("(float[50,6,64] x, float[32,1,1,1] w) => (float[32,2,6,50] y) "
               "{ t = Transpose<perm=[2,1,0]>(x)  s = Constant<value_ints=[32,2,6,50]>() "
               "r = Reshape(t, s)  a = Add(r, w)  y = Relu(a) }",
               "Pointwise");
}

TEST(CpuPointwise, WhatEveryPlaneReadsIsLoadedOnce) {
    expectRuns("(float[31,4,24,2] x, float[31,1,24,1] g, float[31,1,1,2] b) => (float[31,4,24,2] y)"
               " { m = Mul(x, g)  a = Add(m, b)  y = Relu(a) }",
               "Pointwise");
}

TEST(CpuPointwise, WhatIsOnlyMovedIsCopied) {
    TapeBuilder builder;
    Access turned{0, {{0, {{1, 1}}}, {0, {{0, 1}}}}};
    KernelProgram program;
    program.inputs = {{DType::Float32, {5, 70}}};
    program.outputs = {{DType::Float32, {70, 5}}};
    program.code = Pointwise{
        {70, 5}, {turned}, builder.finish({builder.input(DType::Float32)}), {identityAccess(0, 2)}};
    const std::vector<ReferenceValue> inputs = {ReferenceValue::from(weights({5, 70}, 1))};
    const CpuRun run = runOnCpu(program, inputs, {});
    EXPECT_EQ(run.tactic, "copy");
    expectNear(run.outputs[0], evaluate(program, inputs)->outputs[0], 0);
}

TEST(CpuConvolution, OtherTypesOfAnyGeometry) {
    std::mt19937 random(17);
    const auto upTo = [&](int64_t most) { return 1 + int64_t(random()) % most; };
    for (int drawn = 0; drawn < 60; ++drawn) {
        const char* type = std::array{"double", "int32", "int64"}[random() % 3];
        const int64_t rank = upTo(3), groups = upTo(3), each = upTo(4), results = groups * upTo(9);
        std::string x, w, y, kernel, strides, dilations, begins, ends;
        for (int64_t d = 0; d < rank; ++d) {
            const int64_t k = upTo(3), s = upTo(2), dilation = upTo(2), begin = random() % k,
                          end = int64_t(random() % (k + 1)), reach = (k - 1) * dilation + 1,
                          extent = reach + int64_t(random() % 9);
            const auto append = [&](std::string& to, int64_t number) {
                to += (d ? "," : "") + std::to_string(number);
            };
            append(x, extent);
            append(w, k);
            append(y, (extent + begin + end - reach) / s + 1);
            append(kernel, k);
            append(strides, s);
            append(dilations, dilation);
            append(begins, begin);
            append(ends, end);
        }
        const CpuRun run = expectRuns(
            fmt::format("({0}[2,{1},{2}] x, {0}[{3},{4},{5}] w) => ({0}[2,{3},{6}] y) {{ y = "
                        "Conv<kernel_shape=[{5}],strides=[{7}],dilations=[{8}],pads=[{9},{10}],"
                        "group={11}>(x, w) }}",
                        type, groups * each, x, results, each, w, y, strides, dilations, begins,
                        ends, groups),
            "Contraction", 1e-12);
        EXPECT_TRUE(run.tactic.starts_with("columns ")) << run.tactic;
        if (HasFailure())
            return;
    }
}
