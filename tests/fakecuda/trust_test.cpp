// SPDX-License-Identifier: Apache-2.0
// A candidate that computes something else, takes the device along or never ends costs itself only:
// it is named with its reason, and the run's result is right.
#include "gpu/tune/timing_cache.h"
#include "tests/fakecuda/fixture.h"
#include "tests/fakecuda/model_run.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace fuselage;

const char* const chain = "g (float[32,64] x, float[64] b) => (float[32,64] y) {"
                          " a = Add(x, b) t = Sigmoid(a) y = Mul(a, t) }";

const char* const product = "g (float16[64,96] x, float16[96,64] w) => (float16[64,64] y) {"
                            " a = MatMul(x, w) y = Relu(a) }";

/// The second step's result takes the memory of the first one's.
const char* const inPlace = "g (float[32,64] x) => (float[32,64] y) {"
                            " a = Softmax<axis=-1>(x) b = Tanh(a) y = Softmax<axis=-1>(b) }";

enum Spoiled : int { Wrong = 1, Unwritten = 2, Fault = 3, Hang = 4, InPlace = 6 };

class CudaTrust : public FakeCudaTest {
protected:
    gpu::CudaOptions options() const {
        gpu::CudaOptions out = testOptions();
        out.measure = true;
        out.tune.timingCache = folder.path() + "/timings";
        out.tune.deadlineSeconds = 0.2; // of a host that has more to do
        return out;
    }

    /// Why the step does not use the tactic; empty: not said.
    static std::string whyNot(const CudaRun& run, const std::string& tactic) {
        for (const Reason& reason : run.executable->fallbacks(0))
            for (const ReasonFact& fact : reason.facts)
                if (fact.value == tactic)
                    return reason.text();
        return {};
    }

    /// What the timing cache holds of the tactic: code and sentence.
    std::string kept(const std::string& tactic) const {
        auto cache = gpu::loadTimingCache(options().tune.timingCache);
        EXPECT_TRUE(cache);
        for (const auto& [key, entry] : cache->cache.entries())
            for (const gpu::CandidateRecord& record : entry)
                if (record.name == tactic)
                    return record.refused + ": " + record.why;
        return {};
    }

    testing_support::TemporaryFolder folder;
};

TEST_F(CudaTrust, HealthyCandidatesAgreeAndNoneIsRefusedForItsResult) {
    for (const char* text : {chain, product}) {
        const CudaRun run = runOnCuda(text, true, options());
        for (const Reason& reason : run.executable->fallbacks(0))
            EXPECT_NE(reason.code, "wrong-result") << reason.text();
    }
}

TEST_F(CudaTrust, AWrongElementIsFoundAndSaidWithPlaceAndLimit) {
    fake().spoil("pointwise_vector", Wrong);
    const CudaRun run = runOnCuda(chain, true, options());
    EXPECT_EQ(run.tactics(), "pointwise_plain");
    const std::string why = whyNot(run, "pointwise_vector");
    EXPECT_EQ(why.find("wrong-result: pointwise_vector: its result differs from "
                       "`pointwise_plain`: "),
              0U)
        << why;
    EXPECT_NE(why.find(" at element 2047, allowed "), std::string::npos) << why;
    EXPECT_EQ("wrong-result: pointwise_vector: " + kept("pointwise_vector").substr(14), why);
}

TEST_F(CudaTrust, AnElementThatIsNeverWrittenIsFound) {
    fake().spoil("pointwise_vector", Unwritten);
    const CudaRun run = runOnCuda(chain, true, options());
    const std::string why = whyNot(run, "pointwise_vector");
    EXPECT_NE(why.find("2 elements of its result were never written, the first is element 2046"),
              std::string::npos)
        << why;
}

TEST_F(CudaTrust, AWrongTileOfAProductIsFoundAmongTheOthers) {
    fake().spoil("tensor_64x64", Wrong);
    const CudaRun run = runOnCuda(product, true, options());
    const std::string why = whyNot(run, "tensor_64x64");
    EXPECT_EQ(why.find("wrong-result: tensor_64x64: its result differs from `contract_plain`: "),
              0U)
        << why;
    EXPECT_EQ(whyNot(run, "contract_plain"), "");
}

TEST_F(CudaTrust, AWrongJudgeIsOutvoted) {
    fake().spoil("contract_plain", Wrong);
    const CudaRun run = runOnCuda(product, true, options());
    const std::string why = whyNot(run, "contract_plain");
    EXPECT_EQ(why.find("wrong-result: contract_plain: its result differs from "), 0U) << why;
    EXPECT_NE(why.find(" others agree against it"), std::string::npos) << why;
    EXPECT_EQ(whyNot(run, "tensor_64x64"), "");
}

