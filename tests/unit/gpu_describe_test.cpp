// SPDX-License-Identifier: Apache-2.0
// Programs as cuDNN graphs, proven by running the description against the program's evaluation; no
// library is needed.
#include "gpu_libs_support.h"

using namespace fuselage;
using namespace fuselage::testing_gpu;

namespace {

std::map<std::string, Tensor> convWeights(DType dtype = DType::Float32) {
    return {{"w", weightsOf({6, 4, 3, 3}, dtype)}, {"b", weightsOf({6}, dtype, 7)}};
}

const char* conv = "c = Conv<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(x, w, b) ";

/// The convolution followed by what is given, channels last.
GraphDescription describedConv(const std::string& epilogue, const std::string& more = "",
                               std::map<std::string, Tensor> constants = {}) {
    constants.merge(convWeights());
    return expectDescribed(LibraryCase("(float[2,4,7,9] x, float[6,4,3,3] w, float[6] b" + more +
                                           ") => (float[2,6,4,5] y) { " + conv + epilogue + " }",
                                       constants, true));
}

GraphDescription describedMatMul(const std::string& epilogue, const std::string& more = "",
                                 std::map<std::string, Tensor> constants = {}) {
    constants.emplace("w", weightsOf({8, 6}));
    constants.emplace("b", weightsOf({6}, DType::Float32, 3));
    return expectDescribed(
        LibraryCase("(float[2,4,8] x, float[8,6] w, float[6] b" + more +
                        ") => (float[2,4,6] y) { t = MatMul(x, w) u = Add(t, b) " + epilogue + " }",
                    constants));
}

size_t pointwiseNodes(const GraphDescription& graph) {
    return graph.nodes.size() - 1;
}

} // namespace

TEST(Describe, ConvolutionWithBiasAndReluIsThreeNodesChannelsLast) {
    const GraphDescription graph = describedConv("y = Relu(c)");
    EXPECT_EQ(text(graph), R"(in0 : float [2,4,7,9] strides [252,1,36,4]
packed0 : float [6,4,3,3] strides [36,1,12,4]
packed1 : float [1,6,1,1] strides [6,1,6,6]
out0 : float [2,6,4,5] strides [120,1,30,6]
t2 = convolution(in0, packed0) pads [1,1] [1,1] strides [2,2] dilations [1,1]
t4 = add(t2, packed1)
out0 = relu(t4)
)");
    EXPECT_TRUE(graph.channelsLast);
}

TEST(Describe, BatchNormalizationGoesIntoTheWeights) {
    const GraphDescription graph =
        describedConv("n = BatchNormalization(c, s, h, m, var) y = Relu(n)",
                      ", float[6] s, float[6] h, float[6] m, float[6] var",
                      {{"s", weightsOf({6}, DType::Float32, 5)},
                       {"h", weightsOf({6}, DType::Float32, 6)},
                       {"m", weightsOf({6}, DType::Float32, 8)},
                       {"var", Tensor::ofFloats({6}, {1, 2, 0.5F, 1, 3, 1})}});
    EXPECT_EQ(pointwiseNodes(graph), 2U);
    EXPECT_EQ(graph.packed.at(0).factors.size(), 6U);
}

TEST(Describe, ScaleThatLeavesHalfsRangeStaysAnOperation) {
    Tensor scale = weightsOf({6}, DType::Float16);
    scale.set(0, 60000);
    auto constants = convWeights(DType::Float16);
    for (int64_t i = 0; i < 36; ++i) // of channel 0
        constants.at("w").set(i, 1e-5);
    constants.at("w").set(36, 4);
    constants.emplace("s", scale.reshaped({1, 6, 1, 1}));
    const GraphDescription graph = expectDescribed(
        LibraryCase("(float16[1,4,3,3] x, float16[6,4,3,3] w, float16[6] b, float16[1,6,1,1] s) => "
                    "(float16[1,6,3,3] y) { c = Conv<kernel_shape=[3,3],pads=[1,1,1,1]>(x, w) "
                    "d = Mul(c, s) y = Relu(d) }",
                    constants, true),
        2e-3);
    EXPECT_TRUE(graph.packed.at(0).factors.empty());
    EXPECT_EQ(pointwiseNodes(graph), 2U);
}

TEST(Describe, ResidualIsReadAtItsOwnStrides) {
    const GraphDescription graph = describedConv("d = Add(c, r) y = Relu(d)", ", float[2,6,4,5] r");
    EXPECT_EQ(pointwiseNodes(graph), 3U);
}

