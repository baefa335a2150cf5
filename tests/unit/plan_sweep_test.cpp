// SPDX-License-Identifier: Apache-2.0
// Sweeps: steps that run for a few images at a time give the values of whole steps, need less
// memory, and are made only where nothing waits for all images.
#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/verify.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/backend.h"
#include "core/plan/make_plan.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

/// A processor whose cache is so small that depth-first pays for the tensors of these tests.
DeviceProfile smallProcessor() {
    DeviceProfile out;
    out.name = "small";
    out.kind = DeviceKind::Cpu;
    out.units = 2;
    out.l2Bytes = 300e3;
    out.dramBandwidth = 1e9;
    out.l2Bandwidth = 50e9;
    out.fp32Flops = 1e11;
    out.launchSeconds = 1e-7;
    return out;
}

struct Planned {
    std::shared_ptr<const Plan> plan;
    std::vector<Tensor> outputs;
    std::vector<std::string> tactics;
};

Planned runOf(const std::string& text, bool sweeps, int threads = 2, bool strict = false,
              bool fuse = false) {
    auto graph = model_io::loadText("g " + text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    if (!graph)
        return {};
    Progress progress;
    EXPECT_TRUE(prepareGraph(*graph, progress));
    if (fuse)
        *graph = fuseWhole(*graph, "Whole");
    auto inputs = app::generateInputs(*graph, 5);
    EXPECT_TRUE(inputs);
    auto backend = makeCpuBackend({threads, false});
    const DeviceProfile profile = smallProcessor();
    PlanOptions options;
    options.profile = &profile;
    options.backend = backend.get();
    options.sweeps = sweeps;
    options.strict = strict;
    auto plan = makePlan(std::make_shared<const Graph>(std::move(*graph)), options, progress);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
    if (!plan)
        return {};
    auto executable = backend->prepare(*plan, progress);
    EXPECT_TRUE(executable) << (executable ? "" : executable.error().text());
    if (!executable)
        return {};
    Planned out{*plan, {}, {}};
    for (size_t i = 0; i < (*plan)->steps.size(); ++i)
        out.tactics.push_back((*executable)->tactic(i));
    // Twice: the second run meets the memory as the first one left it.
    for (int run = 0; run < 2; ++run) {
        auto outputs = (*executable)->outputs(*inputs, progress);
        EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().text());
        out.outputs = outputs ? std::move(*outputs) : std::vector<Tensor>{};
    }
    return out;
}

void expectSamePlanned(const Planned& a, const Planned& b) {
    ASSERT_EQ(a.outputs.size(), b.outputs.size());
    for (size_t i = 0; i < a.outputs.size(); ++i) {
        ASSERT_EQ(a.outputs[i].extents(), b.outputs[i].extents());
        auto agreement =
            app::compareOutput("", "", ReferenceValue::from(a.outputs[i]), b.outputs[i], 2e-5);
        EXPECT_TRUE(agreement.ok) << "output " << i << " error " << agreement.maxRelative;
    }
}

/// Runs with and without sweeps; gives the plan with them.
std::shared_ptr<const Plan> expectSameSwept(const std::string& text, int threads = 2) {
    Planned with = runOf(text, true, threads), without = runOf(text, false, threads);
    expectSamePlanned(with, without);
    EXPECT_TRUE(without.plan && without.plan->sweeps.empty());
    return with.plan;
}

/// Steps in sweeps.
size_t swept(const Plan& plan) {
    size_t out = 0;
    for (const Sweep& sweep : plan.sweeps)
        out += sweep.last - sweep.first + 1;
    return out;
}

const std::string block =
    "(float[16,16,32,32] x, float[32,16,1,1] w, float[32,32,3,3] v, float[16,32,1,1] u) => "
    "(float[16,16,32,32] y) { a = Conv(x, w)  b = Relu(a)  c = Conv<pads=[1,1,1,1]>(b, v)  "
    "d = Relu(c)  e = Conv(d, u)  s = Add(e, x)  p = MaxPool<kernel_shape=[3,3],pads=[1,1,1,1]>(s) "
    " q = Sub(p, s)  y = Relu(q) }";

} // namespace

TEST(PlanSweep, ABlockRunsDepthFirstInLessMemory) {
    auto plan = expectSameSwept(block);
    ASSERT_TRUE(plan);
    EXPECT_GE(swept(*plan), 6U);
    EXPECT_LT(plan->peakBytes, runOf(block, false).plan->peakBytes / 2);
    for (const Sweep& sweep : plan->sweeps) {
        EXPECT_EQ(sweep.images * sweep.passes, 16);
        EXPECT_EQ(sweep.passes % 2, 0) << "both workers have as much to do";
        EXPECT_EQ(sweep.reason.code, "cost");
    }
    ASSERT_EQ(plan->sweepOffers.size(), plan->sweeps.size());
    EXPECT_TRUE(plan->sweepOffers[0].taken);
    EXPECT_EQ(plan->sweepOffers[0].first, plan->steps[plan->sweeps[0].first].name);
}

