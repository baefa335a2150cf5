// SPDX-License-Identifier: Apache-2.0
// Kernels that are launched early, on a stand-in that closes all memory to a kernel until it has
// waited: which launches are, and what the backend does where they fail, differ or are slower.
#include "gpu/tune/early_launch.h"
#include "gpu/tune/timing_cache.h"
#include "tests/fakecuda/fixture.h"
#include "tests/fakecuda/model_run.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace fuselage;

/// Three kernels.
const char* const chain = "g (float[32,64] x, float[64] b) => (float[32,64] y) {"
                          " a = Add(x, b) t = Sigmoid(a) y = Mul(a, t) }";

/// Two kernels, the host, two kernels.
const char* const withHostStep = "g (float[4,6] x) => (float[4,6] y) {"
                                 " a = Exp(x) b = Tanh(a) c = Hardmax(b) d = Neg(c) y = Exp(d) }";

enum Spoiled : int { Early = 7, EarlyFault = 8 };

class CudaEarly : public FakeCudaTest {
protected:
    gpu::CudaOptions options() const {
        gpu::CudaOptions out = testOptions();
        out.measure = true;
        out.tune.timingCache = folder.path() + "/timings";
        return out;
    }

    gpu::CudaOptions frozen() const {
        gpu::CudaOptions out = options();
        out.tune.frozen = true;
        return out;
    }

    static std::string noteOf(const CudaRun& run) {
        const std::vector<std::string> notes =
            run.backend ? run.backend->notes() : std::vector<std::string>{"no run"};
        EXPECT_LE(notes.size(), 1U);
        return notes.empty() ? "" : notes[0];
    }

    /// The record of early launches in the timing cache.
    gpu::CandidateRecord kept() const {
        auto cache = gpu::loadTimingCache(options().tune.timingCache);
        for (const auto& [key, entry] : cache->cache.entries())
            for (const gpu::CandidateRecord& record : entry)
                if (record.name == gpu::earlyLaunch)
                    return record;
        return {};
    }

    /// As a device would have measured that is faster with it.
    void makeFaster() const {
        auto cache = gpu::loadTimingCache(options().tune.timingCache);
        ASSERT_TRUE(cache);
        gpu::TimingCache changed;
        for (const auto& [key, entry] : cache->cache.entries())
            for (gpu::CandidateRecord record : entry) {
                if (record.name == gpu::earlyLaunch)
                    record.median = 1;
                changed.add(key, {record});
            }
        ASSERT_TRUE(gpu::replaceTimingCache(changed, options().tune.timingCache));
    }

    /// Early launches of one more run.
    static uint64_t earlyIn(CudaRun& run, const RunOptions& how = {}) {
        const uint64_t before = fake().now().earlyLaunches;
        run.check(how);
        return fake().now().earlyLaunches - before;
    }

    testing_support::TemporaryFolder folder;
};

TEST_F(CudaEarly, isTriedComparedAndMeasuredWhilePreparing) {
    const uint64_t before = fake().now().earlyLaunches;
    CudaRun run = runOnCuda(chain, false, options());
    EXPECT_GT(fake().now().earlyLaunches - before, 20U);
    const gpu::CandidateRecord record = kept();
    EXPECT_EQ(record.refused, "") << record.why;
    EXPECT_GT(record.rounds, 0U);
    EXPECT_NE(noteOf(run).find("launched early"), std::string::npos) << noteOf(run);
}

TEST_F(CudaEarly, aPlanThatIsFasterWithItRunsSoFromThenOn) {
    runOnCuda(chain, false, options());
    makeFaster();
    CudaRun run = runOnCuda(chain, false, frozen());
    ASSERT_EQ(run.plan->steps.size(), 3U);
    EXPECT_EQ(earlyIn(run), 2U); // the first kernel of a graph has none before it
    EXPECT_NE(noteOf(run).find("plan of 3 steps: kernels are launched early: "), std::string::npos)
        << noteOf(run);
}

