// SPDX-License-Identifier: Apache-2.0
// Logical bytes by hand, predictions that order as they must, decisions, and device profiles.
#include "core/cost/decision.h"
#include "core/cost/profile_internal.h"
#include "core/cost/time_model.h"
#include "core/cost/touched_set.h"
#include "cost_support.h"
#include "kernel_support.h"

using namespace fuselage;
using namespace fuselage::testing_cost;
using namespace fuselage::testing_kernel;

namespace {

const char* const convBiasRelu =
    "(float[1,64,56,56] x, float[64,64,3,3] w, float[64] b) => (float[1,64,56,56] y) "
    "{ c = Conv<pads=[1,1,1,1]>(x, w, b)  y = Relu(c) }";

std::vector<TimeEstimate> partsOf(const std::vector<std::string>& bodies,
                                  const DeviceProfile& profile) {
    std::vector<TimeEstimate> out;
    for (const std::string& body : bodies)
        out.push_back(timeOf(programOf(bodyFrom(body)), profile));
    return out;
}

constexpr const char* goodProfile = R"(
name = "x"
title = "X"
kind = "gpu"
arch = "sm_90"
units = { value = 1, source = "sheet" }
lanes_per_unit = { value = 1, source = "sheet" }
clock = { value = 1, source = "sheet" }
dram_bandwidth = { value = 1, source = "sheet" }
l2_bandwidth = { value = 1, source = "sheet" }
l2_bytes = { value = 1, source = "sheet" }
fp32_flops = { value = 1, source = "sheet" }
fp16_matrix_flops = { value = 1, source = "sheet" }
tf32_matrix_flops = { value = 1, source = "sheet" }
launch_seconds = { value = 1, source = "sheet" }
shared_bytes_per_unit = { value = 1, source = "sheet" }
registers_per_unit = { value = 1, source = "sheet" }
threads_per_unit = { value = 1, source = "sheet" }
overlap = { value = 1, source = "sheet" }
residency = { value = 1, source = "sheet" }
)";

std::string without(std::string text, const std::string& line) {
    size_t at = text.find(line);
    EXPECT_NE(at, std::string::npos);
    return text.erase(at, text.find('\n', at) - at);
}

} // namespace

TEST(LogicalTraffic, FusedConvolutionReadsItsInputOnceAndWritesOnce) {
    Traffic traffic = logicalTraffic(programOf(bodyFrom(convBiasRelu)));
    constexpr int64_t map = 64 * 56 * 56 * 4;
    EXPECT_EQ(traffic.logicalRead, map + (64 * 64 * 9 + 64) * 4);
    EXPECT_EQ(traffic.logicalWritten, map);
}

TEST(LogicalTraffic, UnfusedConvBiasReluMovesTheMapThreeTimesEachWay) {
    constexpr int64_t map = 64 * 56 * 56 * 4;
    int64_t maps = 0;
    for (const char* body :
         {"(float[1,64,56,56] x, float[64,64,3,3] w) => (float[1,64,56,56] y) "
          "{ y = Conv<pads=[1,1,1,1]>(x, w) }",
          "(float[1,64,56,56] x, float[64,1,1] b) => (float[1,64,56,56] y) { y = Add(x, b) }",
          "(float[1,64,56,56] x) => (float[1,64,56,56] y) { y = Relu(x) }"}) {
        Traffic traffic = logicalTraffic(programOf(bodyFrom(body)));
        EXPECT_EQ(traffic.logicalWritten, map);
        maps += traffic.logical();
    }
    EXPECT_EQ(maps, 6 * map + (64 * 64 * 9 + 64) * 4);
}

TEST(LogicalTraffic, BroadcastOperandCountsOnce) {
    Traffic traffic =
        logicalTraffic(programOf(bodyFrom("(float[128,64] x, float[64] b) => (float[128,64] y) "
                                          "{ y = Add(x, b) }")));
    EXPECT_EQ(traffic.logicalRead, (128 * 64 + 64) * 4);
}

