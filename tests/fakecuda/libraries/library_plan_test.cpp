// SPDX-License-Identifier: Apache-2.0
// Whole models on the cuda backend with the libraries' stand-ins and without NVRTC: what no library
// computes is the host's, so a wrong descriptor cannot hide behind a generated kernel.
#include "gpu/tune/timing_cache.h"
#include "tests/fakecuda/fixture.h"
#include "tests/fakecuda/model_run.h"
#include "tests/support/temporary_folder.h"

#include <algorithm>

namespace {

using namespace fuselage;

/// "float[8,4] w = {0.5,...}", an initializer of values that differ and stay small.
std::string weights(const std::string& name, const std::string& extents, int count) {
    std::string out = "float[" + extents + "] " + name + " = {";
    for (int i = 0; i < count; ++i)
        out += (i == 0 ? "" : ",") + std::to_string(i * 7 % 11 - 5) + (i % 2 ? ".25" : ".5");
    return out + "}";
}

/// A 3x3 convolution, a 1x1 one whose result takes a residual, and what takes the result from
/// channels last to the output.
const std::string block =
    "g (float[1,4,6,6] x) => (float[1,4,1,1] y) <" + weights("w", "4,4,3,3", 144) + ", " +
    weights("v", "4,4,1,1", 16) + ", " + weights("b", "4", 4) +
    "> { c = Conv<kernel_shape=[3,3],pads=[1,1,1,1]>(x, w, b) d = Relu(c) "
    "e = Conv<kernel_shape=[1,1]>(d, v, b) f = Add(e, d) g = Relu(f) y = GlobalAveragePool(g) }";

const std::string linear = "g (float[6,8] x) => (float[6,8] y) <" + weights("w", "8,8", 64) + ", " +
                           weights("b", "8", 8) +
                           "> { t = MatMul(x, w) u = Add(t, b) y = Relu(u) }";

const std::string attention =
    "g (float16[1,2,5,64] q, float16[1,2,7,64] k, float16[1,2,7,64] v, float16[1,1,5,7] m) => "
    "(float16[1,2,5,64] y) { t = Transpose<perm=[0,1,3,2]>(k) "
    "s = MatMul(q, t) a = Add(s, m) p = Softmax<axis=-1>(a) y = MatMul(p, v) }";

class LibraryPlan : public FakeCudaTest {
protected:
    void SetUp() override {
        FakeCudaTest::SetUp();
        setenv("FUSELAGE_CUDA_LIBRARIES", FAKELIBS_ONLY, 1);
    }

    static size_t stepsOf(const CudaRun& run, const std::string& prefix) {
        size_t out = 0;
        for (size_t i = 0; i < run.plan->steps.size(); ++i)
            out += run.executable->tactic(i).starts_with(prefix) ? 1 : 0;
        return out;
    }

