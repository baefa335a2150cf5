// SPDX-License-Identifier: Apache-2.0
// Contractions and their epilogues against the plain evaluation, and which of them run as post-ops.
#include "core/cpu/contraction_engine.h"
#include "core/kernel/epilogue_match.h"
#include "cpu_support.h"

#include <fmt/format.h>

#include <random>

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

const char* convolution = "c = Conv<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(x, w, b)  ";

CpuRun convWith(const std::string& epilogue, const std::string& more = "",
                std::map<std::string, Tensor> constants = {}) {
    constants.emplace("w", weights({24, 10, 3, 3}));
    constants.emplace("b", weights({24}, 2));
    return expectRuns("(float[2,10,9,11] x, float[24,10,3,3] w, float[24] b" + more +
                          ") => (float[2,24,5,6] y) { " + convolution + epilogue + " }",
                      "Contraction", 5e-5, constants);
}

bool hasTilePass(const CpuRun& run) {
    return run.tactic.find("tile interpreter") != std::string::npos;
}

} // namespace

TEST(CpuContraction, EveryActivationIsAPostOp) {
    const char* activations[] = {
        "y = Relu(c)",
        "y = LeakyRelu<alpha=0.1>(c)",
        "y = Elu<alpha=1.5>(c)",
        "y = Tanh(c)",
        "y = Sigmoid(c)",
        "s = Sigmoid(c)  y = Mul(c, s)",
        "y = HardSwish(c)",
        "y = HardSigmoid<alpha=0.1666667,beta=0.5>(c)",
        "y = Softplus(c)",
        "lo = Constant<value_float=0.0>()  hi = Constant<value_float=6.0>()  y = Clip(c, lo, hi)",
        "r = Constant<value_float=1.4142135>()  h = Constant<value_float=0.5>() "
        "o = Constant<value_float=1.0>()  d = Div(c, r)  e = Erf(d)  f = Add(e, o)  m = Mul(c, f) "
        "y = Mul(m, h)",
    };
    for (const char* activation : activations) {
        CpuRun run = convWith(activation);
        EXPECT_FALSE(hasTilePass(run)) << activation << ": " << run.tactic;
        if (HasFailure())
            return;
    }
}

TEST(CpuContraction, BatchNormAddRelu) {
    std::map<std::string, Tensor> constants = {
        {"s", weights({24}, 3)},
        {"o", weights({24}, 4)},
        {"m", weights({24}, 5)},
        {"v", Tensor::ofFloats({24}, std::vector<float>(24, 0.7F))}};
    CpuRun run = convWith("n = BatchNormalization(c, s, o, m, v)  a = Add(n, r)  y = Relu(a)",
                          ", float[24] s, float[24] o, float[24] m, float[24] v, "
                          "float[2,24,5,6] r",
                          constants);
    EXPECT_FALSE(hasTilePass(run)) << run.tactic;
}

TEST(CpuContraction, OtherEpiloguesRunOnTiles) {
    CpuRun run = convWith("s = Sin(c)  y = Add(s, r)", ", float[2,24,5,6] r");
    EXPECT_TRUE(hasTilePass(run)) << run.tactic;
    EXPECT_FALSE(run.fallbacks.empty());
}

/// The sums lie where the first result goes, and the second one still reads them.
TEST(CpuContraction, ASumAndWhatIsMadeOfIt) {
    const std::map<std::string, Tensor> constants = {{"w", weights({24, 10, 3, 3})},
                                                     {"b", weights({24}, 2)}};
    const std::string image = "float[2,24,5,6]";
    for (const char* results : {"s, y", "y, s"}) {
        const bool sumFirst = results[0] == 's';
        const std::string outputs =
            image + (sumFirst ? " s, " : " y, ") + image + (sumFirst ? " y" : " s");
        const CpuRun run =
            expectRuns("(float[2,10,9,11] x, float[24,10,3,3] w, float[24] b, " + image +
                           " r) => (" + outputs + ") { " + convolution +
                           "s = Add(c, r)  d = Sub(r, s)  t = Tanh(d)  y = Mul(t, s) }",
                       "Contraction", 5e-5, constants);
        EXPECT_TRUE(hasTilePass(run)) << run.tactic;
    }
}