TEST(LogicalTraffic, OperandReadAtTwoPlacesCountsTheirUnion) {
    expectLowers("(float[6,6] x) => (float[6,6] y) "
                 "{ t = Transpose<perm=[1,0]>(x)  y = Add(x, t) }",
                 "Pointwise");
    KernelProgram program =
        expectLowers("(float[10] x) => (float[6] y) "
                     "{ z = Constant<value_ints=[0]>()  f = Constant<value_ints=[4]>() "
                     "s = Constant<value_ints=[6]>()  e = Constant<value_ints=[10]>() "
                     "a = Slice(x, z, s)  b = Slice(x, f, e)  y = Mul(a, b) }",
                     "Pointwise");
    EXPECT_EQ(logicalTraffic(program).logicalRead, 10 * 4);
}

TEST(LogicalTraffic, SliceReadsOnlyItsElements) {
    Traffic traffic = logicalTraffic(programOf(
        bodyFrom("(float16[100,8] x) => (float16[25,8] y) { s = Constant<value_ints=[0]>() "
                 "e = Constant<value_ints=[100]>()  a = Constant<value_ints=[0]>() "
                 "p = Constant<value_ints=[4]>()  y = Slice(x, s, e, a, p) }")));
    EXPECT_EQ(traffic.logicalRead, 25 * 8 * 2);
}

TEST(LogicalTraffic, LayerNormReadsItsRowOnce) {
    Traffic traffic = logicalTraffic(
        programOf(bodyFrom("(float[4,768] x, float[768] g, float[768] b) => (float[4,768] y) "
                           "{ y = LayerNormalization(x, g, b) }")));
    EXPECT_EQ(traffic.logicalRead, (4 * 768 + 2 * 768) * 4);
    EXPECT_EQ(traffic.logicalWritten, 4 * 768 * 4);
}

TEST(TouchedSet, OverlappingTermsAreCountedOnce) {
    TouchedSet set({10});
    const std::vector<DimIndex> index{{0, {{0, 1}, {1, 2}}}};
    set.add(index, {3, 4}); // i + 2 j for i < 3, j < 4: 0 .. 8
    EXPECT_EQ(set.count(), 9);
}

TEST(WorkOf, FlopsOfContractionsAreExact) {
    EXPECT_EQ(workOf(programOf(bodyFrom(convBiasRelu))).matrixFlops, 2LL * 64 * 56 * 56 * 64 * 9);
    EXPECT_EQ(workOf(programOf(bodyFrom("(float[2,4,8] x, float[8,6] w) => (float[2,4,6] y) "
                                        "{ y = MatMul(x, w) }")))
                  .matrixFlops,
              2LL * 2 * 4 * 6 * 8);
}

TEST(PredictTraffic, RecentDataComesFromL2) {
    KernelProgram program =
        programOf(bodyFrom("(float[1024,1024] x) => (float[1024,1024] y) { y = Relu(x) }"));
    const DeviceProfile profile = h200();
    Traffic cold = predictTraffic(program, profile, {{-1}});
    Traffic warm = predictTraffic(program, profile, {{0}});
    Traffic stale = predictTraffic(program, profile, {{int64_t(1) << 30}});
    EXPECT_EQ(cold.dram, cold.logical());
    EXPECT_LT(warm.dram, cold.dram);
    EXPECT_EQ(stale.dram, cold.dram);
    EXPECT_EQ(warm.l2, cold.l2);
}

TEST(PredictTime, BiasGeluInHalfIsBoundByInstructionsOnAnH200) {
    KernelProgram program =
        programOf(bodyFrom("(float16[65536,4096] x, float16[4096] b) => (float16[65536,4096] y) "
                           "{ t = Add(x, b)  y = Gelu(t) }"));
    TimeEstimate estimate = timeOf(program, h200());
    EXPECT_EQ(estimate.limiter, "issue");
    EXPECT_GT(estimate.seconds, 0.25e-3); // the copy alone
    EXPECT_LT(estimate.seconds, 0.45e-3);
    EXPECT_LE(estimate.low, estimate.seconds);
    EXPECT_GE(estimate.high, estimate.seconds);
}