    static std::string reasons(const CudaRun& run) {
        std::string out;
        for (size_t i = 0; i < run.plan->steps.size(); ++i)
            for (const Reason& reason : run.executable->fallbacks(i))
                out += reason.text() + "\n";
        return out;
    }
};

// The convolution of single positions is a product for the other library too.
TEST_F(LibraryPlan, AResidualBlockIsConvolutionsOfLibraries) {
    const CudaRun run = runOnCuda(block, true);
    ASSERT_EQ(run.plan->steps.size(), 3U);
    EXPECT_GE(stepsOf(run, "cudnn"), 1U) << run.tactics() << "\n" << reasons(run);
    EXPECT_EQ(stepsOf(run, "cu"), 2U) << run.tactics() << "\n" << reasons(run);
}

TEST_F(LibraryPlan, ALinearLayerIsOneCallOfALibrary) {
    const CudaRun run = runOnCuda(linear, true);
    ASSERT_EQ(run.plan->steps.size(), 1U);
    EXPECT_EQ(stepsOf(run, "cu"), 1U) << run.tactics() << "\n" << reasons(run);
}

// With kernels of ours, else no two layers are one step; but none of them is right or wanted.
TEST_F(LibraryPlan, TwoLayersApartAreACallEach) {
    setenv("FUSELAGE_CUDA_LIBRARIES", FAKELIBS_FOLDER, 1);
    fake().spoil("chain_", 1);
    gpu::CudaOptions options = testOptions();
    options.measure = true;
    options.tune.without = {"contract_*", "tensor_*"};
    const CudaRun run = runOnCuda(twoLayers, true, options);
    ASSERT_EQ(run.plan->steps.size(), 1U);
    EXPECT_TRUE(run.tactics().starts_with("layers_apart cu")) << run.tactics() << reasons(run);
    EXPECT_NE(run.tactics().find(" + cu"), std::string::npos) << run.tactics();
    EXPECT_EQ(run.executable->hiddenWork(0).launches, 2U);
}

TEST_F(LibraryPlan, CandidatesAreMeasuredAndOneIsChosen) {
    gpu::CudaOptions options = testOptions();
    options.measure = true;
    const CudaRun run = runOnCuda(linear, true, options);
    EXPECT_EQ(stepsOf(run, "cu"), 1U) << run.tactics();
    EXPECT_EQ(run.executable->kernelFacts(0)->choice, "measured");
}

TEST_F(LibraryPlan, AnEngineThatFailsIsNamedAndAnotherIsTaken) {
    fake().fail("cudnn plan e10", 5000, 0);
    gpu::CudaOptions options = testOptions();
    options.measure = true;
    const CudaRun run = runOnCuda(block, true, options);
    EXPECT_NE(reasons(run).find("cudnn e10"), std::string::npos) << reasons(run);
    EXPECT_NE(reasons(run).find("told to fail"), std::string::npos) << reasons(run);
}

TEST_F(LibraryPlan, WithoutAnyPlanTheHostComputes) {
    fake().fail("cudnnBackendFinalize", 3000, 0);
    fake().fail("cublasLtMatmulAlgoGetHeuristic", 15, 0);
    const CudaRun run = runOnCuda(linear, true);
    EXPECT_EQ(stepsOf(run, "host"), 1U) << run.tactics();
    EXPECT_NE(reasons(run).find("CUBLAS_STATUS_NOT_SUPPORTED"), std::string::npos) << reasons(run);
}

TEST_F(LibraryPlan, MaskedAttentionIsTakenFromARecordedCacheWhileItIsLegal) {
    const testing_support::TemporaryFolder folder;
    gpu::CudaOptions options = testOptions();
    options.measure = true;
    options.tune.timingCache = folder.path() + "/timings";
    const CudaRun measured = runOnCuda(attention, true, options);
    ASSERT_EQ(measured.plan->steps.size(), 1U);
    EXPECT_EQ(measured.tactics(), "cudnn e6") << reasons(measured);
    options.tune.frozen = true;
    const CudaRun cached = runOnCuda(attention, true, options);
    EXPECT_EQ(cached.tactics(), "cudnn e6");
    EXPECT_EQ(cached.executable->kernelFacts(0)->choice, "cached");
    fake().fail("cudnn plan e6", 3000, 0);
    const CudaRun without = runOnCuda(attention, true, options);
    EXPECT_EQ(without.tactics(), "host");
    EXPECT_NE(reasons(without).find("told to fail"), std::string::npos) << reasons(without);
    options.tune.fallback = false;
    auto refused = prepareOnCuda(attention, true, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "tune.fallback");
}

TEST_F(LibraryPlan, AWarmStartCallsEachLibraryOnceBeforeTheCaptureAndTakesTheNextWhereThatFails) {
    const testing_support::TemporaryFolder folder;
    gpu::CudaOptions options = testOptions();
    options.measure = true;
    options.tune.timingCache = folder.path() + "/timings";
    EXPECT_EQ(runOnCuda(attention, true, options).tactics(), "cudnn e6");
    fake().fail("cudnnBackendExecute", 5000, 0);
    const CudaRun warm = runOnCuda(attention, true, options);
    EXPECT_EQ(warm.tactics(), "host") << reasons(warm);
    EXPECT_NE(reasons(warm).find("first-call: cudnn e6: its first call failed: "),
              std::string::npos)
        << reasons(warm);
    fake().reset(); // what failed is not called again
    EXPECT_EQ(runOnCuda(attention, true, options).tactics(), "host");
}

TEST_F(LibraryPlan, ALibraryThatLosesTheDeviceInItsOwnWordsIsTheCulprit) {
    const testing_support::TemporaryFolder folder;
    fake().spoil("fakednn_graph", 3);
    gpu::CudaOptions options = testOptions();
    options.measure = true;
    options.tune.timingCache = folder.path() + "/timings";
    auto run = prepareOnCuda(attention, true, options);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, "device.lost");
    auto cache = gpu::loadTimingCache(options.tune.timingCache);
    ASSERT_TRUE(cache);
    ASSERT_EQ(cache->cache.entries().size(), 1U);
    const gpu::TimingEntry& entry = cache->cache.entries().begin()->second;
    ASSERT_EQ(entry.size(), 1U);
    EXPECT_EQ(entry[0].name, "cudnn e6");
    EXPECT_EQ(entry[0].refused, "device.lost");
}

TEST_F(LibraryPlan, ALibraryThatDoesNotStartCostsItsTacticsOnly) {
    fake().fail("cudnnCreate", 1001, 0);
    const CudaRun run = runOnCuda(linear, true);
    EXPECT_EQ(stepsOf(run, "cublaslt"), 1U) << run.tactics();
    EXPECT_NE(run.backend->description().find("without cudnn"), std::string::npos);
}

TEST_F(LibraryPlan, StepsThatAreAskedAtOneTimeGetTheSameTactics) {
    const testing_support::TemporaryFolder folder;
    std::string layers; // of two kinds, each many times
    for (int i = 0; i < 24; ++i)
        layers += "t" + std::to_string(i) + " = MatMul(" +
                  (i == 0 ? std::string("x") : "r" + std::to_string(i - 1)) + ", w) r" +
                  std::to_string(i) + " = " + (i % 2 ? "Relu" : "Sigmoid") + "(t" +
                  std::to_string(i) + ") ";
    const std::string text = "g (float[6,8] x) => (float[6,8] y) <" + weights("w", "8,8", 64) +
                             "> { " + layers + "y = Identity(r23) }";
    gpu::CudaOptions options = testOptions();
    const CudaRun one = runOnCuda(text, true, options);
    options.threads = 4;
    for (const std::string& cache : {std::string("none"), folder.path(), folder.path()}) {
        options.cache = cache;
        EXPECT_EQ(runOnCuda(text, true, options).tactics(), one.tactics());
    }
}

TEST_F(LibraryPlan, EverythingIsGivenBack) {
    const FakeCudaCounts before = fake().now();
    for (const std::string& text : {block, linear, attention}) {
        runOnCuda(text, true);
        EXPECT_EQ(fake().now().allocations, before.allocations);
        EXPECT_EQ(fake().now().streams, before.streams);
    }
}

} // namespace