TEST(CpuContraction, ResidualAfterActivation) {
    convWith("a = Relu(c)  y = Add(r, a)", ", float[2,24,5,6] r");
}

TEST(CpuContraction, DepthwiseGroupedAndDilated) {
    expectRuns("(float[1,16,9,9] x, float[16,1,3,3] w) => (float[1,16,9,9] y) "
               "{ c = Conv<kernel_shape=[3,3],pads=[1,1,1,1],group=16>(x, w)  y = Relu(c) }",
               "Contraction", 1e-5, {{"w", weights({16, 1, 3, 3})}});
    expectRuns("(float[1,8,9,9] x, float[12,4,3,3] w) => (float[1,12,5,5] y) "
               "{ y = Conv<kernel_shape=[3,3],dilations=[2,2],group=2>(x, w) }",
               "Contraction", 1e-5, {{"w", weights({12, 4, 3, 3})}});
}

TEST(CpuContraction, WeightsThatVary) {
    expectRuns("(float[1,8,9,9] x, float[12,8,3,3] w, float[12] b) => (float[1,12,7,7] y) "
               "{ c = Conv<kernel_shape=[3,3]>(x, w, b)  y = Relu(c) }",
               "Contraction", 2e-5);
}

TEST(CpuContraction, OneAndThreeDimensions) {
    expectRuns("(float[2,6,20] x, float[5,6,3] w) => (float[2,5,18] y) "
               "{ y = Conv<kernel_shape=[3]>(x, w) }",
               "Contraction", 1e-5, {{"w", weights({5, 6, 3})}});
    expectRuns("(float[1,3,4,5,6] x, float[5,3,2,2,2] w) => (float[1,5,3,4,5] y) "
               "{ y = Conv<kernel_shape=[2,2,2]>(x, w) }",
               "Contraction", 1e-5, {{"w", weights({5, 3, 2, 2, 2})}});
}

/// x is copied between zeros first.
TEST(CpuContraction, LongWindowsOverABorder) {
    for (const auto& [channels, group, kernel, begin, end, stride, out] :
         {std::array<int, 7>{1, 1, 64, 31, 32, 1, 300},
          {1, 1, 128, 0, 64, 3, 79},
          {8, 4, 50, 25, 0, 2, 138},
          {4, 1, 96, 48, 48, 5, 61}}) {
        const Extents w{8, channels / group, kernel};
        expectRuns(fmt::format("(float[2,{0},300] x, float[8,{1},{2}] w) => (float[2,8,{6}] y) "
                               "{{ c = Conv<kernel_shape=[{2}],pads=[{3},{4}],strides=[{5}],"
                               "group={7}>(x, w)  y = Relu(c) }}",
                               channels, channels / group, kernel, begin, end, stride, out, group),
                   "Contraction", 2e-5, {{"w", weights(w)}});
    }
}

/// Computed as images of one row: every stride, dilation, padding and grouping that is drawn.
TEST(CpuContraction, GroupsAlongOneDimension) {
    std::mt19937 random(7);
    auto from = [&](int least, int most) {
        return least + static_cast<int>(random() % static_cast<uint32_t>(most - least + 1));
    };
    for (int drawn = 0; drawn < 60; ++drawn) {
        const int groups = from(2, 18), channels = groups * from(1, 3), each = from(1, 3);
        const int kernel = from(1, 5), stride = from(1, 3), dilation = from(1, 3);
        const int length = from((kernel - 1) * dilation + 1, 40), before = from(0, 3);
        const int extent = length + 2 * before - (kernel - 1) * dilation - 1;
        const bool turned = from(0, 3) == 0;
        const int transposed = (length - 1) * stride - 2 * before + (kernel - 1) * dilation + 1;
        if (turned && transposed < 1)
            continue;
        const std::string text = fmt::format(
            "(float[2,{0},{1}] x, float[{2},{3},{4}] w, float[{5}] b) => (float[2,{5},{6}] y) "
            "{{ c = "
            "{7}<kernel_shape=[{4}],group={8},strides=[{9}],dilations=[{10}],pads=[{11},{11}]>"
            "(x, w, b)  y = Relu(c) }}",
            channels, length, turned ? channels : groups * each, turned ? each : channels / groups,
            kernel, groups * each, turned ? transposed : extent / stride + 1,
            turned ? "ConvTranspose" : "Conv", groups, stride, dilation, before);
        SCOPED_TRACE(text);
        expectRuns(text, "Contraction", 2e-5,
                   {{"w", weights({turned ? channels : groups * each,
                                   turned ? each : channels / groups, kernel},
                                  random())},
                    {"b", weights({groups * each}, random())}});
    }
    const CpuRun depthwise = expectRuns("(float[1,64,40] x, float[64,1,4] w) => (float[1,64,37] y) "
                                        "{ y = Conv<kernel_shape=[4],group=64>(x, w) }",
                                        "Contraction", 2e-6, {{"w", weights({64, 1, 4})}});
    EXPECT_NE(depthwise.tactic.find("dw"), std::string::npos) << depthwise.tactic;
}