TEST(PredictTime, SmallProgramsAreBoundByTheirLaunch) {
    TimeEstimate estimate =
        timeOf(programOf(bodyFrom("(float[64] x) => (float[64] y) { y = Relu(x) }")), h200());
    EXPECT_EQ(estimate.limiter, "launch");
}

TEST(TimeModel, MoreOfTheSameIsNeverFasterOnAnyDevice) {
    const std::vector<std::vector<std::string>> families = {
        {"(float[64,64] x) => (float[64,64] y) { y = Erf(x) }",
         "(float[512,512] x) => (float[512,512] y) { y = Erf(x) }",
         "(float[4096,4096] x) => (float[4096,4096] y) { y = Erf(x) }"},
        {"(float[512,512] x) => (float[512,512] y) { y = Relu(x) }",
         "(float[512,512] x) => (float[512,512] y) { a = Relu(x) y = Tanh(a) }",
         "(float[512,512] x) => (float[512,512] y) { a = Relu(x) b = Tanh(a) y = Sin(b) }"},
        {"(float[128,64] x) => (float[128,64] y) { y = Softmax(x) }",
         "(float[128,1024] x) => (float[128,1024] y) { y = Softmax(x) }",
         "(float[2048,1024] x) => (float[2048,1024] y) { y = Softmax(x) }"},
        {"(float[1,256] x, float[256,256] w) => (float[1,256] y) { y = MatMul(x, w) }",
         "(float[128,256] x, float[256,256] w) => (float[128,256] y) { y = MatMul(x, w) }",
         "(float[128,2048] x, float[2048,256] w) => (float[128,256] y) { y = MatMul(x, w) }",
         "(float[128,2048] x, float[2048,2048] w) => (float[128,2048] y) { y = MatMul(x, w) }"},
        {"(float[1,16,28,28] x, float[16,16,3,3] w) => (float[1,16,28,28] y) "
         "{ y = Conv<pads=[1,1,1,1]>(x, w) }",
         "(float[1,64,28,28] x, float[64,64,3,3] w) => (float[1,64,28,28] y) "
         "{ y = Conv<pads=[1,1,1,1]>(x, w) }",
         "(float[1,64,56,56] x, float[64,64,3,3] w) => (float[1,64,56,56] y) "
         "{ y = Conv<pads=[1,1,1,1]>(x, w) }",
         "(float[8,64,56,56] x, float[64,64,3,3] w) => (float[8,64,56,56] y) "
         "{ y = Conv<pads=[1,1,1,1]>(x, w) }"},
    };
    for (const std::string& name : deviceProfileNames()) {
        const DeviceProfile profile = *deviceProfile(name);
        for (const auto& family : families) {
            double before = 0;
            for (const std::string& body : family) {
                const TimeEstimate estimate = timeOf(programOf(bodyFrom(body)), profile);
                EXPECT_GE(estimate.seconds, before) << name << ": " << body;
                EXPECT_GE(estimate.seconds, profile.launchSeconds) << name << ": " << body;
                EXPECT_LE(estimate.low, estimate.high) << name << ": " << body;
                before = estimate.seconds;
            }
        }
    }
}

TEST(TimeModel, ABetterDeviceIsNeverSlower) {
    const std::vector<std::string> bodies = {
        convBiasRelu, "(float[512,512] x) => (float[512,512] y) { y = Softmax(x) }",
        "(float[1,4096] x, float[4096,4096] w) => (float[1,4096] y) { y = MatMul(x, w) }"};
    for (const std::string& name : deviceProfileNames())
        for (double DeviceProfile::*figure :
             {&DeviceProfile::dramBandwidth, &DeviceProfile::l2Bandwidth, &DeviceProfile::clock,
              &DeviceProfile::matrixEfficiency, &DeviceProfile::filterGain,
              &DeviceProfile::issueEfficiency, &DeviceProfile::l2Bytes})
            for (const std::string& body : bodies) {
                const DeviceProfile profile = *deviceProfile(name);
                DeviceProfile better = profile;
                better.*figure *= 2;
                const KernelProgram program = programOf(bodyFrom(body));
                EXPECT_LE(timeOf(program, better).seconds,
                          1.0001 * timeOf(program, profile).seconds)
                    << name << ": " << body;
            }
}

