// SPDX-License-Identifier: Apache-2.0
// The cuda backend end to end on small models: plan, tactics, capture, run, against the reference;
// and what it does when the device fails.
#include "tests/fakecuda/fixture.h"
#include "tests/fakecuda/model_run.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace fuselage;

const char* const chain = "g (float[3,5] x, float[5] b) => (float[3,5] y) {"
                          " a = Add(x, b) t = Sigmoid(a) y = Mul(a, t) }";

/// The middle step has no kernel: the host computes it.
const char* const withHostStep = "g (float[4,6] x) => (float[4,6] y) {"
                                 " a = Exp(x) c = Hardmax(a) y = Neg(c) }";

class CudaBackend : public FakeCudaTest {
protected:
    /// The error of running once more after the call of that name begins to fail.
    static Error failureOf(CudaRun& run, const char* call, int code) {
        fake().fail(call, code, 0);
        Progress progress;
        auto outputs = run.executable->outputs(run.inputs, progress);
        EXPECT_FALSE(outputs);
        fake().reset();
        return outputs ? Error{} : outputs.error();
    }
};

TEST_F(CudaBackend, runsAFusedChainAsOneGraphOfOneKernel) {
    const FakeCudaCounts before = fake().now();
    const CudaRun run = runOnCuda(chain, true);
    EXPECT_EQ(run.plan->steps.size(), 1U);
    EXPECT_EQ(run.tactics().find("pointwise"), 0U) << run.tactics();
    const FakeCudaCounts after = fake().now();
    EXPECT_EQ(after.graphLaunches - before.graphLaunches, 2U);
    EXPECT_EQ(after.launches - before.launches, 2U);
}

TEST_F(CudaBackend, runsTheUnfusedChainAsOneGraphOfAllKernels) {
    const FakeCudaCounts before = fake().now();
    const CudaRun run = runOnCuda(chain, false);
    EXPECT_EQ(run.plan->steps.size(), 3U);
    EXPECT_EQ(fake().now().graphLaunches - before.graphLaunches, 2U);
    EXPECT_EQ(fake().now().launches - before.launches, 6U);
}

TEST_F(CudaBackend, aStepOfTheHostPartsThePlanIntoTwoGraphs) {
    const FakeCudaCounts before = fake().now();
    const CudaRun run = runOnCuda(withHostStep, false);
    ASSERT_EQ(run.plan->steps.size(), 3U);
    EXPECT_EQ(run.executable->tactic(1), "host");
    EXPECT_FALSE(run.executable->fallbacks(1).empty());
    EXPECT_EQ(fake().now().graphLaunches - before.graphLaunches, 4U);
}

TEST_F(CudaBackend, whatReadsConstantsAloneIsComputedWhilePreparing) {
    const char* const text =
        "g (float[4,6] x) => (float[4,6] y) <int8[4,6] q = {1, -2, 3, -4, 5, -6, 7, 8, 9, 1, 2, 3,"
        " 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6}, float s = {0.5}, int8 z = {1}> {"
        " f = DequantizeLinear(q, s, z) e = Exp(x) y = Add(e, f) }";
    CudaRun run = runOnCuda(text, false);
    ASSERT_EQ(run.plan->steps.size(), 3U);
    size_t done = 0;
    for (size_t step = 0; step < 3; ++step)
        if (run.executable->hiddenWork(step).launches == 0) {
            ++done;
            EXPECT_NE(run.executable->tactic(step).find("once while preparing"), std::string::npos);
            EXPECT_FALSE(run.executable->timeIsolated(step, 1));
            EXPECT_FALSE(run.executable->isFallback(step));
        }
    EXPECT_EQ(done, 1U);
    const FakeCudaCounts before = fake().now();
    run.check();
    EXPECT_EQ(fake().now().launches - before.launches, 2U);
    EXPECT_EQ(fake().now().graphLaunches - before.graphLaunches, 1U);
    for (double seconds : run.check({.stepSeconds = true}).stepSeconds)
        EXPECT_GE(seconds, 0);
}

