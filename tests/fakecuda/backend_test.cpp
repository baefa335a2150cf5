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
                                 " a = Exp(x) c = CumSum(a, i) y = Neg(c)"
                                 " i = Constant<value=int64[1]{1}>() }";

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
