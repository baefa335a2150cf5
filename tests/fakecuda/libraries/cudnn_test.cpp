// SPDX-License-Identifier: Apache-2.0
// cuDNN's tactics against its stand-in: descriptors of every operation, notes that drop a
// candidate, packs of operands, and what a failure of the library costs.
#include "tests/fakecuda/libraries/library_run.h"

using namespace fuselage;
using namespace fuselage::testing_gpu;

namespace {

class Cudnn : public LibraryTest {
protected:
    static std::unique_ptr<LibraryCase> caseOf(const std::string& text,
                                               const std::map<std::string, Tensor>& constants = {},
                                               bool channelsLast = true) {
        auto out = std::make_unique<LibraryCase>(text, constants, channelsLast);
        out->request.workspaceLimit = 1 << 20;
        out->request.allowed = NumericClass::Reassociated;
        return out;
    }

    void expectRuns(const std::string& text, const std::map<std::string, Tensor>& constants,
                    const std::string& tactic, double tolerance = 1e-5) {
        const SourceRun got = runAll(*caseOf(text, constants), tolerance);
        EXPECT_TRUE(got.has(tactic)) << got.text();
        EXPECT_TRUE(got.failed.empty()) << got.text();
    }
};

std::map<std::string, Tensor> convWeights(DType type = DType::Float32) {
    return {{"w", weightsOf({6, 4, 3, 3}, type)}, {"b", weightsOf({6}, type, 7)}};
}

const char* const convRelu =
    "(float[2,4,7,9] x, float[6,4,3,3] w, float[6] b) => (float[2,6,4,5] y) "
    "{ c = Conv<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(x, w, b) y = Relu(c) }";

const char* const conv = "(float[2,4,7,9] x, float[6,4,3,3] w) => (float[2,6,4,5] y) "
                         "{ y = Conv<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(x, w) }";

const char* const attention =
    "(half[2,9,3,16] q, half[2,9,3,16] k, half[2,9,3,16] v) => (half[2,9,3,16] y) "
    "{ qt = Transpose<perm=[0,2,1,3]>(q) kt = Transpose<perm=[0,2,3,1]>(k) "
    "vt = Transpose<perm=[0,2,1,3]>(v) s = MatMul(qt, kt) p = Softmax<axis=-1>(s) "
    "o = MatMul(p, vt) y = Transpose<perm=[0,2,1,3]>(o) }";

std::string typed(std::string body, const std::string& type) {
    for (size_t at = 0; (at = body.find("half[", at)) != std::string::npos;)
        body.replace(at, 4, type);
    return body;
}

} // namespace

TEST_F(Cudnn, ConvolutionWithBiasAndReluHasCompiledAndCompilingEngines) {
    const SourceRun got = runAll(*caseOf(convRelu, convWeights()));
    EXPECT_TRUE(got.has("cudnn e1 tile 13 stages 4")) << got.text();
    EXPECT_TRUE(got.has("cudnn e10 m 128")) << got.text();
    ASSERT_EQ(got.ran.size(), 3U) << got.text();
    EXPECT_EQ(got.facts[1].workspaceBytes, 1024);
    EXPECT_EQ(got.facts[1].notes, "compiled at run time");
}

TEST_F(Cudnn, AnEngineThatReordersWeightsIsRefused) {
    const SourceRun got = runAll(*caseOf(convRelu, convWeights()));
    ASSERT_EQ(got.refused.size(), 1U) << got.text();
    EXPECT_EQ(got.refused[0].code, "layout");
    EXPECT_EQ(got.refused[0].facts.at(0).value, "cudnn e30");
}

TEST_F(Cudnn, WinogradWantsTheClassApproximate) {
    auto one = caseOf(conv, {{"w", weightsOf({6, 4, 3, 3})}});
    EXPECT_FALSE(runAll(*one).has("e21"));
    one->request.allowed = NumericClass::Approximate;
    const SourceRun got = runAll(*one);
    EXPECT_TRUE(got.has("e21")) << got.text();
    for (size_t i = 0; i < got.ran.size(); ++i)
        EXPECT_EQ(got.facts[i].deterministic, got.ran[i].find("e22") == std::string::npos);
}