TEST_F(CudaTrust, AChainIsComparedWithItsLayersApart) {
    const CudaRun healthy = runOnCuda(twoLayers, true, options());
    ASSERT_EQ(healthy.plan->steps.size(), 1U);
    for (const Reason& reason : healthy.executable->fallbacks(0))
        EXPECT_NE(reason.code, "wrong-result") << reason.text();
    gpu::CudaOptions again = options();
    again.tune.timingCache += "_spoiled";
    fake().spoil("chain_", Wrong);
    CudaRun run = runOnCuda(twoLayers, true, again);
    ASSERT_EQ(run.plan->steps.size(), 1U);
    EXPECT_EQ(run.tactics().find("layers_apart "), 0U) << run.tactics();
    EXPECT_EQ(whyNot(run, "chain_tensor")
                  .find("wrong-result: chain_tensor: its result differs from "
                        "`layers_apart contract_plain + contract_plain`: "),
              0U)
        << whyNot(run, "chain_tensor");
    // In front of all that was measured a plain run has two launches, which pass the hidden value.
    const HiddenWork work = run.executable->hiddenWork(0);
    EXPECT_EQ(work.launches, 2U);
    EXPECT_EQ(work.passedBytes, 300 * 64 * 2);
}

TEST_F(CudaTrust, ARowInFrontOfAChainIsComparedWithAllOfItsLaunches) {
    const CudaRun healthy = runOnCuda(twoLayersOfRows, true, options());
    ASSERT_EQ(healthy.plan->steps.size(), 1U);
    for (const Reason& reason : healthy.executable->fallbacks(0))
        EXPECT_NE(reason.code, "wrong-result") << reason.text();
    gpu::CudaOptions again = options();
    again.tune.timingCache += "_spoiled";
    fake().spoil("chain_", Wrong);
    CudaRun run = runOnCuda(twoLayersOfRows, true, again);
    ASSERT_EQ(run.plan->steps.size(), 1U);
    EXPECT_EQ(run.tactics().find("layers_apart "), 0U) << run.tactics();
    const std::string judge =
        "layers_apart row_plain + layers_apart contract_plain + contract_plain";
    EXPECT_EQ(whyNot(run, "chain_tensor")
                  .find("wrong-result: chain_tensor: its result differs from `" + judge + "`: "),
              0U)
        << whyNot(run, "chain_tensor");
    // Three launches, which pass the rows and the hidden value: none of it is limited.
    EXPECT_EQ(run.executable->hiddenWork(0).launches, 3U);
    EXPECT_EQ(run.executable->hiddenWork(0).passedBytes, 300 * (32 + 64) * 2);
    gpu::CudaOptions least = options();
    least.tune.timingCache += "_least";
    least.tune.workspaceLimit = 0;
    EXPECT_EQ(whyNot(runOnCuda(twoLayersOfRows, true, least), judge), "");
}

TEST_F(CudaTrust, TheValueBetweenLayersApartIsNoWorkspaceThatIsLimited) {
    gpu::CudaOptions least = options();
    least.tune.workspaceLimit = 0;
    const CudaRun run = runOnCuda(twoLayers, true, least);
    EXPECT_EQ(whyNot(run, "layers_apart contract_plain + contract_plain"), "");
    EXPECT_EQ(kept("layers_apart contract_plain + contract_plain"), ": ");
}

TEST_F(CudaTrust, LayersApartAreLeftOutByTheirKernelsNames) {
    gpu::CudaOptions without = options();
    without.tune.without = {"contract_*"};
    const CudaRun run = runOnCuda(twoLayers, true, without);
    EXPECT_EQ(whyNot(run, "layers_apart contract_plain + contract_plain"),
              "left-out: layers_apart contract_plain + contract_plain: contract_plain: left out by "
              "--without contract_*");
}

TEST_F(CudaTrust, WhatTheCacheRefusesIsNotRunAgain) {
    fake().spoil("pointwise_vector", Wrong);
    runOnCuda(chain, true, options());
    fake().spoil("pointwise_vector", Fault);
    const CudaRun run = runOnCuda(chain, true, options());
    EXPECT_EQ(run.tactics(), "pointwise_plain");
    EXPECT_EQ(whyNot(run, "pointwise_vector").find("wrong-result"), 0U);
}