TEST(PlanSweep, WhereNoneIsTakenTheBestThatLostIsShown) {
    auto graph = model_io::loadText("g " + block);
    Progress progress;
    ASSERT_TRUE(prepareGraph(*graph, progress));
    auto backend = makeCpuBackend({2, false});
    DeviceProfile profile = smallProcessor();
    profile.launchSeconds = 1e-3; // each pass starts every step again
    PlanOptions options;
    options.profile = &profile;
    options.backend = backend.get();
    options.sweeps = true;
    const auto plan = makePlan(std::make_shared<const Graph>(std::move(*graph)), options, progress);
    ASSERT_TRUE(plan);
    EXPECT_TRUE((*plan)->sweeps.empty());
    ASSERT_EQ((*plan)->sweepOffers.size(), 1U);
    EXPECT_FALSE((*plan)->sweepOffers[0].taken);
    EXPECT_EQ((*plan)->sweepOffers[0].reason.facts.size(), 2U);
}

TEST(PlanSweep, OneWorkerAndManyAgree) {
    for (int threads : {1, 4})
        EXPECT_GT(swept(*expectSameSwept(block, threads)), 0U) << threads;
}

TEST(PlanSweep, StepTimesAreOfAllPasses) {
    auto graph = model_io::loadText("g " + block);
    Progress progress;
    ASSERT_TRUE(prepareGraph(*graph, progress));
    auto inputs = app::generateInputs(*graph, 5);
    auto backend = makeCpuBackend({2, false});
    const DeviceProfile profile = smallProcessor();
    PlanOptions options;
    options.profile = &profile;
    options.backend = backend.get();
    options.sweeps = true;
    auto plan = makePlan(std::make_shared<const Graph>(std::move(*graph)), options, progress);
    auto executable = backend->prepare(*plan, progress);
    auto ran = (*executable)->run(*inputs, {.stepSeconds = true}, progress);
    ASSERT_TRUE(ran);
    ASSERT_EQ(ran->stepSeconds.size(), (*plan)->steps.size());
    for (double step : ran->stepSeconds)
        EXPECT_GT(step, 0);
    const uint32_t first = (*plan)->sweeps.at(0).first;
    EXPECT_NE((*executable)->tactic(first).find("of 16 of the batch at a time"), std::string::npos);
}

TEST(PlanSweep, AStepThatNeedsAllImagesEndsASweep) {
    // The mean over the batch, and an operand that is read as a whole.
    auto plan = expectSameSwept(
        "(float[16,64,256] x, float[256,256] w) => (float[16,64,256] y, float[1,64,256] z) {"
        " a = MatMul(x, w)  b = Relu(a)  c = Exp(b)  z = ReduceMean<axes=[0]>(c)  d = Sub(c, z) "
        " e = Relu(d)  f = Neg(e)  y = Abs(f) }");
    ASSERT_TRUE(plan);
    EXPECT_GT(swept(*plan), 0U);
    for (const Sweep& sweep : plan->sweeps)
        for (uint32_t i = sweep.first; i <= sweep.last; ++i)
            EXPECT_NE(plan->steps[i].name, "z");
}

TEST(PlanSweep, ValuesThatOthersReadStayWhole) {
    expectSameSwept(
        "(float[8,32,24,24] x, float[32,32,1,1] w) => "
        "(float[8,32,24,24] y, float[8,32,24,24] a, float[8,18432] r) {"
        " a = Conv(x, w)  b = Relu(a)  c = Conv(b, w)  d = Add(c, b)  e = Conv(d, w) "
        " f = Concat<axis=1>(e, d)  g = MaxPool<kernel_shape=[1,1]>(f)"
        " s = Constant<value=int64[3]{8,2,18432}>()  h = Reshape(g, s) "
        " r = ReduceSum<keepdims=0>(h, k)  k = Constant<value=int64[1]{1}>()  y = Exp(e) }");
}

TEST(PlanSweep, RowsAreImagesOfAMatrix) {
    auto plan =
        expectSameSwept("(float[512,256] x, float[256,512] w, float[512,256] v) => "
                        "(float[512,256] y) { a = MatMul(x, w)  b = Softmax(a)  c = MatMul(b, v)"
                        "  d = Add(c, x)  y = Relu(d) }");
    ASSERT_TRUE(plan);
    EXPECT_GT(swept(*plan), 0U);
}

TEST(PlanSweep, StepsWithoutAKernelAreRunOneByOne) {
    // No kernel pools the doubles of a convolution right away.
    const std::string text =
        "(double[16,4,32,32] x, double[4,4,3,3] w) => (double[16,4,16,16] y) {"
        " c = Conv<pads=[1,1,1,1]>(x, w)  p = MaxPool<kernel_shape=[2,2],strides=[2,2]>(c)"
        " s = Softmax<axis=3>(p)  y = Neg(s) }";
    Planned with = runOf(text, true, 2, false, true), without = runOf(text, false, 2);
    expectSamePlanned(with, without);
    ASSERT_TRUE(with.plan);
    EXPECT_EQ(swept(*with.plan), with.plan->steps.size());
    EXPECT_EQ(with.tactics.at(0), "reference Contraction");
}

TEST(PlanSweep, NoneForOneImageNorForStrictPlans) {
    EXPECT_TRUE(runOf("(float[1,16,64,64] x) => (float[1,16,64,64] y) {"
                      " a = Exp(x)  b = Neg(a)  y = Abs(b) }",
                      true)
                    .plan->sweeps.empty());
    EXPECT_TRUE(runOf(block, true, 2, true).plan->sweeps.empty());
}