TEST(Describe, ActivationsOfConvolutions) {
    for (const char* function :
         {"y = Sigmoid(c)", "y = Tanh(c)", "y = Elu<alpha=0.7>(c)", "y = LeakyRelu<alpha=0.1>(c)",
          "y = HardSwish(c)", "y = Softplus(c)", "y = Abs(c)", "s = Sigmoid(c) y = Mul(c, s)",
          "s = Softplus(c) t = Tanh(s) y = Mul(c, t)",
          "l = Constant<value_float=0.0>() h = Constant<value_float=6.0>() y = Clip(c, l, h)"}) {
        SCOPED_TRACE(function);
        describedConv(function);
    }
}

TEST(Describe, UpperClipAloneIsAMinimum) {
    const GraphDescription graph = describedConv("h = Constant<value_float=0.5>() y = Min(c, h)");
    EXPECT_NE(text(graph).find("minimum("), std::string::npos) << text(graph);
}

TEST(Describe, GroupedDilatedAsymmetricAndOneDimensionalConvolutions) {
    expectDescribed(
        LibraryCase("(float[1,6,8,8] x, float[9,2,3,3] w) => (float[1,9,7,8] y) "
                    "{ y = Conv<kernel_shape=[3,3],group=3,dilations=[2,2],pads=[1,3,2,1]>(x, w) }",
                    {{"w", weightsOf({9, 2, 3, 3})}}, true));
    expectDescribed(LibraryCase("(float[2,4,11] x, float[6,4,3] w) => (float[2,6,5] y) "
                                "{ c = Conv<kernel_shape=[3],strides=[2]>(x, w) y = Relu(c) }",
                                {{"w", weightsOf({6, 4, 3})}}, true));
    expectDescribed(LibraryCase("(float[1,2,3,4,5] x, float[3,2,2,2,2] w) => (float[1,3,2,3,4] y) "
                                "{ y = Conv<kernel_shape=[2,2,2]>(x, w) }",
                                {{"w", weightsOf({3, 2, 2, 2, 2})}}, true));
}

TEST(Describe, RowMajorConvolutionsAreDescribedAndSaidToBeSo) {
    const LibraryCase rowMajor("(float[2,4,7,9] x, float[6,4,3,3] w) => (float[2,6,5,7] y) "
                               "{ y = Conv<kernel_shape=[3,3]>(x, w) }",
                               {{"w", weightsOf({6, 4, 3, 3})}});
    EXPECT_FALSE(expectDescribed(rowMajor).channelsLast);
}

TEST(Describe, WeightsThatChangeAreReadWhereTheyAre) {
    const GraphDescription graph =
        expectDescribed(LibraryCase("(float[1,4,5,5] x, float[6,4,3,3] w) => (float[1,6,3,3] y) "
                                    "{ y = Conv<kernel_shape=[3,3]>(x, w) }",
                                    {}, true));
    EXPECT_TRUE(graph.packed.empty());
}

TEST(Describe, LinearLayerPacksTheReducedDimensionInnermost) {
    const GraphDescription graph = describedMatMul("y = Relu(u)");
    EXPECT_EQ(text(graph), R"(in0 : float [1,8,8] strides [64,8,1]
packed0 : float [1,8,6] strides [48,1,8]
packed1 : float [1,1,6] strides [6,6,1]
out0 : float [1,8,6] strides [48,6,1]
t2 = matmul(in0, packed0)
t4 = add(t2, packed1)
out0 = relu(t4)
)");
}

TEST(Describe, GeluLayerScaleAndResidualOfLinearLayers) {
    const GraphDescription gelu =
        describedMatMul("r = Constant<value_float=1.41421356>() d = Div(u, r) e = Erf(d) "
                        "o = Constant<value_float=1.0>() p = Add(e, o) q = Mul(u, p) "
                        "h = Constant<value_float=0.5>() y = Mul(q, h)");
    EXPECT_NE(text(gelu).find("gelu_erf("), std::string::npos) << text(gelu);
    const GraphDescription scaled =
        describedMatMul("s = Mul(u, g) y = Add(s, r)", ", float[6] g, float[2,4,6] r",
                        {{"g", weightsOf({6}, DType::Float32, 9)}});
    EXPECT_EQ(pointwiseNodes(scaled), 2U);
}