TEST(CpuContraction, Transposed) {
    expectRuns("(float[1,6,5,5] x, float[6,4,3,3] w, float[4] b) => (float[1,4,10,10] y) "
               "{ c = ConvTranspose<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1],"
               "output_padding=[1,1]>(x, w, b)  y = Relu(c) }",
               "Contraction", 1e-5, {{"w", weights({6, 4, 3, 3})}, {"b", weights({4})}});
    expectRuns("(float[1,6,5,5] x, float[6,2,2,2] w, float[4] s) => (float[1,4,10,10] y) "
               "{ u = Unsqueeze(s, ax)  c = ConvTranspose<kernel_shape=[2,2],strides=[2,2],group=2>"
               "(x, w)  y = Mul(c, u)  ax = Constant<value_ints=[0,2,3]>() }",
               "Contraction", 1e-5, {{"w", weights({6, 2, 2, 2})}, {"s", weights({4})}});
}

TEST(CpuContraction, TransposedAddsNothingByReference) {
    // Bias, normalisation and activation behind a transposed convolution run on tiles.
    for (const char* body :
         {"y = ConvTranspose<strides=[2,2]>(x, w, b)",
          "t = ConvTranspose<strides=[2,2]>(x, w)  u = Add(t, c)  y = Relu(u)",
          "t = ConvTranspose<strides=[2,2]>(x, w)  u = Add(t, r)  y = Relu(u)"}) {
        CpuRun run = expectRuns("(float[2,6,5,7] x, float[6,9,2,2] w, float[9] b, float[9,1,1] c, "
                                "float[2,9,10,14] r) => (float[2,9,10,14] y) { " +
                                    std::string(body) + " }",
                                "Contraction", 4e-6,
                                {{"w", weights({6, 9, 2, 2}, 3)},
                                 {"b", weights({9}, 4)},
                                 {"c", weights({9, 1, 1}, 5)}});
        EXPECT_NE(run.tactic.find("tile interpreter"), std::string::npos) << run.tactic;
        EXPECT_EQ(run.tactic.find("reference"), std::string::npos) << run.tactic;
    }
}

TEST(CpuContraction, StemWithPool) {
    expectRuns("(float[1,3,20,20] x, float[16,3,7,7] w, float[16] b) => (float[1,16,5,5] y) "
               "{ c = Conv<kernel_shape=[7,7],strides=[2,2],pads=[3,3,3,3]>(x, w, b)  r = Relu(c) "
               "y = MaxPool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>(r) }",
               "Contraction", 5e-5, {{"w", weights({16, 3, 7, 7})}, {"b", weights({16})}});
}

TEST(CpuMatMul, LinearWithActivation) {
    CpuRun run = expectRuns("(float[34,40] x, float[40,24] w, float[24] b) => (float[34,24] y) "
                            "{ m = MatMul(x, w)  a = Add(m, b)  y = Relu(a) }",
                            "Contraction", 2e-5, {{"w", weights({40, 24})}, {"b", weights({24})}});
    EXPECT_FALSE(hasTilePass(run)) << run.tactic;
}