TEST(TimeModel, AnOperationCostsWhatTheDeviceSaysOfIt) {
    DeviceProfile profile = h200();
    profile.overlap = 1;
    const KernelProgram sine =
        programOf(bodyFrom("(float[4096,4096] x) => (float[4096,4096] y) { y = Sin(x) }"));
    const double before = timeOf(sine, profile).issue;
    profile.tapeIssue[static_cast<size_t>(TapeOp::Tanh)] = 100;
    EXPECT_EQ(timeOf(sine, profile).issue, before);
    profile.tapeIssue[static_cast<size_t>(TapeOp::Sin)] = 16 + 2 * 18;
    EXPECT_NEAR(timeOf(sine, profile).issue / before, 3, 1e-9) << "16, a load and a store";
}

TEST(TimeModel, AProcessorSharesOnlyWhatIsWorthIt) {
    DeviceProfile one = *deviceProfile("cpu_generic");
    one.forkSeconds = 5e-6;
    const DeviceProfile four = withCores(one, 4);
    auto seconds = [&](const std::string& extent, const DeviceProfile& profile) {
        return timeOf(programOf(bodyFrom("(float[" + extent + "] x) => (float[" + extent +
                                         "] y) { y = Erf(x) }")),
                      profile)
            .seconds;
    };
    EXPECT_EQ(four.fp32Flops, 4 * one.fp32Flops);
    EXPECT_EQ(withCores(four, 1).l2Bandwidth, one.l2Bandwidth);
    EXPECT_LT(seconds("64", four), one.launchSeconds + 5e-6) << "a core does this alone";
    EXPECT_LT(seconds("4194304", four), seconds("4194304", one));
}

TEST(LogicalTraffic, GatherReadsAsMuchOfItsTableAsItGives) {
    const Traffic traffic = logicalTraffic(programOf(
        bodyFrom("(float[30000,64] t, int64[8] i) => (float[8,64] y) { y = Gather(t, i) }")));
    EXPECT_EQ(traffic.logicalRead, 8 * 64 * 4 + 8 * 8);
}

TEST(DecideFusion, ElementwiseChainsFuse) {
    const DeviceProfile profile = h200();
    const std::string one = "(float[4096,4096] x) => (float[4096,4096] y) { y = Relu(x) }";
    TimeEstimate fused = timeOf(programOf(bodyFrom("(float[4096,4096] x) => (float[4096,4096] y) "
                                                   "{ a = Relu(x)  b = Neg(a)  y = Abs(b) }")),
                                profile);
    Decision decision = decideFusion(fused, partsOf({one, one, one}, profile));
    EXPECT_EQ(decision.verdict, Verdict::Fuse);
    EXPECT_GT(decision.bars.traffic, 0);
    EXPECT_GT(decision.bars.launch, 0);
    EXPECT_NEAR(decision.bars.total(), decision.unfusedSeconds - decision.fusedSeconds, 1e-12);
    EXPECT_EQ(decision.reason.code, "cost");
}

TEST(DecideFusion, SlowerFusionIsKeptApartAndCloseOnesAreMeasured) {
    TimeEstimate slow, fast, close;
    slow.seconds = slow.low = slow.high = 30e-6;
    fast.seconds = fast.low = fast.high = 10e-6;
    close.seconds = 20e-6;
    close.low = 18e-6;
    close.high = 22e-6;
    EXPECT_EQ(decideFusion(slow, {fast, fast}).verdict, Verdict::Keep);
    EXPECT_EQ(decideFusion(close, {fast, fast}).verdict, Verdict::Measure);
}

TEST(Preferred, AChangeWinsItsShareAndWhereThatIsUnclearMovesNoMore) {
    EXPECT_TRUE(preferred({10e-6, 9e-6}, least_share::cut));
    EXPECT_FALSE(preferred({10e-6, 9.6e-6}, least_share::cut));
    EXPECT_FALSE(preferred({10e-6, 10e-6}, least_share::any));
    EXPECT_FALSE(preferred({10e-6, 11e-6, 0, 1e6}, least_share::any)) << "bytes are no time";
    EXPECT_TRUE(preferred({10e-6, 9e-6, 2e-6, 0}, least_share::any));
    EXPECT_FALSE(preferred({10e-6, 9e-6, 2e-6, -1}, least_share::any));
    EXPECT_TRUE(preferred({10e-6, 7e-6, 2e-6, -1}, least_share::any));
    EXPECT_FALSE(preferred({10e-6, 9e-6}, least_share::order, 100e-6)) << "of all that changes";
}

