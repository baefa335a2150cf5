// SPDX-License-Identifier: Apache-2.0
// Bytes by hardware counters over the stand-in: the right bytes are the right step's, several
// passes are one result, and whatever forbids counting is said in words and costs nothing else.
#include "gpu/runtime/cupti.h"
#include "gpu/runtime/range_counters.h"
#include "tests/fakecuda/fixture.h"
#include "tests/fakecuda/model_run.h"

namespace {

using namespace fuselage;
using namespace fuselage::gpu;

const char* const layers = "g (float[8,8] x) => (float[8,8] y) {"
                           " a = Exp(x) b = Neg(a) c = Neg(b) y = Neg(c) }";

class Counters : public FakeCudaTest {
protected:
    void SetUp() override {
        FakeCudaTest::SetUp();
        setenv("FUSELAGE_CUDA_LIBRARIES", FAKELIBS_FOLDER, 1);
    }

    void TearDown() override {
        for (const char* name : {"FAKECUPTI_PASSES", "FAKECUPTI_CHIP", "FAKECUPTI_UNSUPPORTED",
                                 "FAKECUPTI_RANGES_DROPPED", "FAKECUPTI_ZEROS"})
            unsetenv(name);
        FakeCudaTest::TearDown();
    }

    static Result<TrafficCounts> count(CudaRun& run) {
        Progress progress;
        return run.executable->countTraffic(run.inputs, progress);
    }

    /// The stand-in's figures of the n-th kernel of a pass.
    static void expectOfKernel(const std::optional<MeasuredTraffic>& got, int64_t n) {
        ASSERT_TRUE(got) << n;
        EXPECT_EQ(got->dramRead, n * 1000);
        EXPECT_EQ(got->dramWritten, n * 100);
        EXPECT_EQ(got->l2, n * 1'000'000);
    }

    static void expectLayers(CudaRun& run) {
        auto counts = count(run);
        ASSERT_TRUE(counts) << counts.error().text();
        ASSERT_EQ(counts->steps.size(), 4U);
        for (size_t i = 0; i < 4; ++i)
            expectOfKernel(counts->steps[i], static_cast<int64_t>(i + 1));
    }