TEST_F(CudaBackend, storedValuesAndProductsOfIntegersHaveKernels) {
    const struct {
        const char *name, *text;
    } models[] = {
        {"transposed convolution",
         "g (float[1,2,4,4] x) => (float[1,3,9,9] y) <float s = {0.05}, int8 z = {0}, "
         "int8[2,3,3,3] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2, -3, "
         "-4, -5, -6, -7, -8, -9, 9, 8, 7, 6, 5, 4, 3, 2, 1, -9, 8, -7, 6, -5, 4, -3, 2, -1, 1, 1, "
         "2, 2, 3, 3, 4, 4, 5}, float[3] ws = {0.1, 0.2, 0.3}> { xq = QuantizeLinear(x, s, z) "
         "xf = DequantizeLinear(xq, s, z) wf = DequantizeLinear<axis=1>(w, ws) "
         "y = ConvTranspose<kernel_shape=[3,3],strides=[2,2]>(xf, wf) }"},
        {"attention",
         "g (float[2,5,8] q, float[2,5,8] k, float[2,5,8] v) => (float[2,5,8] y) "
         "<float s = {0.05}, int8 z = {0}> { qq = QuantizeLinear(q, s, z) "
         "qf = DequantizeLinear(qq, s, z) kq = QuantizeLinear(k, s, z) "
         "kf = DequantizeLinear(kq, s, z) t = Transpose<perm=[0,2,1]>(kf) h = MatMul(qf, t) "
         "p = Softmax<axis=-1>(h) pq = QuantizeLinear(p, s, z) pf = DequantizeLinear(pq, s, z) "
         "vq = QuantizeLinear(v, s, z) vf = DequantizeLinear(vq, s, z) y = MatMul(pf, vf) }"},
        {"product of two computed values",
         "g (float[6,16] a, float[16,8] b) => (float[6,8] y) <float s = {0.05}, uint8 z = {7}, "
         "int8 zz = {0}> { aq = QuantizeLinear(a, s, z) bq = QuantizeLinear(b, s, zz) "
         "m = MatMulInteger(aq, bq, z) f = Cast<to=1>(m) y = Mul(f, s) }"},
        {"convolution with a computed filter",
         "g (float[1,2,5,5] x, float[3,2,3,3] w) => (float[1,3,3,3] y) <float s = {0.05}, "
         "uint8 z = {7}, int8 zz = {0}> { xq = QuantizeLinear(x, s, z) "
         "wq = QuantizeLinear(w, s, zz) c = ConvInteger(xq, wq, z) f = Cast<to=1>(c) "
         "y = Mul(f, s) }"},
        {"sixteen bits",
         "g (float[3,4] x) => (float[3,4] y) <float s = {0.001}, uint16 z = {500}> "
         "{ q = QuantizeLinear(x, s, z) f = DequantizeLinear(q, s, z) y = Relu(f) }"},
        {"a scale a channel",
         "g (float[2,3,4] x) => (float[2,3,4] y) <float[3] s = {0.01, 0.02, 0.03}, int8[3] z = "
         "{0, 1, 2}> { q = QuantizeLinear<axis=1>(x, s, z) f = DequantizeLinear<axis=1>(q, s, z) "
         "y = Relu(f) }"},
    };
    for (const auto& model : models)
        for (const bool fused : {false, true}) {
            SCOPED_TRACE(std::string(model.name) + (fused ? ", fused" : ""));
            const CudaRun run = runOnCuda(model.text, fused);
            for (size_t step = 0; step < run.plan->steps.size(); ++step)
                EXPECT_FALSE(run.executable->isFallback(step)) << run.tactics();
        }
}