/// Where a fusion is sure, the saving is beyond the error, and nowhere else.
TEST(Preferred, AgreesWithTheVerdictOnAFusion) {
    for (int fused = 10; fused <= 40; ++fused)
        for (int spread = 0; spread <= 4; ++spread) {
            TimeEstimate one, part;
            one.seconds = fused * 1e-6;
            one.low = one.seconds - spread * 1e-6;
            one.high = one.seconds + spread * 1e-6;
            part.seconds = 10e-6;
            part.low = 9e-6;
            part.high = 11e-6;
            const Decision decision = decideFusion(one, {part, part, part});
            EXPECT_EQ(decision.verdict == Verdict::Fuse,
                      preferred(changeOf(decision, -1), least_share::any))
                << fused << " " << spread;
        }
}

TEST(TimeModel, AProcessorKeepsSmallResultsAndFetchesLinesOfLargeOnes) {
    DeviceProfile cpu = h200();
    cpu.kind = DeviceKind::Cpu;
    cpu.residency = 1;
    cpu.l2Bytes = 1 << 20;
    auto written = [&](const std::string& extent) {
        const KernelProgram relu = programOf(
            bodyFrom("(float[" + extent + "] x) => (float[" + extent + "] y) { y = Relu(x) }"));
        // The input lies in the cache as far as it can.
        return predictTraffic(relu, cpu, {{0}}).dram;
    };
    EXPECT_EQ(written("1024"), 4096 * 4096 / (1 << 20) * 3) << "a part of 1/256, three times";
    EXPECT_EQ(written("1048576"), (4 << 20) * 3) << "read, fetched, written";
    EXPECT_EQ(predictTraffic(programOf(bodyFrom("(float[1024] x) => (float[1024] y) "
                                                "{ y = Relu(x) }")),
                             h200(), {{0}})
                  .dram,
              4096)
        << "a GPU writes out what it has";
}

namespace {

DeviceProfile processor() {
    DeviceProfile out = h200();
    out.kind = DeviceKind::Cpu;
    out.units = 1;
    out.coreBytes = 1 << 20;
    out.l2Bytes = 1 << 30;
    out.waitBandwidth = 1e9;
    return out;
}

const char* const normalised = "(float[64,768] x, float[768] s, float[768] b) => (float[64,768] y) "
                               "{ y = LayerNormalization(x, s, b) }";

} // namespace

TEST(TimeModel, APlaceThatACoreHasLostIsMissedLikeAnOperand) {
    const DeviceProfile cpu = processor();
    const KernelProgram row = programOf(bodyFrom(normalised));
    const int64_t far = 4 << 20;
    auto missed = [&](int64_t place, int64_t code = 0) {
        return predictTraffic(row, cpu, {{0, 0, 0}, {place}, code}).l2;
    };
    EXPECT_EQ(missed(0), 0);
    EXPECT_EQ(missed(far), 64 * 768 * 4 / 2);
    int64_t before = 0;
    for (int64_t place = 0; place <= far; place += far / 16) {
        EXPECT_GE(missed(place), before) << place;
        before = missed(place);
    }
    EXPECT_GT(missed(0, far), 0) << "its code";
    // Where nobody knows, as much is gone as of the operands.
    EXPECT_EQ(predictTraffic(row, cpu, {{0, 0, 0}}).l2, 0);
    EXPECT_GT(predictTraffic(row, cpu, {{far, far, far}}).l2,
              predictTraffic(row, cpu, {{far, far, far}, {0}}).l2);
}