TEST(Describe, GeluWithConstantsInSixteenBitsIsGelu) {
    const std::string nodes = "t = MatMul(x, w) d = Div(t, r) e = Erf(d) p = Add(e, o) "
                              "q = Mul(t, p) y = Mul(q, h) }";
    auto constants = [](DType type) {
        std::map<std::string, Tensor> out = {{"w", weightsOf({8, 6}, type)}};
        for (auto [name, value] : {std::pair{"r", 1.41421356}, {"o", 1.0}, {"h", 0.5}}) {
            Tensor one(type, {1});
            one.set(0, value);
            out.emplace(name, one);
        }
        return out;
    };
    for (auto [type, name] :
         {std::pair{DType::Float16, "float16"}, {DType::BFloat16, "bfloat16"}}) {
        const std::string t = name;
        const GraphDescription graph = expectDescribed(
            LibraryCase("(" + t + "[4,8] x, " + t + "[8,6] w, " + t + "[1] r, " + t + "[1] o, " +
                            t + "[1] h) => (" + t + "[4,6] y) { " + nodes,
                        constants(type)),
            type == DType::Float16 ? 2e-3 : 2e-2);
        EXPECT_NE(text(graph).find("gelu_erf("), std::string::npos) << text(graph);
    }
}

TEST(Describe, TanhGeluIsASecondFormWhereApproximationsAreAllowed) {
    LibraryCase made("(float[4,8] x, float[8,6] w) => (float[4,6] y) "
                     "{ t = MatMul(x, w) y = Gelu(t) }",
                     {{"w", weightsOf({8, 6})}});
    made.request.allowed = NumericClass::Approximate;
    const GraphDescription exact = expectDescribed(made, 1e-5, 0);
    EXPECT_EQ(exact.numeric, NumericClass::Reassociated);
    const GraphDescription nearby = expectDescribed(made, 1e-3, 1);
    EXPECT_EQ(nearby.numeric, NumericClass::Approximate);
    EXPECT_NE(text(nearby).find("gelu_tanh("), std::string::npos);
    made.request.allowed = NumericClass::Reassociated;
    EXPECT_EQ(std::get<std::vector<GraphDescription>>(describe(made.request)).size(), 1U);
}

TEST(Describe, HeadsThatAreSplitInTheWritesBecomeABatch) {
    expectDescribed(LibraryCase("(float[2,4,8] x, float[8,6] w, float[6] b) => (float[2,3,4,2] y) "
                                "{ t = MatMul(x, w) u = Add(t, b) "
                                "s = Constant<value_ints=[2,4,3,2]>() "
                                "r = Reshape(u, s) y = Transpose<perm=[0,2,1,3]>(r) }",
                                {{"w", weightsOf({8, 6})}, {"b", weightsOf({6})}}));
}

TEST(Describe, BatchedAndTransposedProducts) {
    expectDescribed(LibraryCase("(float[2,3,4,5] a, float[2,3,6,5] b) => (float[2,3,4,6] y) "
                                "{ t = Transpose<perm=[0,1,3,2]>(b) y = MatMul(a, t) }"));
    expectDescribed(LibraryCase("(float[2,3,4,5] a, float[3,5,6] b) => (float[2,3,4,6] y) "
                                "{ y = MatMul(a, b) }"));
    expectDescribed(LibraryCase("(float[5,4] a, float[6,5] b, float[6] c) => (float[4,6] y) "
                                "{ y = Gemm<transA=1,transB=1,alpha=0.5,beta=2.0>(a, b, c) }",
                                {{"b", weightsOf({6, 5})}, {"c", weightsOf({6})}}));
}

TEST(Describe, ResultsOnTheWayAreOutputsToo) {
    const GraphDescription graph = expectDescribed(
        LibraryCase("(float[4,8] x, float[8,6] w, float[6] b) => (float[4,6] u, float[4,6] y) "
                    "{ t = MatMul(x, w) u = Add(t, b) y = Relu(u) }",
                    {{"w", weightsOf({8, 6})}, {"b", weightsOf({6})}}));
    EXPECT_EQ(pointwiseNodes(graph), 2U);
}

TEST(Describe, SeveralOperandsAndAGateAreOperations) {
    describedMatMul("v = Add(u, r) z = Relu(v) y = Mul(z, s)", ", float[2,4,6] r, float[2,4,6] s");
    describedMatMul("v = Add(u, r) y = Add(v, s)", ", float[2,4,6] r, float[2,1,6] s");
}