TEST_F(CudaTrust, AFaultCostsTheCandidateAndTheProgramIsStartedAgain) {
    fake().spoil("pointwise_vector", Fault);
    gpu::CudaOptions faulty = options();
    std::string why;
    faulty.tune.startAgain = [&](const std::string& text, bool) { why = text; };
    auto run = prepareOnCuda(chain, true, faulty);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, "device.lost");
    EXPECT_NE(why.find("candidate `pointwise_vector`"), std::string::npos) << why;
    EXPECT_NE(why.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << why;
    EXPECT_EQ(kept("pointwise_vector").find("device.lost: "), 0U) << kept("pointwise_vector");
    fake().reset(); // what a start of its own gives a process
    fake().spoil("pointwise_vector", Fault);
    const CudaRun next = runOnCuda(chain, true, options());
    EXPECT_EQ(next.tactics(), "pointwise_plain");
    EXPECT_EQ(whyNot(next, "pointwise_vector").find("device.lost"), 0U);
}

TEST_F(CudaTrust, AKernelThatNeverEndsIsLeftAfterItsDeadline) {
    fake().spoil("pointwise_vector", Hang);
    gpu::CudaOptions endless = options();
    std::string why;
    endless.tune.startAgain = [&](const std::string& text, bool) { why = text; };
    auto run = prepareOnCuda(chain, true, endless);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, "device.hung");
    EXPECT_NE(why.find("candidate `pointwise_vector`: a kernel does not end"), std::string::npos)
        << why;
    EXPECT_EQ(kept("pointwise_vector").find("device.hung: "), 0U);
    fake().reset();
    fake().spoil("pointwise_vector", Hang);
    EXPECT_EQ(runOnCuda(chain, true, options()).tactics(), "pointwise_plain");
}

TEST_F(CudaTrust, AStepInPlaceIsCheckedInPlace) {
    fake().spoil("pointwise_vector", InPlace);
    const CudaRun run = runOnCuda(inPlace, false, options());
    ASSERT_EQ(run.plan->steps.size(), 3U);
    ASSERT_TRUE(run.plan->steps[1].inPlace);
    EXPECT_EQ(run.executable->tactic(1), "pointwise_plain");
    const std::string why = kept("pointwise_vector");
    EXPECT_EQ(why.find("wrong-result: its result differs from `pointwise_plain`: in place: "), 0U)
        << why;
    // Where nothing lies on an operand the same kernel is as good as any.
    EXPECT_EQ(whyNot(runOnCuda(chain, true, options()), "pointwise_vector"), "");
}

TEST_F(CudaTrust, AJudgeInPlaceAgreesWithItselfApart) {
    fake().spoil("pointwise_plain", InPlace);
    const CudaRun run = runOnCuda(inPlace, false, options());
    EXPECT_EQ(kept("pointwise_plain").find("wrong-result: differs from itself in place: "), 0U)
        << kept("pointwise_plain");
    EXPECT_EQ(run.executable->tactic(1), "pointwise_vector");
}

TEST_F(CudaTrust, KernelsThatTheDriverRefusesLeaveAWarmStartWarm) {
    fake().fail("cuFuncSetAttribute", 1, 0); // kernels over 48 KiB cannot be loaded
    const std::string large = "g (float16[128,128] x, float16[128,128] w) => (float16[128,128] y) {"
                              " y = MatMul(x, w) }";
    const CudaRun cold = runOnCuda(large, true, options());
    EXPECT_EQ(cold.executable->kernelFacts(0)->choice, "measured");
    size_t refused = 0;
    const auto cache = gpu::loadTimingCache(options().tune.timingCache);
    for (const auto& [key, entry] : cache->cache.entries())
        for (const gpu::CandidateRecord& record : entry)
            refused += record.refused == "device.call" ? 1 : 0;
    EXPECT_GT(refused, 0U);
    const CudaRun warm = runOnCuda(large, true, options());
    EXPECT_EQ(warm.executable->kernelFacts(0)->choice, "cached");
}

TEST_F(CudaTrust, WithoutATimingCacheARefusalLivesBesideTheKernels) {
    fake().spoil("pointwise_vector", Fault);
    gpu::CudaOptions faulty = options();
    faulty.tune.timingCache.clear();
    faulty.cache = folder.path() + "/cache";
    EXPECT_FALSE(prepareOnCuda(chain, true, faulty));
    fake().reset();
    fake().spoil("pointwise_vector", Fault);
    EXPECT_EQ(runOnCuda(chain, true, faulty).tactics(), "pointwise_plain");
}

} // namespace
