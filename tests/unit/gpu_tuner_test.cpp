// SPDX-License-Identifier: Apache-2.0
// The rules of a measurement against a device made of a table: interleaving, length of batches,
// disturbed rounds, candidates that are given up, fail or are illegal. All figures are synthetic.
#include "gpu/tune/left_out.h"
#include "tests/unit/gpu_tune_support.h"

#include <algorithm>
#include <numeric>

using namespace fuselage;
using namespace fuselage::testing_tune;

namespace {

const SyntheticTable three = {
    {"a", {10, {}, {}, {}}}, {"b", {11, {}, {}, {}}}, {"c", {12, {}, {}, {}}}};

std::vector<size_t> allOf(const SyntheticTable& table) {
    std::vector<size_t> out(table.size());
    std::iota(out.begin(), out.end(), size_t{0});
    return out;
}

TimingEntry contest(const SyntheticTable& table, FakeMeasurer& measurer) {
    Progress progress;
    auto out = measureCandidates(candidatesOf(table), allOf(table), measurer, {}, progress);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? out->entry : TimingEntry{};
}

std::vector<std::string> namesOf(const SyntheticTable& table) {
    std::vector<std::string> out;
    for (const auto& [name, what] : table)
        out.push_back(name);
    return out;
}

const CandidateRecord& named(const TimingEntry& entry, const std::string& name) {
    return *std::find_if(entry.begin(), entry.end(),
                         [&](const CandidateRecord& record) { return record.name == name; });
}

/// Answers from a table; `disturb` may change an answer by the number of its call.
FakeMeasurer
measurerOf(const SyntheticTable& table,
           std::function<void(BatchTiming&, const std::string&, size_t)> disturb = {}) {
    return {namesOf(table), [&table, disturb](const std::string& name, uint32_t runs, size_t call) {
                auto out = timeFrom(table, name, runs);
                if (out && disturb)
                    disturb(*out, name, call);
                return out;
            }};
}

} // namespace

TEST(Tuner, RoundsAreInterleavedAndBeginWithAnotherCandidateEachTime) {
    FakeMeasurer measurer = measurerOf(three);
    contest(three, measurer);
    ASSERT_GE(measurer.order.size(), 15U);
    const std::vector<std::string> rounds(measurer.order.end() - 15, measurer.order.end());
    const std::string wanted = "abcbcacababcbca";
    for (size_t i = 0; i < rounds.size(); ++i)
        EXPECT_EQ(rounds[i], wanted.substr(i, 1)) << i;
}

TEST(Tuner, BatchesAreLongAgainstTheClockAndRoundsAreEnough) {
    FakeMeasurer measurer = measurerOf(three);
    const TimingEntry entry = contest(three, measurer);
    EXPECT_GE(measurer.longest * 10e-6, 200e-6);
    EXPECT_LE(measurer.longest * 10e-6, 400e-6);
    for (const CandidateRecord& record : entry)
        EXPECT_EQ(record.rounds, 5U);
    EXPECT_NEAR(named(entry, "b").median, 11, 1e-9);
}

TEST(Tuner, RoundsWithAChangedClockAreDroppedForAllCandidates) {
    // Fast batches while the clock is boosted: they must not make `c` look fast.
    FakeMeasurer measurer =
        measurerOf(three, [](BatchTiming& timing, const std::string& name, size_t call) {
            if (call > 8 && call < 20) {
                timing.seconds /= name == "c" ? 4 : 1;
                timing.clockChanged = name == "c";
            }
        });
    const TimingEntry entry = contest(three, measurer);
    for (const CandidateRecord& record : entry) {
        EXPECT_EQ(record.rounds, 5U);
        EXPECT_EQ(record.spread, 0);
        EXPECT_EQ(record.notes, "");
    }
    EXPECT_NEAR(named(entry, "c").median, 12, 1e-9);
}

TEST(Tuner, ADeviceThatNeverHoldsItsClockIsMeasuredAndSaysSo) {
    FakeMeasurer measurer = measurerOf(
        three, [](BatchTiming& timing, const std::string&, size_t) { timing.throttled = true; });
    const TimingEntry entry = contest(three, measurer);
    EXPECT_EQ(chosen(entry), "a");
    EXPECT_EQ(named(entry, "a").notes, "unsteady clock in 15 of 15 rounds");
    EXPECT_EQ(named(entry, "a").rounds, 15U);
}

TEST(Tuner, HopelessCandidatesAreGivenUpEarly) {
    SyntheticTable table = three;
    table["d"].microseconds = 40;
    table["e"].microseconds = 17;
    FakeMeasurer measurer = measurerOf(table);
    const TimingEntry entry = contest(table, measurer);
    EXPECT_TRUE(named(entry, "d").eliminated);
    EXPECT_EQ(named(entry, "d").rounds, 2U);
    EXPECT_TRUE(named(entry, "e").eliminated);
    EXPECT_EQ(named(entry, "e").rounds, 3U);
    EXPECT_FALSE(named(entry, "c").eliminated);
}

TEST(Tuner, OneDisturbedBatchEndsNoCandidate) {
    // The first clean batch of `a`, the fastest, takes ten times as long.
    bool disturbed = false;
    FakeMeasurer measurer =
        measurerOf(three, [&](BatchTiming& timing, const std::string& name, size_t call) {
            if (name == "a" && call >= 6 && !disturbed) {
                disturbed = true;
                timing.seconds *= 10;
            }
        });
    const TimingEntry entry = contest(three, measurer);
    EXPECT_TRUE(disturbed);
    EXPECT_FALSE(named(entry, "a").eliminated);
    EXPECT_EQ(chosen(entry), "a");
}