TEST(CpuMatMul, LinearAddsAResidual) {
    CpuRun run = expectRuns(
        "(float[34,40] x, float[40,24] w, float[24] b, float[34,24] r) => (float[34,24] y) "
        "{ m = MatMul(x, w)  a = Add(b, m)  y = Add(r, a) }",
        "Contraction", 2e-5, {{"w", weights({40, 24})}, {"b", weights({24})}});
    EXPECT_FALSE(hasTilePass(run)) << run.tactic;
}

TEST(CpuMatMul, GemmTransposedAndScaled) {
    expectRuns("(float[9,40] x, float[24,40] w, float[24] b) => (float[9,24] y) "
               "{ y = Gemm<transB=1,alpha=0.5,beta=2.0>(x, w, b) }",
               "Contraction", 2e-5, {{"w", weights({24, 40})}, {"b", weights({24})}});
    expectRuns("(float[40,9] x, float[24,40] w) => (float[9,24] y) "
               "{ y = Gemm<transA=1,transB=1>(x, w) }",
               "Contraction", 2e-5);
}

TEST(CpuMatMul, BatchesBroadcastAndStrides) {
    expectRuns("(float[2,3,5,16] x, float[3,16,7] z) => (float[2,3,5,7] y) { y = MatMul(x, z) }",
               "Contraction", 2e-5);
    expectRuns("(float[2,5,3,16] x, float[2,7,3,16] z) => (float[2,3,5,7] y) "
               "{ a = Transpose<perm=[0,2,1,3]>(x)  b = Transpose<perm=[0,2,3,1]>(z) "
               "y = MatMul(a, b) }",
               "Contraction", 2e-5);
    expectRuns("(float[16] x, float[16,7] z) => (float[7] y) { y = MatMul(x, z) }", "Contraction",
               2e-5);
}

// oneDNN's fast products know few orders of memory; what lies otherwise must not cost its slow
// ones.
TEST(CpuMatMul, SmallMatricesAreAsFastWhereverTheyLie) {
    const std::string scores = "s = MatMul(q, k)  y = Add(s, m) }";
    const std::string result = ", float[17,17] m) => (float[6,17,17] y) { ";
    const CpuRun dense = expectRuns("(float[6,17,16] q, float[6,17,16] t" + result +
                                        "k = Transpose<perm=[0,2,1]>(t) " + scores,
                                    "Contraction", 2e-5);
    const CpuRun behindRows = expectRuns("(float[17,6,16] a, float[17,6,16] b" + result +
                                             "q = Transpose<perm=[1,0,2]>(a) "
                                             "k = Transpose<perm=[1,2,0]>(b) " +
                                             scores,
                                         "Contraction", 2e-5);
    EXPECT_EQ(behindRows.tactic, dense.tactic);
    const CpuRun pieces =
        expectRuns("(float[17,6,48] p" + result +
                       "o = Constant<value_ints=[0]>()  i = Constant<value_ints=[16]>() "
                       "j = Constant<value_ints=[32]>()  x = Constant<value_ints=[2]>() "
                       "a = Slice(p, o, i, x)  b = Slice(p, i, j, x) "
                       "q = Transpose<perm=[1,0,2]>(a)  k = Transpose<perm=[1,2,0]>(b) " +
                       scores,
                   "Contraction", 2e-5);
    EXPECT_EQ(pieces.tactic, dense.tactic);
}

// Rows that go back to their places in an image, a window after the other: one product and a copy
// of its rows take a third of the time of a product for each four rows.
TEST(CpuMatMul, RowsOfWindowsAreOneProduct) {
    const std::map<std::string, Tensor> constants = {{"w", weights({32, 32})},
                                                     {"b", weights({32}, 2)}};
    const std::string product = " y) { m = MatMul(x, w)  a = Add(m, b)  ";
    const std::string head = "(float[64,32] x, float[32,32] w, float[32] b) => (float";
    const CpuRun plain = expectRuns(head + "[64,32]" + product + "y = Identity(a) }", "Contraction",
                                    2e-5, constants);
    const CpuRun windows =
        expectRuns(head + "[64,32]" + product +
                       "i = Constant<value_ints=[2,2,4,4,32]>()  r = Reshape(a, i)  "
                       "t = Transpose<perm=[0,2,1,3,4]>(r)  "
                       "j = Constant<value_ints=[64,32]>()  y = Reshape(t, j) }",
                   "Contraction", 2e-5, constants);
    EXPECT_EQ(windows.tactic, plain.tactic + " + tile interpreter");
}

