// SPDX-License-Identifier: Apache-2.0
// What the device does in one timed batch: a launch that is not timed in front, and for a step
// whose weights a run never finds in the cache, a cache that is filled before each run.
#include "gpu/backend/device_measurer.h"
#include "gpu/backend/plan_steps.h"
#include "gpu/runtime/generated_tactic.h"
#include "tests/fakecuda/fixture.h"
#include "tests/fakecuda/model_run.h"

namespace {

using namespace fuselage;

/// Two weights of 1 KiB a row; the stand-in's second cache has 1 MiB.
std::string sumWith(int rows) {
    const std::string n = std::to_string(rows);
    return "g (float[" + n + ",256] x) => (float[" + n + ",256] y) {" +
           " tall = Constant<value=int64[2]{" + n + ",1}>()" +
           " wide = Constant<value=int64[2]{1,256}>()" +
           " c = ConstantOfShape<value=float[1]{2}>(tall)" +
           " r = ConstantOfShape<value=float[1]{3}>(wide)" +
           " w = Add(c, r) v = Sub(c, r) m = Mul(x, w) y = Add(m, v) }";
}

struct Batch {
    FakeCudaCounts before, after;
    gpu::BatchTiming timing;

    uint64_t graphs() const { return after.graphLaunches - before.graphLaunches; }

    uint64_t fills() const { return after.fills - before.fills; }
};

class Measuring : public FakeCudaTest {
protected:
    /// The second batch of some runs: the first one captures.
    static Batch secondBatch(const std::string& text, uint32_t runs) {
        auto made = prepareOnCuda(text, false, testOptions());
        auto device = gpu::Device::open(0);
        auto nvrtc = gpu::Nvrtc::open();
        EXPECT_TRUE(made && device && nvrtc);
        const Plan& plan = *made->plan;
        auto source =
            gpu::makeGeneratedSource(std::make_shared<gpu::CubinCache>(std::move(*nvrtc), ""));
        const DeviceProfile profile = *made->backend->profile();
        gpu::TuneTask task;
        task.step = plan.steps[0].name;
        gpu::TacticList offered = source->candidates(
            gpu::requestOf(plan, plan.steps[0], {profile, (*device)->facts().arch, 1 << 20}));
        Progress progress;
        EXPECT_TRUE(offered.candidates[0]->build(progress));
        gpu::DeviceMeasurerSource measurers(plan, {0}, **device, nullptr);
        auto measurer = measurers.open(task, {offered.candidates[0].get()});
        Batch out;
        EXPECT_TRUE(measurer);
        EXPECT_TRUE((*measurer)->measure(0, runs, 10));
        out.before = fake().now();
        auto timed = (*measurer)->measure(0, runs, 10);
        out.after = fake().now();
        EXPECT_TRUE(timed);
        out.timing = timed ? *timed : gpu::BatchTiming{};
        return out;
    }
};

TEST_F(Measuring, ABatchStandsBehindALaunchThatIsNotTimed) {
    const Batch batch = secondBatch(sumWith(128), 4);
    EXPECT_EQ(batch.graphs(), 2U);
    EXPECT_EQ(batch.fills(), 0U);
    EXPECT_GT(batch.timing.seconds, 0);
}

TEST_F(Measuring, WeightsThatDoNotFitTheCacheAreColdInEachRun) {
    const Batch batch = secondBatch(sumWith(1000), 4);
    EXPECT_EQ(batch.graphs(), 3U) << "one is not timed, one has only what stands before the runs";
    EXPECT_EQ(batch.fills(), 12U);
    EXPECT_GT(batch.timing.seconds, 0);
}

TEST_F(Measuring, OnlyWeightsOfPlansThatDoNotFitAreCold) {
    auto made = prepareOnCuda(sumWith(1000), false, testOptions());
    ASSERT_TRUE(made);
    const Step& step = made->plan->steps[0];
    EXPECT_TRUE(gpu::readsColdWeights(*made->plan, step, 1 << 20));
    EXPECT_FALSE(gpu::readsColdWeights(*made->plan, step, 1 << 30));
    EXPECT_FALSE(gpu::readsColdWeights(*made->plan, step, 0)) << "no cache is known";
    Step without = step;
    without.inputs = {made->plan->inputs[0]};
    EXPECT_FALSE(gpu::readsColdWeights(*made->plan, without, 1 << 20));
}

} // namespace