TEST_F(CudaBackend, theHostsStepsOfConstantsDoNotPartTheGraph) {
    // Hardmax has no kernel; what stands before it is not folded, since rules see it.
    const char* const text = "g (float[2,4] x) => (float[2,4] y) <int8[4] q = {1, 2, 3, 4}, "
                             "float s = {0.5}, int8 z = {1}> {"
                             " e = Exp(x) f = DequantizeLinear(q, s, z) a = Hardmax(f)"
                             " t = Tanh(a) y = Mul(e, t) }";
    CudaRun run = runOnCuda(text, false);
    ASSERT_EQ(run.plan->steps.size(), 5U);
    for (size_t step = 0; step < 5; ++step)
        EXPECT_FALSE(run.executable->isFallback(step)) << run.executable->tactic(step);
    const FakeCudaCounts before = fake().now();
    run.check();
    EXPECT_EQ(fake().now().graphLaunches - before.graphLaunches, 1U);
    EXPECT_EQ(fake().now().launches - before.launches, 2U);
}

TEST_F(CudaBackend, aStepOfTheHostIsAnErrorWithoutFallback) {
    gpu::CudaOptions options = testOptions();
    options.tune.fallback = false;
    auto run = prepareOnCuda(withHostStep, false, options);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, "tune.fallback");
}

TEST_F(CudaBackend, shapesThatDependOnDataRunOnTheHost) {
    const CudaRun run = runOnCuda("g (float[6] x) => (int64[1,k] n, float[6] y) {"
                                  " y = Relu(x) n = NonZero(y) }",
                                  false);
    EXPECT_EQ(run.executable->tactic(run.plan->steps.size() - 1), "host");
}

TEST_F(CudaBackend, weightsAreUploadedAndConvolutionsLieChannelsLast) {
    const CudaRun run = runOnCuda(
        "g (float[1,4,6,6] x) => (float[1,8,6,6] y) {"
        " w = ConstantOfShape<value=float[1]{0.25}>(s) s = Constant<value=int64[4]{8,4,1,1}>()"
        " a = Exp(x) c = Conv(a, w) y = Relu(c) }",
        false);
    bool last = false;
    for (const PlanValue& value : run.plan->values)
        last = last || (value.extents.size() == 4 && value.strides[1] == 1 && value.extents[1] > 1);
    EXPECT_TRUE(last);
}

TEST_F(CudaBackend, twoLayersAreOneLaunchWithBothWeightsPacked) {
    const FakeCudaCounts before = fake().now();
    const CudaRun run = runOnCuda(twoLayers, true);
    ASSERT_EQ(run.plan->steps.size(), 1U);
    EXPECT_EQ(run.tactics().find("chain_"), 0U) << run.tactics();
    EXPECT_EQ(fake().now().launches - before.launches, 2U); // a run each
}

TEST_F(CudaBackend, twoLayersStayApartWhereTheirKernelsAreLeftOut) {
    gpu::CudaOptions options = testOptions();
    options.tune.without = {"chain_*"};
    const CudaRun run = runOnCuda(twoLayers, true, options);
    EXPECT_EQ(run.plan->steps.size(), 2U);
    EXPECT_EQ(run.tactics().find("host"), std::string::npos) << run.tactics();
}

TEST_F(CudaBackend, identicalLayersShareTheirCode) {
    const uint64_t before = fake().now().moduleLoads;
    const CudaRun run = runOnCuda("g (float[8,8] x) => (float[8,8] y) {"
                                  " a = Neg(x) b = Neg(a) c = Neg(b) y = Neg(c) }",
                                  false);
    EXPECT_EQ(run.plan->steps.size(), 4U);
    EXPECT_LE(fake().now().moduleLoads - before, 2U); // in place, and not
}

TEST_F(CudaBackend, stepsAreTimedByEventsWhereThereAreNoRecords) {
    CudaRun run = runOnCuda(chain, false);
    const RunResult ran = run.check({.stepSeconds = true});
    ASSERT_EQ(ran.stepSeconds.size(), 3U);
    for (double one : ran.stepSeconds)
        EXPECT_GT(one, 0);
    const std::string& note = ran.stepTimingNote;
    EXPECT_NE(note.find("libcupti"), std::string::npos) << note;
    EXPECT_NE(note.find("events"), std::string::npos) << note;
}

