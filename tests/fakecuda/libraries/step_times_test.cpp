// SPDX-License-Identifier: Apache-2.0
// Times of steps in a captured graph by activity records: each kernel is its node's, also where one
// kernel text runs several times and records come in another order.
#include "gpu/runtime/step_timer.h"
#include "tests/fakecuda/fixture.h"
#include "tests/fakecuda/model_run.h"

namespace {

using namespace fuselage;
using namespace fuselage::gpu;

/// Equal layers: the same kernel text three times.
const char* const layers = "g (float[8,8] x) => (float[8,8] y) {"
                           " a = Exp(x) b = Neg(a) c = Neg(b) y = Neg(c) }";

class StepTimes : public FakeCudaTest {
protected:
    void SetUp() override {
        FakeCudaTest::SetUp();
        setenv("FUSELAGE_CUDA_LIBRARIES", FAKELIBS_FOLDER, 1);
    }

    void TearDown() override {
        unsetenv("FAKECUPTI_DROPPED");
        FakeCudaTest::TearDown();
    }

    /// Microseconds of each step.
    static std::vector<double> times(CudaRun& run, std::string& note) {
        RunResult ran = run.check({.stepSeconds = true});
        note = ran.stepTimingNote;
        for (double& one : ran.stepSeconds)
            one *= 1e6;
        return std::move(ran.stepSeconds);
    }

    static void expectFirstToLast(const std::vector<double>& microseconds) {
        ASSERT_EQ(microseconds.size(), 4U);
        for (size_t i = 0; i < microseconds.size(); ++i)
            EXPECT_NEAR(microseconds[i], static_cast<double>(i + 1), 1e-6) << i;
    }
};

TEST_F(StepTimes, EachKernelIsItsNodesWhateverTheOrderOfRecords) {
    CudaRun run = runOnCuda(layers, false);
    for (int round = 0; round < 2; ++round) {
        std::string note;
        expectFirstToLast(times(run, note));
        EXPECT_NE(note.find("matched by their nodes"), std::string::npos) << note;
    }
}

TEST_F(StepTimes, WhereAnotherToolHasTheCallbacksTheOrderIsUsedAndSaid) {
    CudaRun run = runOnCuda(layers, false);
    fake().fail("cuptiSubscribe", 39, 0);
    std::string note;
    const std::vector<double> got = times(run, note);
    ASSERT_EQ(got.size(), 4U);
    EXPECT_NEAR(got[0], 4, 1e-6) << "the stand-in's records come in the reverse order";
    EXPECT_NE(note.find("order of capture"), std::string::npos) << note;
    EXPECT_NE(note.find("MULTIPLE_SUBSCRIBERS"), std::string::npos) << note;
}

TEST_F(StepTimes, AHostStepBetweenTwoGraphsKeepsBothApart) {
    CudaRun run = runOnCuda("g (float[4,6] x) => (float[4,6] y) { a = Exp(x) b = Neg(a)"
                            " c = Hardmax(b) y = Neg(c) }",
                            false);
    std::string note;
    const std::vector<double> got = times(run, note);
    ASSERT_EQ(got.size(), 4U);
    EXPECT_NEAR(got[0], 1, 1e-6);
    EXPECT_NEAR(got[1], 2, 1e-6);
    EXPECT_NEAR(got[3], 1, 1e-6);
}

TEST_F(StepTimes, DroppedRecordsAreNoTimes) {
    CudaRun run = runOnCuda(layers, false);
    setenv("FAKECUPTI_DROPPED", "1", 1);
    std::string note;
    const std::vector<double> got = times(run, note);
    EXPECT_NE(note.find("dropped"), std::string::npos) << note;
    EXPECT_NE(note.find("events"), std::string::npos) << note;
    for (double one : got)
        EXPECT_GT(one, 0);
}

TEST_F(StepTimes, RecordingThatIsRefusedIsSaid) {
    CudaRun run = runOnCuda(layers, false);
    fake().fail("cuptiActivityEnable", 1, 0);
    std::string note;
    times(run, note);
    EXPECT_NE(note.find("cannot record kernels"), std::string::npos) << note;
}

TEST(RecordsByNode, EveryNodeHasOneRecord) {
    std::vector<double> seconds(2, -1);
    const std::unordered_map<uint64_t, size_t> steps = {{7, 1}, {8, 0}, {9, 1}};
    ASSERT_TRUE(
        sumByNode({{"k", 100, 110, 7}, {"k", 50, 70, 8}, {"k", 10, 13, 9}}, steps, seconds));
    EXPECT_NEAR(seconds[0], 20e-9, 1e-15);
    EXPECT_NEAR(seconds[1], 13e-9, 1e-15);
    EXPECT_FALSE(sumByNode({{"k", 1, 2, 7}, {"k", 1, 2, 8}}, steps, seconds)) << "one is missing";
    EXPECT_FALSE(sumByNode({{"k", 1, 2, 7}, {"k", 1, 2, 7}, {"k", 1, 2, 9}}, steps, seconds));
    EXPECT_FALSE(sumByNode({{"k", 1, 2, 5}}, {{7, 0}}, seconds)) << "of another graph";
}

} // namespace
