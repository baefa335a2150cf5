// SPDX-License-Identifier: Apache-2.0
// Which step of a plan computes something else, by running it step by step against the evaluator.
#include "gpu/backend/step_check.h"
#include "tests/fakecuda/fixture.h"
#include "tests/fakecuda/model_run.h"

namespace {

using namespace fuselage;

/// Different kernels; the third one's result lies on its operand.
const char* const chain = "g (float16[32,64] x, float16[64,32] w) => (float16[32,32] y) {"
                          " a = Tanh(x) b = MatMul(a, w) c = Sigmoid(b) y = Softmax<axis=-1>(c) }";

class StepChecks : public FakeCudaTest {
protected:
    static gpu::StepCheck check(CudaRun& run) {
        ThreadPool threads(1);
        Progress progress;
        auto out = gpu::firstWrongStep(*run.executable, run.inputs, threads, progress);
        EXPECT_TRUE(out) << (out ? "" : out.error().text());
        return out ? std::move(*out) : gpu::StepCheck{};
    }

    /// The plan's tactics are only predicted, so nothing has refused the kernel.
    static CudaRun prepared(bool fused) {
        auto run = prepareOnCuda(chain, fused, testOptions());
        EXPECT_TRUE(run) << (run ? "" : run.error().text());
        return run ? std::move(*run) : CudaRun{};
    }
};

TEST_F(StepChecks, HealthyStepsAreAllRight) {
    for (const bool fused : {false, true}) {
        CudaRun run = prepared(fused);
        const gpu::StepCheck found = check(run);
        EXPECT_FALSE(found.wrong) << found.wrong->how;
        EXPECT_EQ(found.checked, run.plan->steps.size());
        EXPECT_EQ(found.unchecked, 0U);
    }
}

TEST_F(StepChecks, TheFirstWrongOneIsFoundThoughLaterOnesGetItsNumbers) {
    for (size_t step = 0; step < 4; ++step) {
        fake().reset();
        CudaRun run = prepared(false); // memory without the results of a run before
        ASSERT_EQ(run.plan->steps.size(), 4U);
        const std::string kernel = run.executable->tactic(step);
        fake().spoil(kernel.c_str(), 1);
        const gpu::StepCheck found = check(run);
        ASSERT_TRUE(found.wrong) << kernel;
        // Two steps may have the same kernel.
        size_t first = 0;
        while (run.executable->tactic(first) != kernel)
            ++first;
        EXPECT_EQ(found.wrong->step, first);
        EXPECT_EQ(found.checked, first + 1);
        EXPECT_NE(found.wrong->how.find(" elements differ, by "), std::string::npos);
        EXPECT_EQ(found.wrong->inputs.size(), run.plan->steps[first].inputs.size());
        EXPECT_NE(found.wrong->outputs[0].floats, found.wrong->wanted[0].floats);
    }
}

TEST_F(StepChecks, AStepThatIsWrongInPlaceOnlyIsFound) {
    CudaRun run = prepared(false);
    ASSERT_TRUE(run.plan->steps[2].inPlace);
    fake().spoil("pointwise", 6);
    const gpu::StepCheck found = check(run);
    ASSERT_TRUE(found.wrong);
    EXPECT_EQ(found.wrong->step, 2U);
}

TEST_F(StepChecks, OtherBackendsAreNotCheckedSo) {
    CudaRun run = prepared(false);
    Progress progress;
    auto other = makeReferenceBackend(1)->prepare(run.plan, progress);
    ASSERT_TRUE(other) << other.error().text();
    ThreadPool threads(1);
    auto out = gpu::firstWrongStep(**other, run.inputs, threads, progress);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "step.backend");
}

} // namespace