TEST_F(CudaBackend, theDevicesOwnTimeOfARunIsGiven) {
    CudaRun run = runOnCuda(chain, true);
    EXPECT_GT(run.check({.deviceSeconds = true}).deviceSeconds.value_or(0), 0);
    EXPECT_FALSE(run.check().deviceSeconds);
}

TEST_F(CudaBackend, aStepIsTimedColdAndWarm) {
    CudaRun run = runOnCuda(chain, true);
    auto times = run.executable->timeIsolated(0, 3);
    ASSERT_TRUE(times) << times.error().text();
    EXPECT_EQ(times->cold.size(), 3U);
    EXPECT_EQ(times->warm.size(), 3U);
    for (double one : times->warm)
        EXPECT_GT(one, 0);
    run.check();
}

TEST_F(CudaBackend, kernelsAreChosenByMeasurement) {
    gpu::CudaOptions options = testOptions();
    options.measure = true;
    const CudaRun run = runOnCuda(chain, true, options);
    ASSERT_TRUE(run.executable->kernelFacts(0));
    EXPECT_EQ(run.executable->kernelFacts(0)->choice, "measured");
    EXPECT_EQ(run.executable->kernelFacts(0)->registers, 32U);
}

TEST_F(CudaBackend, aFrozenRunTakesWhatWasMeasuredBefore) {
    const testing_support::TemporaryFolder folder;
    gpu::CudaOptions options = testOptions();
    options.measure = true;
    options.tune.timingCache = folder.path() + "/timings";
    options.tune.frozen = true;
    auto unknown = prepareOnCuda(chain, true, options);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, "tune.frozen");
    options.tune.frozen = false;
    const CudaRun first = runOnCuda(chain, true, options);
    options.tune.frozen = true;
    const uint64_t launches = fake().now().launches;
    const CudaRun second = runOnCuda(chain, true, options);
    EXPECT_EQ(fake().now().launches - launches, 2U) << "something was measured";
    EXPECT_EQ(second.executable->kernelFacts(0)->choice, "cached");
    EXPECT_EQ(second.tactics(), first.tactics());
}

TEST_F(CudaBackend, memoryThatIsNotThereSaysWhatThePlanNeeds) {
    setenv("FAKECUDA_MEMORY_MIB", "1", 1);
    auto run = prepareOnCuda("g (float[1024,1024] x) => (float[1024,1024] y) {"
                             " a = Exp(x) y = Neg(a) }",
                             false, testOptions());
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, "device.memory");
    EXPECT_NE(run.error().message.find("the plan needs"), std::string::npos) << run.error().text();
}

TEST_F(CudaBackend, aFaultOfAKernelIsALostDevice) {
    CudaRun run = runOnCuda(chain, true);
    EXPECT_EQ(failureOf(run, "cuStreamSynchronize", 700).code, "device.lost");
    EXPECT_EQ(failureOf(run, "cuGraphLaunch", 999).code, "device.call");
    run.check();
}

TEST_F(CudaBackend, aLaunchThatIsRefusedNamesTheStep) {
    fake().fail("cuLaunchKernel", 1, 0);
    auto run = prepareOnCuda(chain, true, testOptions());
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, "device.call");
    EXPECT_FALSE(run.error().where.empty());
}

TEST_F(CudaBackend, everythingIsGivenBack) {
    const FakeCudaCounts before = fake().now();
    for (const char* text : {chain, withHostStep}) {
        runOnCuda(text, true);
        const FakeCudaCounts after = fake().now();
        EXPECT_EQ(after.allocations, before.allocations);
        EXPECT_EQ(after.streams, before.streams);
        EXPECT_EQ(after.primaryContexts, before.primaryContexts);
    }
}

TEST_F(CudaBackend, inputsOfAnotherShapeAreRefused) {
    CudaRun run = runOnCuda(chain, true);
    run.inputs[0] = Tensor(DType::Float32, {5, 3});
    Progress progress;
    auto outputs = run.executable->outputs(run.inputs, progress);
    ASSERT_FALSE(outputs);
    EXPECT_EQ(outputs.error().code, "run.inputs");
}

} // namespace
