// SPDX-License-Identifier: Apache-2.0
// Whether kernels are launched early: a table in place of graphs. Never without equal bits, never
// without being faster by more than the tie band, and never measured twice.
#include "gpu/tune/early_launch.h"

#include <gtest/gtest.h>

namespace {

using namespace fuselage;
using namespace fuselage::gpu;

/// Graphs whose times and results are made up.
struct Graphs {
    double apart = 100, early = 90; ///< microseconds
    int wrongEarly = -1;            ///< the early run, counted from 0, whose result differs
    bool unsteady = false;          ///< results differ from run to run
    const char *failsEarly = "", *failsApart = "", *failsReset = ""; ///< codes of errors
    int failsFrom = 0; ///< runs of that kind that succeed before
    int runs = 0, earlyRuns = 0, apartRuns = 0, resets = 0;

    EarlyTrial trial() {
        return {[this](bool isEarly, uint32_t times) -> Result<double> {
                    EXPECT_GE(times, 1U);
                    ++runs;
                    const int number = isEarly ? earlyRuns++ : apartRuns++;
                    const char* code = isEarly ? failsEarly : failsApart;
                    if (*code != 0 && number >= failsFrom)
                        return failure(code, "made up");
                    m_result = unsteady ? runs : isEarly && number == wrongEarly ? 2 : 1;
                    return isEarly ? early : apart;
                },
                [this]() -> Result<void> {
                    ++resets;
                    if (*failsReset != 0)
                        return failure(failsReset, "made up");
                    m_result = 0; // poison
                    return {};
                },
                [this]() -> Result<std::vector<std::byte>> {
                    return std::vector<std::byte>{static_cast<std::byte>(m_result)};
                }};
    }

private:
    int m_result = 0;
};

TacticKey keyOf(const char* name = "tactic") {
    TacticKey step;
    step.step = "Pointwise";
    step.device = "a device";
    step.software = "emitter 1";
    step.hash = "0123456789abcdef";
    return earlyLaunchKey({{step, name}, {{}, "host"}, {step, name}});
}

struct Decision {
    bool early = false, learned = false, lost = false;
    std::string note, error; ///< code of the error
};

Decision decide(TimingCache& cache, Graphs& graphs, bool mayMeasure = true,
                const std::vector<std::string>& without = {}, const TacticKey& key = keyOf()) {
    EarlyLaunch launch(cache, key, mayMeasure, without);
    auto decided = launch.decide(graphs.trial());
    return {decided && *decided, launch.learned(), launch.lost(), launch.note(),
            decided ? "" : decided.error().code};
}

TEST(EarlyLaunch, isTakenWhereItIsEqualAndFaster) {
    TimingCache cache;
    Graphs graphs;
    const Decision first = decide(cache, graphs);
    EXPECT_TRUE(first.early);
    EXPECT_TRUE(first.learned);
    EXPECT_EQ(first.note, "kernels are launched early: 100.0 us -> 90.0 us");
    EXPECT_EQ(graphs.resets, 5); // two runs apart, three early ones
    const int before = graphs.runs;
    const Decision known = decide(cache, graphs, false); // as with --frozen
    EXPECT_TRUE(known.early);
    EXPECT_FALSE(known.learned);
    EXPECT_EQ(known.note, first.note);
    EXPECT_EQ(graphs.runs, before);
}

TEST(EarlyLaunch, isNotTakenWithinTheTieBandNorWhenSlower) {
    for (const double early : {99.0, 100.0, 120.0}) {
        TimingCache cache;
        Graphs graphs;
        graphs.early = early;
        const Decision out = decide(cache, graphs);
        EXPECT_FALSE(out.early) << early;
        EXPECT_EQ(out.note.find("kernels are not launched early: 100.0 us"), 0U) << out.note;
        EXPECT_FALSE(decide(cache, graphs).learned);
    }
}

TEST(EarlyLaunch, isNotMeasuredWhereNothingMayBe) {
    TimingCache cache;
    Graphs graphs;
    EXPECT_FALSE(decide(cache, graphs, false).early);
    EXPECT_EQ(graphs.runs, 0);
    EXPECT_TRUE(cache.entries().empty());
}

TEST(EarlyLaunch, anotherBitInAnyRunCondemnsIt) {
    for (const int run : {0, 2}) {
        TimingCache cache;
        Graphs graphs;
        graphs.wrongEarly = run;
        const Decision out = decide(cache, graphs);
        EXPECT_FALSE(out.early);
        EXPECT_NE(out.note.find("its results are not those"), std::string::npos) << out.note;
        Graphs healthy;
        const Decision again = decide(cache, healthy);
        EXPECT_FALSE(again.early);
        EXPECT_EQ(again.note, out.note);
        EXPECT_EQ(healthy.runs, 0);
    }
}

TEST(EarlyLaunch, resultsThatNeverRepeatProveNothing) {
    TimingCache cache;
    Graphs graphs;
    graphs.unsteady = true;
    const Decision out = decide(cache, graphs);
    EXPECT_FALSE(out.early);
    EXPECT_NE(out.note.find("differ from run to run"), std::string::npos) << out.note;
    EXPECT_EQ(graphs.earlyRuns, 0);
    EXPECT_TRUE(cache.entries().empty());
}

TEST(EarlyLaunch, isNotTriedWhereLaunchesCountForLittle) {
    TimingCache cache;
    Graphs graphs;
    graphs.apart = 2e5;
    const Decision out = decide(cache, graphs);
    EXPECT_FALSE(out.early);
    EXPECT_NE(out.note.find("a run takes 200 ms"), std::string::npos) << out.note;
    EXPECT_EQ(graphs.runs, 1);
    graphs.apart = graphs.early = 9e4;
    decide(cache, graphs);
    EXPECT_EQ(graphs.runs, 1 + 5 + 1 + 2 * 5); // rounds by the budget
}

TEST(EarlyLaunch, aFailureCostsItselfOnly) {
    TimingCache cache;
    Graphs graphs;
    graphs.failsEarly = "device.call";
    const Decision out = decide(cache, graphs);
    EXPECT_FALSE(out.early);
    EXPECT_EQ(out.error, "");
    EXPECT_NE(out.note.find("it failed"), std::string::npos) << out.note;
    EXPECT_TRUE(out.learned);

    TimingCache other;
    Graphs unready;
    unready.failsReset = "run.inputs";
    const Decision untried = decide(other, unready);
    EXPECT_FALSE(untried.early);
    EXPECT_NE(untried.note.find("could not be tried"), std::string::npos) << untried.note;
    EXPECT_TRUE(other.entries().empty());

    Graphs later; // in the rounds
    later.failsEarly = "device.call";
    later.failsFrom = 5;
    const Decision unmeasured = decide(other, later);
    EXPECT_FALSE(unmeasured.early);
    EXPECT_NE(unmeasured.note.find("could not be measured"), std::string::npos) << unmeasured.note;
    EXPECT_TRUE(other.entries().empty());
}

TEST(EarlyLaunch, aLostDeviceIsAnErrorWithItsCause) {
    for (const int from : {0, 5}) {
        TimingCache cache;
        Graphs graphs;
        graphs.failsEarly = "device.lost";
        graphs.failsFrom = from;
        const Decision out = decide(cache, graphs);
        EXPECT_EQ(out.error, "device.lost");
        EXPECT_TRUE(out.lost);
    }
    TimingCache cache;
    Graphs graphs;
    graphs.failsApart = "device.hung";
    const Decision out = decide(cache, graphs);
    EXPECT_EQ(out.error, "device.hung");
    EXPECT_FALSE(out.lost);
}

TEST(EarlyLaunch, isLeftOutByNameAndAfterTwoLosses) {
    TimingCache cache;
    Graphs graphs;
    const Decision out = decide(cache, graphs, true, {"early_*"});
    EXPECT_FALSE(out.early);
    EXPECT_NE(out.note.find("--without early_*"), std::string::npos) << out.note;
    EXPECT_EQ(graphs.runs, 0);

    CandidateRecord lost;
    lost.name = earlyLaunch;
    lost.refused = "device.lost";
    for (const char* plan : {"one", "two"})
        cache.add(keyOf(plan), {lost});
    EXPECT_FALSE(decide(cache, graphs).early);
    EXPECT_EQ(graphs.runs, 0);
}

TEST(EarlyLaunch, plansOfOtherTacticsHaveOtherKeys) {
    EXPECT_EQ(keyOf("a"), keyOf("a"));
    EXPECT_NE(keyOf("a"), keyOf("b"));
    EXPECT_EQ(keyOf("a").software, "emitter 1");
    EXPECT_EQ(keyOf("a").step, "Plan of 2 steps, its kernels launched early or apart");
}

} // namespace