TEST(Tuner, ANoisyLeaderGetsMoreRounds) {
    FakeMeasurer measurer =
        measurerOf(three, [](BatchTiming& timing, const std::string& name, size_t call) {
            timing.seconds *= name == "a" && call % 2 == 0 ? 1.08 : 1;
        });
    const TimingEntry entry = contest(three, measurer);
    EXPECT_EQ(named(entry, "a").rounds, 11U);
    EXPECT_GT(named(entry, "a").spread, 0.3);
}

TEST(Tuner, ACandidateThatFailsIsRefusedAndTheOthersGoOn) {
    SyntheticTable table = three;
    table["a"].measureFails = "launch";
    FakeMeasurer measurer = measurerOf(table);
    const TimingEntry entry = contest(table, measurer);
    EXPECT_EQ(named(entry, "a").refused, "launch");
    EXPECT_NE(named(entry, "a").why.find("synthetic run fails"), std::string::npos);
    EXPECT_EQ(chosen(entry), "b");
}

TEST(Tuner, ALostDeviceEndsTheTuningAndNamesTheCandidate) {
    for (const char* code : {"device.lost", "device.hung"}) {
        SyntheticTable table = three;
        table["b"].measureFails = code;
        FakeMeasurer measurer = measurerOf(table);
        Progress progress;
        auto out = measureCandidates(candidatesOf(table), allOf(table), measurer, {}, progress);
        ASSERT_TRUE(out);
        ASSERT_TRUE(out->deviceGone);
        EXPECT_EQ(out->deviceGone->code, code);
        ASSERT_EQ(out->entry.size(), 1U);
        EXPECT_EQ(out->entry[0].name, "b");
        EXPECT_EQ(out->entry[0].refused, code);
        EXPECT_EQ(measurer.order.back(), "b") << "nothing runs after it";
    }
}

TEST(Tuner, CancellingStopsBeforeTheNextBatch) {
    Progress progress;
    FakeMeasurer measurer = measurerOf(three, [&](BatchTiming&, const std::string&, size_t call) {
        if (call == 7)
            progress.cancel();
    });
    auto out = measureCandidates(candidatesOf(three), allOf(three), measurer, {}, progress);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "cancelled");
    EXPECT_EQ(measurer.order.size(), 8U);
}

TEST(Tuner, NoTimeAtAllIsNoMeasurement) {
    SyntheticTable table = three;
    table["a"].microseconds = 0;
    FakeMeasurer measurer = measurerOf(table);
    const TimingEntry entry = contest(table, measurer);
    EXPECT_EQ(named(entry, "a").refused, "measure");
}

TEST(Tuner, IllegalCandidatesNameNeedAndLimit) {
    std::vector<TuneCandidate> all(3);
    all[0].name = "approximate";
    all[0].facts.numeric = NumericClass::Approximate;
    all[1].name = "large";
    all[1].facts.workspaceBytes = 13526016;
    all[2].name = "fits";
    const Legality legality = legalCandidates(all, NumericClass::Reassociated, 1000);
    ASSERT_EQ(legality.legal.size(), 1U);
    EXPECT_EQ(legality.legal[0].name, "fits");
    ASSERT_EQ(legality.refused.size(), 2U);
    EXPECT_EQ(legality.refused[0].refused, "numeric-class");
    EXPECT_EQ(legality.refused[0].why, "computes approximate, allowed is reassociated");
    EXPECT_EQ(legality.refused[1].refused, "workspace");
    EXPECT_EQ(legality.refused[1].why, "needs 13526016 bytes of workspace, the limit is 1000");
}

TEST(Tuner, SpillsAreMeasuredAndNoted) {
    SyntheticTable table = three;
    table["a"].facts.localBytes = 48;
    table["a"].facts.notes = "split-k 4";
    FakeMeasurer measurer = measurerOf(table);
    EXPECT_EQ(named(contest(table, measurer), "a").notes, "split-k 4; spills 48 bytes a thread");
}

/// A pair that took the device with it is a mark against the variants of both parts.
TEST(LeftOut, WhatIsMadeOfOthersIsOfTheirFamilies) {
    using Families = std::vector<std::string_view>;
    EXPECT_EQ(familiesOf("tensor_64x64 2"), (Families{"tensor_64x64"}));
    EXPECT_EQ(familiesOf("layers_apart tma_128x128 + cublaslt 128 k2"),
              (Families{"tma_128x128", "cublaslt"}));
    TimingCache cache;
    CandidateRecord lost;
    lost.name = "layers_apart tma_128x128 + tensor_64x64";
    lost.refused = "device.hung";
    for (const char* key : {"a", "b"})
        cache.add(syntheticKey(key), {lost});
    const auto condemned = condemnedFamilies(cache, syntheticKey("c"));
    EXPECT_EQ(condemned.size(), 2U);
    EXPECT_TRUE(isAmong(lost.name, condemned));
    EXPECT_FALSE(isAmong("layers_apart tma_128x128 + cublaslt 128", condemned));
    EXPECT_TRUE(whyLeftOut("tma_128x128", true, {}, condemned).has_value());
}