// A product whose columns lie in two places of the result: heads before rows, a batch on the right.
TEST(CpuMatMul, ChannelsInSeveralRunsOfColumns) {
    const std::map<std::string, Tensor> constants = {
        {"w", weights({16, 16})}, {"b", weights({16}, 2)}, {"s", weights({16}, 3)}};
    for (const char* rest :
         {"a = Add(m, b)", "a = Mul(m, s)", "r = Relu(m)  a = Mul(r, s)",
          "p = Mul(m, s)  q = Add(p, b)  r = Relu(q)  a = Add(r, b)", "r = Tanh(m)  a = Add(r, v)"})
        for (const char* last : {"y = Reshape(t, j)", "y = Relu(t)"}) {
            const bool joins = last[4] == 'R' && last[6] == 's';
            expectRuns(std::string("(float[2,7,16] x, float[16,16] w, float[16] b, float[16] s, "
                                   "float[16] v) => (float") +
                           (joins ? "[4,7,8]" : "[2,2,7,8]") + " y) { m = MatMul(x, w)  " + rest +
                           "  i = Constant<value_ints=[2,7,2,8]>()  "
                           "j = Constant<value_ints=[4,7,8]>()  h = Reshape(a, i)  "
                           "t = Transpose<perm=[0,2,1,3]>(h)  " +
                           last + " }",
                       "Contraction", 2e-5, constants);
        }
    expectRuns("(float[4,1] w, float[3,1,8] x, float[3,1,1] b) => (float[3,4,8] y) "
               "{ m = MatMul(w, x)  y = Add(m, b) }",
               "Contraction", 2e-6, {{"w", weights({4, 1})}, {"b", weights({3, 1, 1}, 2)}});
}

TEST(CpuMatMul, ScaleOfATransposedResult) {
    const std::string head = "(float[2,3,4] x, float[4,4] w, float[4] b) => (float[3,2,4] y) "
                             "{ m = MatMul(x, w)  ";
    const std::string tail = "  y = Transpose<perm=[1,0,2]>(n) }";
    for (const char* middle : {"n = Neg(m)", "r = Relu(m)  n = Mul(r, b)", "n = Add(m, b)"})
        for (bool constant : {false, true})
            expectRuns(head + middle + tail, "Contraction", 2e-6,
                       constant ? std::map<std::string, Tensor>{{"b", weights({4}, 2)}}
                                : std::map<std::string, Tensor>{});
}

// oneDNN 2.6 computes the second function of a kind with the numbers of the first.
TEST(CpuMatMul, TwoFunctionsOfOneKind) {
    const std::map<std::string, Tensor> constants = {{"w", weights({6, 16})},
                                                     {"b", weights({1, 1}, 2)}};
    for (const char* functions :
         {"h = HardSigmoid(m)  y = Add(h, b)",
          "h = LeakyRelu<alpha=0.1>(m)  y = LeakyRelu<alpha=0.5>(h)",
          "h = Elu<alpha=0.5>(m)  y = Elu<alpha=1.5>(h)",
          "h = HardSigmoid(m)  n = Sub(h, b)  y = HardSigmoid<alpha=0.4>(n)"}) {
        expectRuns(std::string("(float[3,6] x, float[6,16] w, float[1,1] b) => (float[3,16] y) "
                               "{ m = MatMul(x, w)  ") +
                       functions + " }",
                   "Contraction", 2e-6, constants);
    }
    convWith("h = LeakyRelu<alpha=0.1>(c)  y = LeakyRelu<alpha=0.5>(h)");
}