TEST(Describe, AttentionReadsStridedViews) {
    Tensor half(DType::Float16, {1});
    half.set(0, 0.5);
    const GraphDescription graph = expectDescribed(
        LibraryCase("(float16[2,5,3,4] q, float16[2,7,3,4] k, float16[2,7,3,6] v, float16[1] f) => "
                    "(float16[2,5,3,6] y) {"
                    " qt = Transpose<perm=[0,2,1,3]>(q) kt = Transpose<perm=[0,2,3,1]>(k) "
                    " vt = Transpose<perm=[0,2,1,3]>(v) s = MatMul(qt, kt) "
                    " m = Mul(s, f) p = Softmax<axis=-1>(m) "
                    " o = MatMul(p, vt) y = Transpose<perm=[0,2,1,3]>(o) }",
                    {{"f", half}}),
        2e-3);
    EXPECT_EQ(text(graph), R"(in0 : float16 [2,3,5,4] strides [60,4,12,1]
in1 : float16 [2,3,7,4] strides [84,4,12,1]
in2 : float16 [2,3,7,6] strides [126,6,18,1]
out0 : float16 [2,3,5,6] strides [90,6,18,1]
out0 = attention(in0, in1, in2) scale 0.5
)");
}

TEST(Describe, MaskedAttentionIsAGraphOfItsParts) {
    const GraphDescription graph = expectDescribed(
        LibraryCase("(float16[2,3,5,4] q, float16[2,3,7,4] k, float16[2,3,7,6] v, "
                    "float16[2,1,5,7] m) => (float16[2,3,5,6] y) {"
                    " kt = Transpose<perm=[0,1,3,2]>(k) s = MatMul(q, kt) a = Add(s, m) "
                    " p = Softmax<axis=-1>(a) y = MatMul(p, v) }"),
        2e-3);
    EXPECT_EQ(text(graph), R"(in0 : float16 [2,3,5,4] strides [60,20,4,1]
in1 : float16 [2,3,4,7] strides [84,28,1,4]
in2 : float16 [2,3,7,6] strides [126,42,6,1]
packed0 : float [1,1,1,1] strides [1,1,1,1]
in3 : float16 [2,1,5,7] strides [35,35,7,1]
out0 : float16 [2,3,5,6] strides [90,30,6,1]
t3 = matmul(in0, in1)
t5 = multiply(t3, packed0)
t7 = add(t5, in3)
t8 = maximum(t7) to [2,3,5,1]
t9 = subtract(t7, t8)
t10 = exp(t9)
t11 = sum(t10) to [2,3,5,1]
t12 = divide(t10, t11)
out0 = matmul(t12, in2)
)");
    EXPECT_EQ(graph.tensors[12].dtype, DType::Float16);
    EXPECT_EQ(graph.packed.at(0).values, std::vector<double>{1});
}

TEST(Describe, AMaskThatRepeatsAlongTheQueriesOrTheKeysIsRefused) {
    for (const char* mask : {"float16[2,1,1,7] m", "float16[5,1] m"}) {
        LibraryCase made("(float16[2,3,5,4] q, float16[2,3,7,4] k, float16[2,3,7,6] v, " +
                         std::string(mask) +
                         ") => (float16[2,3,5,6] y) {"
                         " kt = Transpose<perm=[0,1,3,2]>(k) s = MatMul(q, kt) a = Add(s, m) "
                         " p = Softmax<axis=-1>(a) y = MatMul(p, v) }");
        EXPECT_EQ(expectRefused(made.request).code, "mask") << mask;
    }
}

TEST(Describe, AttentionThatKeepsScoresByAConditionIsRefused) {
    LibraryCase made("(float16[2,5,4] q, float16[2,7,4] k, float16[2,7,6] v, bool[5,7] m, "
                     "float16[1] low) => (float16[2,5,6] y) {"
                     " kt = Transpose<perm=[0,2,1]>(k) s = MatMul(q, kt) a = Where(m, s, low) "
                     " p = Softmax<axis=-1>(a) y = MatMul(p, v) }",
                     {{"low", [] {
                           Tensor low(DType::Float16, {1});
                           low.set(0, -10000);
                           return low;
                       }()}});
    EXPECT_EQ(expectRefused(made.request).code, "mask");
}