    /// Counting fails with all of these words; the model runs and is timed as before.
    static void expectRefused(CudaRun& run, const std::vector<std::string>& words) {
        auto counts = count(run);
        ASSERT_FALSE(counts);
        EXPECT_EQ(counts.error().code, "run.counters");
        for (const std::string& word : words)
            EXPECT_NE(counts.error().text().find(word), std::string::npos)
                << word << " is not in: " << counts.error().text();
        fake().reset();
        run.check();
    }
};

TEST_F(Counters, EachStepHasTheBytesOfItsKernels) {
    CudaRun run = runOnCuda(layers, false);
    expectLayers(run);
    run.check();
}

TEST_F(Counters, SeveralPassesAreOneResult) {
    setenv("FAKECUPTI_PASSES", "3", 1);
    CudaRun run = runOnCuda(layers, false);
    const uint64_t before = fake().now().launches;
    auto counts = count(run);
    ASSERT_TRUE(counts) << counts.error().text();
    EXPECT_NE(counts->note.find("3 passes"), std::string::npos) << counts->note;
    for (size_t i = 0; i < 4; ++i)
        expectOfKernel(counts->steps[i], static_cast<int64_t>(i + 1));
    EXPECT_EQ(fake().now().launches - before, 12U) << "one launch a step and pass, none by a graph";
}

TEST_F(Counters, AStepOfTheHostHasNone) {
    CudaRun run = runOnCuda("g (float[4,6] x) => (float[4,6] y) { a = Exp(x) b = Neg(a)"
                            " c = Hardmax(b) y = Neg(c) }",
                            false);
    auto counts = count(run);
    ASSERT_TRUE(counts) << counts.error().text();
    ASSERT_EQ(counts->steps.size(), 4U);
    expectOfKernel(counts->steps[0], 1);
    expectOfKernel(counts->steps[1], 2);
    EXPECT_FALSE(counts->steps[2]);
    expectOfKernel(counts->steps[3], 3);
}

TEST_F(Counters, TimesByRecordsWorkBeforeAndAfter) {
    CudaRun run = runOnCuda(layers, false);
    for (int round = 0; round < 2; ++round) {
        const std::string note = run.check({.stepSeconds = true}).stepTimingNote;
        EXPECT_NE(note.find("matched by their nodes"), std::string::npos) << note;
        expectLayers(run);
    }
}

TEST_F(Counters, RecordsAndCountersRefuseOneAnother) {
    CudaRun run = runOnCuda(layers, false);
    auto records = Cupti::open();
    ASSERT_TRUE(records) << records.error().text();
    ASSERT_TRUE((*records)->start());
    expectRefused(run, {"another use of CUPTI", "NOT_COMPATIBLE"});
    ASSERT_TRUE((*records)->stop());
    expectLayers(run);
}

struct Refused {
    const char* call;
    int code;
    std::vector<std::string> words;
};

TEST_F(Counters, EachRefusalHasItsWords) {
    CudaRun run = runOnCuda(layers, false);
    const std::vector<Refused> all = {
        {"cuptiRangeProfilerEnable",
         35,
         {"INSUFFICIENT_PRIVILEGES", "NVreg_RestrictProfilingToAdminUsers=0", "CAP_SYS_ADMIN"}},
        {"cuptiRangeProfilerEnable", 39, {"another profiler", "MULTIPLE_SUBSCRIBERS"}},
        {"cuptiRangeProfilerEnable", 26, {"another program reads counters"}},
        {"cuptiRangeProfilerEnable", 43, {"MIG", "measure on a whole device"}},
        {"cuptiRangeProfilerEnable", 40, {"virtual GPU", "who runs the host"}},
        {"cuptiProfilerInitialize", 33, {"virtual GPUs", "VIRTUALIZED_DEVICE_NOT_SUPPORTED"}},
        {"cuptiProfilerInitialize", 36, {"another profiler has the device's counters"}},
        {"cuptiProfilerInitialize", 999, {"start its profiler", "CUPTI_ERROR_UNKNOWN"}},
        {"cuptiProfilerHostInitialize", 46, {"GH100", "does not know the device", "toolkit"}},
        {"cuptiRangeProfilerSetConfig", 8, {"configure the counters", "no memory left"}},
        {"cuptiRangeProfilerStart", 999, {"start the counters"}},
        {"cuptiRangeProfilerPushRange", 999, {"begin a range"}},
        {"cuptiRangeProfilerPopRange", 999, {"end a range"}},
        {"cuptiRangeProfilerStop", 999, {"stop the counters"}},
        {"cuptiRangeProfilerDecodeData", 999, {"decode the counters"}},
        {"cuptiProfilerHostEvaluateToGpuValues", 999, {"evaluate the counters"}},
    };
    for (const Refused& refused : all) {
        SCOPED_TRACE(refused.call + std::to_string(refused.code));
        fake().fail(refused.call, refused.code, 0);
        expectRefused(run, refused.words);
        expectLayers(run); // nothing of the refusal stays
    }
}

TEST_F(Counters, WhatTheDeviceDoesNotSupportIsNamed) {
    CudaRun run = runOnCuda(layers, false);
    const char* const words[] = {
        "compute capability 7.5", "SLI", "virtual GPU", "confidential computing",
        "mining processors",      "WSL"};
    for (size_t i = 0; i < std::size(words); ++i) {
        setenv("FAKECUPTI_UNSUPPORTED", std::to_string(i).c_str(), 1);
        expectRefused(run, {words[i]});
    }
}

TEST_F(Counters, ChipsHaveTheirOwnNamesOfCounters) {
    CudaRun run = runOnCuda(layers, false);
    setenv("FAKECUPTI_CHIP", "GB202", 1);
    expectLayers(run);
    setenv("FAKECUPTI_CHIP", "GB10B", 1);
    auto shared = count(run);
    ASSERT_TRUE(shared) << shared.error().text();
    ASSERT_TRUE(shared->steps[1]);
    EXPECT_EQ(shared->steps[1]->l2, 2'000'000);
    EXPECT_FALSE(shared->steps[1]->dramRead) << "no figure, and no zero";
    EXPECT_FALSE(shared->steps[1]->dram());
    setenv("FAKECUPTI_CHIP", "GV11B", 1);
    expectRefused(run, {"GV11B counts no bytes"});
    setenv("FAKECUPTI_CHIP", "ZZ999", 1);
    expectRefused(run, {"ZZ999", "does not know the device"});
}

TEST_F(Counters, ZerosAreNoData) {
    CudaRun run = runOnCuda(layers, false);
    setenv("FAKECUPTI_ZEROS", "1", 1);
    auto counts = count(run);
    ASSERT_TRUE(counts) << counts.error().text();
    for (const auto& step : counts->steps)
        EXPECT_FALSE(step);
}

TEST_F(Counters, LostRangesAreSaid) {
    CudaRun run = runOnCuda(layers, false);
    setenv("FAKECUPTI_RANGES_DROPPED", "1", 1);
    expectRefused(run, {"dropped 1 ranges"});
}

TEST_F(Counters, WithoutCuptiOrWithAnOldOneItIsSaid) {
    CudaRun run = runOnCuda(layers, false);
    setenv("FUSELAGE_CUDA_LIBRARIES", FAKECUDA_FOLDER, 1);
    expectRefused(run, {"no counters without CUPTI", "libcupti"});
    setenv("FUSELAGE_CUDA_LIBRARIES", FAKELIBS_FOLDER "/old", 1);
    expectRefused(run, {"too old for counters", "cuptiProfilerInitialize", "CUDA 13"});
    setenv("FUSELAGE_CUDA_LIBRARIES", FAKELIBS_FOLDER, 1);
    expectLayers(run);
}

TEST_F(Counters, AFaultOfTheRunIsTheRunsError) {
    CudaRun run = runOnCuda(layers, false);
    fake().fail("cuLaunchKernel", 1, 2);
    auto counts = count(run);
    ASSERT_FALSE(counts);
    EXPECT_EQ(counts.error().code, "device.call") << counts.error().text();
    fake().reset();
    expectLayers(run);
}

TEST_F(Counters, ACancelledCountEndsAndLeavesNothingOpen) {
    CudaRun run = runOnCuda(layers, false);
    Progress progress;
    progress.cancel();
    auto counts = run.executable->countTraffic(run.inputs, progress);
    ASSERT_FALSE(counts);
    EXPECT_EQ(counts.error().code, "cancelled");
    expectLayers(run);
}

TEST_F(Counters, MoreRangesThanCuptiTakesGoInTurns) {
    CudaRun run = runOnCuda(layers, false);
    auto device = Device::open();
    ASSERT_TRUE(device) << device.error().text();
    auto counters = RangeCounters::open(**device);
    ASSERT_TRUE(counters) << counters.error().text();
    constexpr size_t ranges = 2500, every = 500;
    auto counts = (*counters)->count(ranges, [&](const RangeMarks& marks) -> Result<void> {
        for (size_t i = 0; i < ranges; ++i) {
            if (auto begun = marks.begin(i); !begun)
                return begun;
            if (i % every == 0)
                run.check();
            if (auto ended = marks.end(i); !ended)
                return ended;
        }
        return {};
    });
    ASSERT_TRUE(counts) << counts.error().text();
    ASSERT_EQ(counts->size(), ranges);
    for (size_t i = 0; i < ranges; ++i) {
        const auto first = static_cast<int64_t>(4 * (i / every)); // kernels before it in each pass
        EXPECT_EQ((*counts)[i].has_value(), i % every == 0) << i;
        if ((*counts)[i]) {
            EXPECT_EQ((*counts)[i]->dramWritten, (4 * first + 10) * 100) << i;
        }
    }
}

} // namespace