/// Sizes around a group of rows and a panel of columns, blocks of rows, batches that one side
/// lacks, a B that is constant or not.
TEST(CpuMatMul, OtherTypesOfAnySize) {
    std::mt19937 random(11);
    const std::map<std::string, DType> types{{"double", DType::Float64},
                                             {"int32", DType::Int32},
                                             {"int64", DType::Int64},
                                             {"uint32", DType::UInt32},
                                             {"uint64", DType::UInt64}};
    for (int drawn = 0; drawn < 100; ++drawn) {
        const auto& [type, dtype] = *std::next(types.begin(), random() % 5);
        const int64_t most[] = {10, 150};
        const auto upTo = [&](int64_t highest) { return 1 + int64_t(random()) % highest; };
        const int64_t m = upTo(most[random() % 2]), k = random() % 10 ? upTo(40) : upTo(1500),
                      n = upTo(90);
        const std::string batch = random() % 2 ? "3," : "", other = random() % 2 ? batch : "";
        std::map<std::string, Tensor> constants;
        if (random() % 2) {
            Tensor z(dtype, other.empty() ? Extents{k, n} : Extents{3, k, n});
            for (int64_t i = 0; i < z.elementCount(); ++i)
                z.set(i, double(random() % 200));
            constants.emplace("z", std::move(z));
        }
        const CpuRun run =
            expectRuns(fmt::format("({0}[{1}{3},{4}] x, {0}[{2}{4},{5}] z) => ({0}[{1}{3},{5}] y) "
                                   "{{ y = MatMul(x, z) }}",
                                   type, batch, other, m, k, n),
                       "Contraction", 1e-14 * double(10 + k), constants);
        EXPECT_TRUE(run.tactic.starts_with("columns ")) << run.tactic;
        if (HasFailure())
            return;
    }
}

TEST(CpuMatMul, OtherTypes) {
    expectRuns("(double[5,16] x, double[16,7] z) => (double[5,7] y) { y = MatMul(x, z) }",
               "Contraction", 1e-13);
    expectRuns("(int32[5,16] x, int32[16,7] z) => (int32[5,7] y) { y = MatMul(x, z) }",
               "Contraction");
    expectRuns("(float16[5,16] x, float16[16,7] z) => (float16[5,7] y) { y = MatMul(x, z) }",
               "Contraction", 2e-3);
}

/// Where the processor multiplies bfloat16: oneDNN gets the operands as they are stored, and the
/// result is within the rounding of the type.
TEST(CpuContraction, BFloat16OperandsAreNotWidened) {
    if (!cpu::multipliesNatively(DType::BFloat16))
        GTEST_SKIP() << "this processor has no bfloat16 products";
    const char* programs[] = {
        "(bfloat16[2,32,9,11] x, bfloat16[48,32,3,3] w, bfloat16[48] b, bfloat16[2,48,5,6] r) => "
        "(bfloat16[2,48,5,6] y) { c = Conv<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(x, w, "
        "b)  a = Add(c, r)  y = Relu(a) }",
        "(bfloat16[2,32,9,11] x, bfloat16[48,32,1,1] w, float[48] s, float[48] o, float[48] m, "
        "float[48] v) => (bfloat16[2,48,9,11] y) { c = Conv(x, w)  f = Cast<to=1>(c)"
        "  n = BatchNormalization(f, s, o, m, v)  g = Cast<to=16>(n)  y = Relu(g) }",
        "(bfloat16[7,64] x, bfloat16[64,32] w, bfloat16[32] b) => (bfloat16[7,32] y) "
        "{ m = MatMul(x, w)  a = Add(m, b)  y = Relu(a) }",
        "(bfloat16[3,7,64] x, bfloat16[3,64,32] z) => (bfloat16[3,7,32] y) { y = MatMul(x, z) }",
    };
    for (const char* program : programs) {
        const std::string text = program;
        std::map<std::string, Tensor> constants;
        for (auto& [name, extents] :
             std::map<std::string, Extents>{{"s", {48}}, {"o", {48}}, {"m", {48}}})
            if (text.find("float[48] " + name + ",") != std::string::npos)
                constants.emplace(name, weights(extents));
        if (!constants.empty())
            constants.emplace("v", Tensor::ofFloats({48}, std::vector<float>(48, 0.7F)));
        CpuRun run = expectRuns(text, "Contraction", 2e-2, constants);
        EXPECT_NE(run.tactic.find("bf16"), std::string::npos) << program << ": " << run.tactic;
    }
}