namespace {

/// A quantised convolution with everything that may stand behind it.
LibraryCase quantisedConv(const std::string& residual = "uint8", const std::string& zero = "110") {
    return LibraryCase(
        "(int8[2,8,9,8] x, int8[12,8,3,3] w, float[12] ws, " + residual +
            "[2,12,5,4] r, float[12] b) => (" + residual +
            "[2,12,5,4] y) <float xs = {0.02}, float rs = {0.03}, " + residual + " rz = {" + zero +
            "}, float ys = {0.05}, " + residual +
            " yz = {7}> { dx = DequantizeLinear(x, xs) dw = DequantizeLinear<axis=0>(w, ws) "
            "c = Conv<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(dx, dw, b) "
            "dr = DequantizeLinear(r, rs, rz) s = Add(c, dr) u = Relu(s) "
            "y = QuantizeLinear(u, ys, yz) }",
        {{"w", bytesOf({12, 8, 3, 3})},
         {"ws", stepsOf(12)},
         {"b", weightsOf({12}, DType::Float32, 7)}},
        true);
}

const char* quantisedLinear =
    "(int8[2,4,8] x, int8[8,6] w, float[6] ws, float[6] b) => (float[2,4,6] y) "
    "<float xs = {0.02}> { dx = DequantizeLinear(x, xs) dw = DequantizeLinear<axis=1>(w, ws) "
    "t = MatMul(dx, dw) u = Add(t, b) ";

std::map<std::string, Tensor> linearBytes() {
    return {{"w", bytesOf({8, 6})}, {"ws", stepsOf(6)}, {"b", weightsOf({6}, DType::Float32, 3)}};
}

} // namespace

TEST(Describe, QuantisedConvolutionSumsBytesAndRoundsItsResultItself) {
    const GraphDescription graph = expectDescribed(quantisedConv(), 0);
    EXPECT_EQ(text(graph), R"(in0 : int8 [2,8,9,8] strides [576,1,64,8]
packed0 : int8 [12,8,3,3] strides [72,1,24,8]
packed1 : float [1,12,1,1] strides [12,1,12,12]
packed2 : float [1,12,1,1] strides [12,1,12,12]
in3 : uint8 [2,12,5,4] strides [240,1,48,12]
out0 : uint8 [2,12,5,4] strides [240,1,48,12]
t2 = convolution(in0, packed0) pads [1,1] [1,1] strides [2,2] dilations [1,1]
t4 = multiply(t2, packed1)
t6 = add(t4, packed2)
t9 = subtract(in3, 110)
t11 = multiply(t9, 0.03)
t12 = add(t6, t11)
t13 = relu(t12)
t15 = divide(t13, 0.05)
t17 = add(t15, 1.25829e+07)
t19 = subtract(t17, 1.25829e+07)
t21 = add(t19, 7)
out0 = relu(t21) to 255
)");
    EXPECT_EQ(graph.operands, DType::Int8);
    EXPECT_EQ(graph.numeric, NumericClass::Reassociated);
    EXPECT_TRUE(graph.packed.at(0).factors.empty()); // bytes cannot hold the scale
    EXPECT_NE(text(expectDescribed(quantisedConv("int8", "3"), 0)).find("from -128 to 127"),
              std::string::npos);
}

TEST(Describe, QuantisedConvolutionsOfOnePlanDifferInNumbersOnly) {
    LibraryCase one = quantisedConv(), other = quantisedConv("uint8", "90"),
                third = quantisedConv("int8", "90");
    auto keyOf = [](const LibraryCase& of) {
        return planKey(std::get<std::vector<GraphDescription>>(describe(of.request)).at(0));
    };
    EXPECT_EQ(keyOf(one), keyOf(other));
    EXPECT_NE(keyOf(one), keyOf(third));
}