TEST_F(Cudnn, HalfConvolutionsWithAResidual) {
    for (const char* type : {"float16", "bfloat16"}) {
        const DType dtype = *dtypeFromName(type);
        expectRuns(typed("(half[2,4,7,9] x, half[6,4,1,1] w, half[6] b, half[2,6,7,9] r) => "
                         "(half[2,6,7,9] y) { c = Conv<kernel_shape=[1,1]>(x, w, b) "
                         "d = Add(c, r) y = Relu(d) }",
                         type),
                   {{"w", weightsOf({6, 4, 1, 1}, dtype)}, {"b", weightsOf({6}, dtype, 7)}}, "e10",
                   dtype == DType::Float16 ? 2e-3 : 2e-2);
    }
}

TEST_F(Cudnn, GroupsAndDilations) {
    expectRuns("(float[2,8,9,9] x, float[6,4,3,3] w, float[6] b) => (float[2,6,5,5] y) "
               "{ c = Conv<kernel_shape=[3,3],group=2,dilations=[2,2]>(x, w, b) y = Elu(c) }",
               convWeights(), "e10");
}

TEST_F(Cudnn, ASignalIsAnImageOfHeightOne) {
    expectRuns("(float[2,4,9] x, float[6,4,3] w, float[6] b) => (float[2,6,9] y) "
               "{ c = Conv<kernel_shape=[3],pads=[1,1]>(x, w, b) y = Relu(c) }",
               {{"w", weightsOf({6, 4, 3})}, {"b", weightsOf({6}, DType::Float32, 7)}}, "e1");
}

TEST_F(Cudnn, SwishAndClipsKeepTheirParameters) {
    expectRuns("(float[2,4,7,9] x, float[6,4,3,3] w, float[6] b) => (float[2,6,4,5] y) "
               "{ c = Conv<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(x, w, b) "
               "s = Sigmoid(c) y = Mul(c, s) }",
               convWeights(), "e10");
    expectRuns("(float[2,4,7,9] x, float[6,4,3,3] w, float[6] b) => (float[2,6,4,5] y) "
               "{ c = Conv<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(x, w, b) "
               "y = LeakyRelu<alpha=0.2>(c) }",
               convWeights(), "e10");
}

TEST_F(Cudnn, RowMajorConvolutionsAreRefusedForTheirLayout) {
    const SourceRun got = runAll(*caseOf(
        "(float[2,4,7,9] x, float[6,4,3,3] w, float[6] b) => (float[2,6,4,5] y) "
        "{ c = Conv<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(x, w, b) y = Sigmoid(c) }",
        convWeights(), false));
    EXPECT_TRUE(got.ran.empty()) << got.text();
    ASSERT_EQ(got.refused.size(), 1U);
    EXPECT_EQ(got.refused[0].code, "layout");
}

TEST_F(Cudnn, LinearLayers) {
    const std::map<std::string, Tensor> weights = {{"w", weightsOf({8, 6}, DType::Float16)},
                                                   {"b", weightsOf({6}, DType::Float16, 3)}};
    for (const char* activation : {"y = Gelu(u)", "y = Elu(u)", "y = Tanh(u)"})
        expectRuns(typed("(half[2,5,8] x, half[8,6] w, half[6] b) => (half[2,5,6] y) "
                         "{ t = MatMul(x, w) u = Add(t, b) " +
                             std::string(activation) + " }",
                         "float16"),
                   weights, "e10", 2e-3);
}

TEST_F(Cudnn, WhereTheFirstListIsShortTheOtherOneFillsItUp) {
    const SourceRun got = runAll(*caseOf(
        "(float[2,5,8] x, float[8,6] w) => (float[2,5,6] y) { t = MatMul(x, w) y = Relu(t) }",
        {{"w", weightsOf({8, 6})}}));
    EXPECT_EQ(got.ran, (std::vector<std::string>{"cudnn e10 m 128", "cudnn e10 m 64", "cudnn e90"}))
        << got.text();
}

/// DequantizeLinear of both factors, the convolution, a stored residual, ReLU, QuantizeLinear.
std::string quantisedConv(const std::string& weight, const std::string& attributes) {
    return "(int8[2,8,9,8] x, int8[" + weight +
           "] w, float[8] ws, uint8[2,8,9,8] r, float[8] b) => (int8[2,8,9,8] y) "
           "<float xs = {0.02}, float rs = {0.03}, uint8 rz = {110}, float ys = {0.05}, int8 yz = "
           "{-9}> { dx = DequantizeLinear(x, xs) dw = DequantizeLinear<axis=0>(w, ws) "
           "c = Conv<" +
           attributes +
           ">(dx, dw, b) dr = DequantizeLinear(r, rs, rz) s = Add(c, dr) u = Relu(s) "
           "y = QuantizeLinear(u, ys, yz) }";
}