TEST_F(CudaEarly, stepsAreTimedWithoutIt) {
    runOnCuda(chain, false, options());
    makeFaster();
    CudaRun run = runOnCuda(chain, false, frozen());
    EXPECT_EQ(earlyIn(run, {.stepSeconds = true}), 0U);
    const std::string note = run.check({.stepSeconds = true}).stepTimingNote;
    EXPECT_NE(note.find("without early launches"), std::string::npos) << note;
    for (size_t step = 0; step < 3; ++step)
        EXPECT_TRUE(run.executable->timeIsolated(step, 1));
    EXPECT_EQ(earlyIn(run), 2U);
}

TEST_F(CudaEarly, theFirstKernelBehindAStepOfTheHostIsNot) {
    runOnCuda(withHostStep, false, options());
    EXPECT_EQ(kept().refused, "") << kept().why;
    makeFaster();
    CudaRun run = runOnCuda(withHostStep, false, frozen());
    ASSERT_EQ(run.plan->steps.size(), 5U);
    EXPECT_EQ(earlyIn(run), 2U);
}

TEST_F(CudaEarly, isNotTriedWithoutMeasurementsNorForOneKernel) {
    const uint64_t before = fake().now().earlyLaunches;
    CudaRun predicted = runOnCuda(chain, false);
    EXPECT_EQ(noteOf(predicted), "");
    CudaRun fused = runOnCuda(chain, true, options());
    ASSERT_EQ(fused.plan->steps.size(), 1U);
    EXPECT_EQ(noteOf(fused), "");
    EXPECT_EQ(fake().now().earlyLaunches, before);
}

TEST_F(CudaEarly, isLeftOutByName) {
    const uint64_t before = fake().now().earlyLaunches;
    gpu::CudaOptions without = options();
    without.tune.without = {"early_launch"};
    CudaRun run = runOnCuda(chain, false, without);
    EXPECT_NE(noteOf(run).find("left out by --without early_launch"), std::string::npos)
        << noteOf(run);
    EXPECT_EQ(fake().now().earlyLaunches, before);
}

TEST_F(CudaEarly, otherResultsCondemnIt) {
    fake().spoil("pointwise", Early);
    CudaRun run = runOnCuda(chain, false, options());
    EXPECT_NE(noteOf(run).find("its results are not those"), std::string::npos) << noteOf(run);
    EXPECT_EQ(kept().refused, "wrong-result");
    EXPECT_EQ(earlyIn(run), 0U);
}

TEST_F(CudaEarly, aLaunchThatTheDriverRefusesLeavesThePlainGraph) {
    fake().fail("cuLaunchKernelEx", 801, 0);
    CudaRun run = runOnCuda(chain, false, options());
    EXPECT_NE(noteOf(run).find("kernels are not launched early: "), std::string::npos)
        << noteOf(run);
    EXPECT_EQ(earlyIn(run), 0U);
}

TEST_F(CudaEarly, aGraphThatCannotBeMadeReadyLeavesThePlainOne) {
    gpu::CudaOptions without = options();
    without.tune.without = {gpu::earlyLaunch};
    runOnCuda(chain, false, without);                   // so that all steps are known
    fake().fail("cuGraphInstantiateWithFlags", 801, 1); // the first one is the plain graph
    CudaRun run = runOnCuda(chain, false, options());
    EXPECT_NE(noteOf(run).find("kernels are not launched early: "), std::string::npos)
        << noteOf(run);
    EXPECT_EQ(earlyIn(run), 0U);
}

TEST_F(CudaEarly, aFaultIsRememberedAndNotTriedAgain) {
    fake().spoil("pointwise", EarlyFault);
    std::string why;
    gpu::CudaOptions faulty = options();
    faulty.tune.startAgain = [&](const std::string& text, bool) { why = text; };
    auto run = prepareOnCuda(chain, false, faulty);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, "device.lost");
    EXPECT_FALSE(why.empty());
    EXPECT_EQ(kept().refused, "device.lost");
    fake().reset();
    fake().spoil("pointwise", EarlyFault);
    CudaRun again = runOnCuda(chain, false, options());
    EXPECT_EQ(earlyIn(again), 0U);
    EXPECT_NE(noteOf(again).find("kernels are not launched early: "), std::string::npos)
        << noteOf(again);
}

} // namespace
