// SPDX-License-Identifier: Apache-2.0
// The cuda backend end to end on small models: plan, tactics, capture, run, against the reference.
#include "tests/fakecuda/fixture.h"
#include "tests/fakecuda/model_run.h"

namespace {

using namespace fuselage;

const char* const chain = "g (float[3,5] x, float[5] b) => (float[3,5] y) {"
                          " a = Add(x, b) t = Sigmoid(a) y = Mul(a, t) }";

class CudaBackend : public FakeCudaTest {};

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

} // namespace