TEST(EpilogueMatch, AffinePerChannelFoldsIntoWeightsAndBias) {
    TapeBuilder t;
    Scalar acc = t.input(DType::Float32), mean = t.input(DType::Float32),
           scale = t.input(DType::Float32);
    Scalar y = max((acc - mean) * scale + 0.5, t.constant(DType::Float32, 0));
    std::vector<EpilogueInput> inputs = {{EpilogueInput::Kind::Accumulator, {}, 0},
                                         {EpilogueInput::Kind::Constant, {1, 2}, 0},
                                         {EpilogueInput::Kind::Constant, {3, 4}, 1}};
    auto result = matchEpilogue(t.finish({y}), inputs);
    auto* matched = std::get_if<MatchedEpilogue>(&result);
    ASSERT_TRUE(matched);
    EXPECT_EQ(matched->scale, (std::vector<double>{3, 4}));
    EXPECT_EQ(matched->shift, (std::vector<double>{-2.5, -7.5}));
    ASSERT_EQ(matched->postOps.size(), 1U);
    EXPECT_EQ(matched->postOps[0].activation.kind, Activation::Relu);
}

TEST(EpilogueMatch, TwoResidualsAreRefusedWithAReason) {
    TapeBuilder t;
    Scalar acc = t.input(DType::Float32), r = t.input(DType::Float32), q = t.input(DType::Float32);
    std::vector<EpilogueInput> inputs = {{EpilogueInput::Kind::Accumulator, {}, 0},
                                         {EpilogueInput::Kind::Full, {}, 0},
                                         {EpilogueInput::Kind::Full, {}, 1}};
    auto result = matchEpilogue(t.finish({acc + r + q}), inputs);
    auto* reason = std::get_if<Reason>(&result);
    ASSERT_TRUE(reason);
    EXPECT_EQ(reason->code, "epilogue");
}

TEST(EpilogueMatch, AClipFarOutIsNotRelu) {
    TapeBuilder t;
    Scalar acc = t.input(DType::Float32);
    Scalar y = min(max(acc, t.constant(DType::Float32, 0)), t.constant(DType::Float32, 12345.0));
    auto f = matchActivation(t.finish({y}), 0, 4);
    ASSERT_TRUE(f);
    EXPECT_EQ(f->kind, Activation::Clip);
    EXPECT_EQ(f->beta, 12345.0);
}

// Large values of an even function are infinite in 16 bits, on both sides.
TEST(EpilogueMatch, AnInfinityAgreesWithNothingElse) {
    for (DType narrow : {DType::Float16, DType::BFloat16}) {
        TapeBuilder t;
        Scalar x = t.input(DType::Float32);
        const Tape tape = t.finish({cast(x * x, narrow)});
        auto f = matchActivation(tape, 0, tape.outputs[0], 0x1p-7);
        EXPECT_TRUE(!f || f->kind != Activation::Clip);
    }
    for (const char* last :
         {"y = Abs(m)", "r = Relu(m)  y = Mul(r, r)", "y = LeakyRelu<alpha=-2.0>(m)"})
        for (const char* type : {"float16", "bfloat16"})
            expectRuns(
                fmt::format("({0}[4,8] x, {0}[8,4] w) => ({0}[4,4] y) {{ m = MatMul(x, w)  {1} }}",
                            type, last),
                "Contraction", 0.02);
}

TEST(EpilogueMatch, TanhGeluIsNotErfGelu) {
    TapeBuilder t;
    Scalar x = t.input(DType::Float32);
    Scalar inner = (x + x * x * x * 0.044715) * 0.7978845608;
    Tape tape = t.finish({x * 0.5 * (unary(TapeOp::Tanh, inner) + 1.0)});
    auto f = matchActivation(tape, 0, tape.outputs[0]);
    ASSERT_TRUE(f);
    EXPECT_EQ(f->kind, Activation::GeluTanh);
}