TEST(TimeModel, PlacesAreNothingToAGpu) {
    const KernelProgram row = programOf(bodyFrom(normalised));
    const Traffic without = predictTraffic(row, h200(), {{0, 0, 0}});
    const Traffic with = predictTraffic(row, h200(), {{0, 0, 0}, {1 << 30}, 1 << 30});
    EXPECT_EQ(with.l2, without.l2);
    EXPECT_EQ(with.dram, without.dram);
    DeviceProfile waits = h200();
    waits.waitBandwidth = 1;
    EXPECT_EQ(predictTime(row, without, waits).seconds, predictTime(row, without, h200()).seconds);
}

TEST(TimeModel, RowsWaitForWhatTheyMissAndStreamsDoNot) {
    DeviceProfile cpu = processor();
    auto more = [&](const char* body) {
        const KernelProgram program = programOf(bodyFrom(body));
        Traffic near = predictTraffic(program, cpu, {{0, 0, 0}});
        near.dram = 0;
        Traffic far = near;
        far.l2 += 1'000'000;
        return predictTime(program, far, cpu).seconds - predictTime(program, near, cpu).seconds;
    };
    EXPECT_NEAR(more(normalised), 1e-3, 1e-9);
    EXPECT_LT(more("(float[64,768] x) => (float[64,768] y) { y = Exp(x) }"), 1e-4);
    cpu.waitBandwidth = 0; // of a profile that does not know
    EXPECT_LT(more(normalised), 1e-4);
}

TEST(TimeModel, FilteringSpeedsUpConvolutionsOfThreeByThreeOnly) {
    DeviceProfile profile = h200();
    auto matrix = [&](const std::string& body, double gain) {
        profile.filterGain = gain;
        return timeOf(programOf(bodyFrom(body)), profile).matrix;
    };
    const std::string strided = "(float[1,64,56,56] x, float[64,64,3,3] w) => "
                                "(float[1,64,28,28] y) { y = Conv<pads=[1,1,1,1], "
                                "strides=[2,2]>(x, w) }";
    EXPECT_NEAR(matrix(convBiasRelu, 2) / matrix(convBiasRelu, 1), 0.5, 1e-9);
    EXPECT_EQ(matrix(strided, 2), matrix(strided, 1));
}

TEST(DeviceProfiles, BuiltInOnesParseAndNameTheirSources) {
    for (const std::string& name : deviceProfileNames()) {
        auto profile = deviceProfile(name);
        ASSERT_TRUE(profile) << profile.error().text();
        EXPECT_EQ(profile->name, name);
        EXPECT_GE(profile->sources.size(), 31U) << name;
        EXPECT_GT(profile->dramBandwidth, 1e8);
    }
}

TEST(DeviceProfiles, TheClockOfThisMachineIsOneThatProcessorsHave) {
    const auto here = deviceProfile("cpu");
    ASSERT_TRUE(here) << here.error().text();
    EXPECT_GT(here->clock, 0.5e9);
    EXPECT_LT(here->clock, 8e9);
    EXPECT_NEAR(here->fp32Flops, here->units * here->clock * here->lanesPerUnit * 2, 1);
}

TEST(DeviceProfiles, BadFilesNameTheField) {
    ASSERT_TRUE(parseProfile(goodProfile, "x.toml"));
    auto missing = parseProfile(without(goodProfile, "clock ="), "x.toml");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, "profile.field");
    EXPECT_NE(missing.error().text().find("`clock` is missing"), std::string::npos);
    auto extra = parseProfile(std::string(goodProfile) + "colour = 3\n", "x.toml");
    ASSERT_FALSE(extra);
    EXPECT_NE(extra.error().text().find("`colour`"), std::string::npos);
    auto negative = parseProfile(
        without(goodProfile, "units =") + "units = { value = -3, source = \"sheet\" }\n", "x.toml");
    ASSERT_FALSE(negative);
    EXPECT_NE(negative.error().text().find("`units`"), std::string::npos);
    auto broken = parseProfile("name = ", "x.toml");
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, "profile.syntax");
}

TEST(DeviceProfiles, UnknownNameListsTheKnownOnes) {
    auto profile = deviceProfile("h2000");
    ASSERT_FALSE(profile);
    EXPECT_NE(profile.error().text().find("h200"), std::string::npos);
}