TEST_F(Cudnn, QuantisedConvolutionsSumBytesAndRoundTheirResultThemselves) {
    expectRuns(quantisedConv("8,8,3,3", "kernel_shape=[3,3],pads=[1,1,1,1]"),
               {{"w", bytesOf({8, 8, 3, 3})},
                {"ws", stepsOf(8)},
                {"b", weightsOf({8}, DType::Float32, 7)}},
               "cudnn e10", 0);
    expectRuns("(int8[2,8,7,6] x, int8[12,8,3,3] w) => (int32[2,12,7,6] y) "
               "{ y = ConvInteger<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) }",
               {{"w", bytesOf({12, 8, 3, 3})}}, "cudnn e10", 0);
    expectRuns("(int8[5,8] x, int8[8,6] w, float[6] ws, float[6] b) => (float[5,6] y) "
               "<float xs = {0.02}> { dx = DequantizeLinear(x, xs) "
               "dw = DequantizeLinear<axis=1>(w, ws) t = MatMul(dx, dw) u = Add(t, b) "
               "y = Gelu(u) }",
               {{"w", bytesOf({8, 6})}, {"ws", stepsOf(6)}, {"b", weightsOf({6})}}, "cudnn e10");
}

TEST_F(Cudnn, BytesWithAChannelAGroupHaveNoEngine) {
    const SourceRun got =
        runAll(*caseOf(quantisedConv("8,1,3,3", "kernel_shape=[3,3],pads=[1,1,1,1],group=8"),
                       {{"w", bytesOf({8, 1, 3, 3})},
                        {"ws", stepsOf(8)},
                        {"b", weightsOf({8}, DType::Float32, 7)}}));
    EXPECT_TRUE(got.ran.empty()) << got.text();
    ASSERT_EQ(got.refused.size(), 1U);
    EXPECT_EQ(got.refused[0].code, "support");
}

TEST_F(Cudnn, Attention) {
    for (const char* type : {"float16", "bfloat16"})
        expectRuns(typed(attention, type), {}, "cudnn e5",
                   std::string(type) == "float16" ? 2e-3 : 2e-2);
}

TEST_F(Cudnn, MaskedAttentionIsAGraphOfItsParts) {
    for (const char* type : {"float16", "bfloat16"})
        for (const char* mask : {"[2,1,5,9]", "[2,3,5,9]"})
            expectRuns(typed("(half[2,3,5,64] q, half[2,3,9,64] k, half[2,3,9,64] v, half" +
                                 std::string(mask) +
                                 " m) => (half[2,3,5,64] y) { kt = Transpose<perm=[0,1,3,2]>(k) "
                                 "s = MatMul(q, kt) a = Add(s, m) p = Softmax<axis=-1>(a) "
                                 "y = MatMul(p, v) }",
                             type),
                       {}, "cudnn e6", std::string(type) == "float16" ? 4e-3 : 4e-2);
}

TEST_F(Cudnn, APlanThatFailsCostsThatTacticOnly) {
    fake().fail("cudnn plan e10", 5000, 0);
    const SourceRun got = runAll(*caseOf(convRelu, convWeights()));
    EXPECT_TRUE(got.has("e1 tile")) << got.text();
    ASSERT_EQ(got.failed.size(), 2U) << got.text();
    EXPECT_NE(got.failed[0].message.find("told to fail"), std::string::npos) << got.text();
}

TEST_F(Cudnn, ADescriptorThatIsRefusedIsAReason) {
    fake().fail("cudnnBackendFinalize", 3000, 5);
    const SourceRun got = runAll(*caseOf(convRelu, convWeights()));
    EXPECT_TRUE(got.ran.empty()) << got.text();
    ASSERT_EQ(got.refused.size(), 1U);
    EXPECT_EQ(got.refused[0].facts.at(0).value, "cudnn");
}

TEST_F(Cudnn, AnOldLibraryIsMissingWithItsVersion) {
    setenv("FAKECUDNN_VERSION", "8907", 1);
    auto device = Device::open();
    ASSERT_TRUE(device);
    const LibrarySources sources = librarySources(**device, "");
    EXPECT_EQ(sources.sources.size(), 1U);
    ASSERT_EQ(sources.missing.size(), 1U);
    EXPECT_EQ(sources.missing[0].facts.at(0).value, "cudnn");
}