TEST(Describe, OperatorsOnIntegersAreTheSameGraphs) {
    expectDescribed(
        LibraryCase("(int8[2,8,7,6] x, int8[12,8,3,3] w, int32[12] b) => (int8[2,12,7,6] y) "
                    "<float xs = {0.02}, int8 xz = {0}, float ws = {0.01}, int8 wz = {0}, "
                    "float ys = {0.025}, int8 yz = {-13}> { y = QLinearConv<kernel_shape=[3,3], "
                    "pads=[1,1,1,1]>(x, xs, xz, w, ws, wz, ys, yz, b) }",
                    {{"w", bytesOf({12, 8, 3, 3})}, {"b", sumsOf(12)}}, true),
        0);
    const LibraryCase sums("(int8[1,8,6,5] x, int8[12,4,3,3] w) => (int32[1,12,6,5] y) "
                           "{ y = ConvInteger<kernel_shape=[3,3], pads=[1,1,1,1], group=2>(x, w) }",
                           {{"w", bytesOf({12, 4, 3, 3})}}, true);
    const GraphDescription graph = expectDescribed(sums, 0);
    EXPECT_EQ(graph.nodes.size(), 1U);
    EXPECT_EQ(graph.numeric, NumericClass::Exact);
}

TEST(Describe, QuantisedProductsEndInFloatsOrBytes) {
    const GraphDescription floats =
        expectDescribed(LibraryCase(quantisedLinear + std::string("y = Gelu(u) }"), linearBytes()));
    EXPECT_NE(text(floats).find("gelu_erf("), std::string::npos) << text(floats);
    expectDescribed(
        LibraryCase("(int8[2,4,8] x, int8[8,6] w, float[6] ws) => (int8[2,4,6] y) "
                    "<float xs = {0.02}, float ys = {0.05}, int8 yz = {0}> "
                    "{ dx = DequantizeLinear(x, xs) dw = DequantizeLinear<axis=1>(w, ws) "
                    "t = MatMul(dx, dw) y = QuantizeLinear(t, ys, yz) }",
                    linearBytes()),
        0);
}

TEST(Describe, WhatNoLibraryMultipliesIsRefusedWithWhatToDo) {
    std::map<std::string, Tensor> bytes = {{"w", bytesOf({8, 6})}};
    auto refused = [&](const std::string& text) {
        return expectRefused(LibraryCase(text, bytes).request);
    };
    const Reason unsignedBytes = refused("(uint8[4,8] x, int8[8,6] w) => (int32[4,6] y) "
                                         "{ y = MatMulInteger(x, w) }");
    EXPECT_EQ(unsignedBytes.code, "dtype");
    EXPECT_EQ(unsignedBytes.flip, "store it as int8");
    const Reason zero = refused("(int8[4,8] x, int8[8,6] w) => (int32[4,6] y) <int8 z = {3}> "
                                "{ y = MatMulInteger(x, w, z) }");
    EXPECT_EQ(zero.code, "prologue");
    EXPECT_NE(zero.message.find("zero point"), std::string::npos);
    LibraryCase strict = quantisedConv();
    strict.request.allowed = NumericClass::Exact;
    EXPECT_EQ(expectRefused(strict.request).code, "numeric");
}

TEST(Describe, RefusalsNameTheirCause) {
    LibraryCase made("(float[4,8] x, float[8,6] w) => (float[4,6] y) { y = MatMul(x, w) }");
    made.request.allowed = NumericClass::Exact;
    EXPECT_EQ(expectRefused(made.request).code, "numeric");
    EXPECT_EQ(
        expectRefused(LibraryCase("(float[4] x) => (float[4] y) { y = Relu(x) }").request).code,
        "kind");
    EXPECT_EQ(expectRefused(LibraryCase("(double[4,8] x, double[8,6] w) => (double[4,6] y) "
                                        "{ y = MatMul(x, w) }")
                                .request)
                  .code,
              "dtype");
    EXPECT_EQ(expectRefused(LibraryCase("(float[4,8] x, float[8,6] w) => (float[4,6] y) "
                                        "{ t = MatMul(x, w) y = Floor(t) }")
                                .request)
                  .code,
              "epilogue");
    EXPECT_EQ(expectRefused(LibraryCase("(float[2,4,8] q, float[2,4,8] k, float[2,4,8] v) => "
                                        "(float[2,4,8] y) { kt = Transpose<perm=[0,2,1]>(k) "
                                        "s = MatMul(q, kt) p = Softmax(s) y = MatMul(p, v) }")
                                .request)
                  .code,
              "dtype");
}

TEST(Describe, ACastThatRoundsInsideIsNotTakenAway) {
    EXPECT_EQ(expectRefused(LibraryCase("(float[4,8] x, float[8,6] w) => (float[4,6] y) "
                                        "{ t = MatMul(x, w) h = Cast<to=10>(t) "
                                        "f = Cast<to=1>(h) y = Relu(f) }")
                                .request)
                  .code,
              "numeric");
}
