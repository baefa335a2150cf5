// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's tactics against its stand-in: descriptors, packed weights, bias, batches, workspace,
// and what a failure of the library costs.
#include "tests/fakecuda/libraries/library_run.h"

using namespace fuselage;
using namespace fuselage::testing_gpu;

namespace {

class CublasLt : public LibraryTest {
protected:
    void SetUp() override {
        LibraryTest::SetUp();
        m_make = makeCublasLtSource;
    }

    /// With a workspace limit that admits split sums.
    static std::unique_ptr<LibraryCase>
    caseOf(const std::string& text, const std::map<std::string, Tensor>& constants = {}) {
        auto out = std::make_unique<LibraryCase>(text, constants);
        out->request.workspaceLimit = 1 << 20;
        out->request.allowed = NumericClass::Reassociated;
        return out;
    }

    void expectAllRight(const std::string& text,
                        const std::map<std::string, Tensor>& constants = {},
                        double tolerance = 1e-5) {
        const SourceRun got = runAll(*caseOf(text, constants), tolerance);
        EXPECT_EQ(got.ran.size(), 3U) << got.text();
        EXPECT_TRUE(got.failed.empty()) << got.text();
    }
};

std::map<std::string, Tensor> weights(DType type) {
    return {{"w", weightsOf({8, 6}, type)}, {"b", weightsOf({6}, type, 3)}};
}

const char* const linear = "(float[5,8] x, float[8,6] w, float[6] b) => (float[5,6] y) "
                           "{ t = MatMul(x, w) u = Add(t, b) y = Relu(u) }";

} // namespace

TEST_F(CublasLt, AProductOfTwoOperands) {
    expectAllRight("(float[5,8] a, float[8,6] b) => (float[5,6] y) { y = MatMul(a, b) }");
}

TEST_F(CublasLt, ATransposedOperandIsReadAsItLies) {
    expectAllRight("(float[5,8] a, float[6,8] b) => (float[5,6] y) "
                   "{ t = Transpose<perm=[1,0]>(b) y = MatMul(a, t) }");
}

TEST_F(CublasLt, BiasAndReluInTheEpilogue) {
    expectAllRight(linear, weights(DType::Float32));
}

TEST_F(CublasLt, HalfOperandsAndABiasOfTheirType) {
    for (const char* type : {"float16", "bfloat16"}) {
        const std::string t = type;
        expectAllRight("(" + t + "[5,8] x, " + t + "[8,6] w, " + t + "[6] b) => (" + t +
                           "[5,6] y) { t = MatMul(x, w) u = Add(t, b) y = Relu(u) }",
                       weights(*dtypeFromName(t)), t == "float16" ? 1e-3 : 1e-2);
    }
}

TEST_F(CublasLt, AResidualIsTheMatrixC) {
    expectAllRight("(float[5,8] x, float[8,6] w, float[5,6] r) => (float[5,6] y) "
                   "{ t = MatMul(x, w) y = Add(t, r) }",
                   {{"w", weightsOf({8, 6})}});
}

TEST_F(CublasLt, BatchesByStride) {
    expectAllRight("(float[3,5,8] a, float[3,8,6] b) => (float[3,5,6] y) { y = MatMul(a, b) }");
}

TEST_F(CublasLt, BytesAreSummedExactly) {
    std::map<std::string, Tensor> weight = {{"w", Tensor(DType::Int8, {16, 8})}};
    for (int64_t i = 0; i < 128; ++i)
        weight.at("w").setInt(i, i * 37 % 255 - 127);
    auto made = caseOf("(int8[5,16] x, int8[16,8] w) => (int32[5,8] y) { y = MatMulInteger(x, w) }",
                       weight);
    made->request.allowed = NumericClass::Exact;
    const SourceRun got = runAll(*made, 0);
    EXPECT_EQ(got.ran.size(), 3U) << got.text();
    for (const TacticFacts& facts : got.facts)
        EXPECT_EQ(facts.numeric, NumericClass::Exact);
    // The library wants steps of four; what it refuses is said with its words.
    const SourceRun odd =
        runAll(*caseOf("(int8[5,18] x, int8[18,8] w) => (int32[5,8] y) { y = MatMulInteger(x, w) }",
                       {{"w", Tensor(DType::Int8, {18, 8})}}));
    EXPECT_TRUE(odd.ran.empty());
    ASSERT_EQ(odd.refused.size(), 1U) << odd.text();
    EXPECT_EQ(odd.refused[0].code, "support");
}

TEST_F(CublasLt, AConvolutionOfSinglePositions) {
    LibraryCase made(
        "(float16[2,8,3,4] x, float16[6,8,1,1] w, float16[6] b, float16[2,6,3,4] r) "
        "=> (float16[2,6,3,4] y) { c = Conv(x, w, b) u = Add(c, r) y = Relu(u) }",
        {{"w", weightsOf({6, 8, 1, 1}, DType::Float16)}, {"b", weightsOf({6}, DType::Float16, 3)}},
        true);
    made.request.workspaceLimit = 1 << 20;
    made.request.allowed = NumericClass::Reassociated;
    const SourceRun got = runAll(made, 2e-3);
    EXPECT_EQ(got.ran.size(), 3U) << got.text();
    EXPECT_TRUE(got.failed.empty()) << got.text();
}

TEST_F(CublasLt, GeluIsTheTanhForm) {
    expectAllRight("(float16[5,8] x, float16[8,6] w, float16[6] b) => (float16[5,6] y) "
                   "{ t = MatMul(x, w) u = Add(t, b) y = Gelu<approximate=\"tanh\">(u) }",
                   weights(DType::Float16), 2e-3);
}

TEST_F(CublasLt, WithoutWorkspaceThereAreNoSplitSums) {
    auto one = caseOf(linear, weights(DType::Float32));
    EXPECT_TRUE(runAll(*one).has("split-k"));
    one->request.workspaceLimit = 0;
    const SourceRun got = runAll(*one);
    EXPECT_EQ(got.ran.size(), 2U) << got.text();
    EXPECT_FALSE(got.has("split-k"));
}

TEST_F(CublasLt, HeuristicsThatFailCostTheTacticsWithTheLibrarysWords) {
    fake().fail("cublasLtMatmulAlgoGetHeuristic", 15, 0);
    const SourceRun got = runAll(*caseOf(linear, weights(DType::Float32)));
    EXPECT_TRUE(got.ran.empty()) << got.text();
    ASSERT_EQ(got.refused.size(), 1U) << got.text();
    EXPECT_EQ(got.refused[0].code, "support");
    EXPECT_NE(got.refused[0].message.find("CUBLAS_STATUS_NOT_SUPPORTED"), std::string::npos);
}

TEST_F(CublasLt, ALaunchThatIsRefusedIsAnErrorThatNamesTheTactic) {
    fake().fail("cublasLtMatmul", 13, 0);
    const SourceRun got = runAll(*caseOf(linear, weights(DType::Float32)));
    ASSERT_EQ(got.failed.size(), 3U) << got.text();
    EXPECT_EQ(got.failed[0].code, "cublaslt.execute");
    EXPECT_EQ(got.failed[0].where.find("cublaslt a"), 0U) << got.failed[0].where;
}
