// SPDX-License-Identifier: Apache-2.0
// Gates: how they are read, and what they say of recorded numbers.
#include "app/batch/gates/evaluate.h"
#include "app/report/run_json.h"
#include "tests/unit/report_sample.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

using namespace fuselage;
using namespace fuselage::batch;
using app::GateRow;
using Verdict = app::GateRow::Verdict;

namespace {

/// Samples around 1 ms with 1 % noise, times `factor`.
TimingSummary recorded(double factor, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<double> seconds;
    for (int i = 0; i < 60; ++i)
        seconds.push_back(factor * 1e-3 *
                          (0.99 + 0.02 * static_cast<double>(random() % 1000) / 1000));
    return summarise(seconds);
}

app::Report measured(double factor, uint64_t seed = 1) {
    app::Report out = report_test::sampleReport();
    out.after.measured = recorded(factor, seed);
    return out;
}

Gate gateOf(const std::string& line) {
    auto gates = parseGates("[gate]\n" + line, "gates.toml");
    EXPECT_TRUE(gates) << gates.error().text();
    return gates->at(0);
}

/// The row of one gate for `now` against `base`; `again` are the factors of fresh processes.
GateRow judged(const std::string& line, const app::Report& base, const app::Report& now,
               std::vector<double> again = {}) {
    app::RunReport run = app::runOf(now);
    size_t next = 0;
    auto baseline = [&](const app::ModelRun&) { return std::optional(Baseline{base, {}}); };
    auto fresh = [&](const app::ModelRun&) -> std::optional<app::Report> {
        if (next >= again.size())
            return {};
        const double factor = again[next++];
        return measured(factor, 77 + next);
    };
    judge({{gateOf(line)}, Policy::Fail, baseline, fresh}, run);
    return run.gates.at(0);
}

constexpr const char* timeGate =
    R"(time = { metric = "e2e_us", max_increase = "5%", confirm = 2 })";

std::string errorOf(const std::string& text) {
    auto gates = parseGates(text, "gates.toml");
    return gates ? "read" : gates.error().where + " " + gates.error().message;
}

} // namespace

TEST(Gates, AreReadInTheOrderOfTheirLines) {
    auto gates = parseGates(R"([gate]
z = { metric = "launches", max_increase = 0 }
a = { metric = "e2e_us", max_increase = "5%", min_abs = "20us", level = "warn", models = ["m"] }
)",
                            "gates.toml");
    ASSERT_TRUE(gates) << gates.error().text();
    ASSERT_EQ(gates->size(), 2U);
    EXPECT_EQ(gates->at(0).id, "z");
    EXPECT_EQ(gates->at(1).maxIncrease->value, 0.05);
    EXPECT_TRUE(gates->at(1).maxIncrease->relative);
    EXPECT_DOUBLE_EQ(gates->at(1).minAbsolute, 20e-6);
    EXPECT_TRUE(gates->at(1).warnOnly);
}

TEST(Gates, MistakesAreNamedWithTheirLine) {
    EXPECT_EQ(errorOf("[gate]\na = { metric = \"launch\", min = 1 }"),
              "gates.toml:2 no metric `launch`");
    EXPECT_EQ(errorOf("[gate]\na = { metric = \"launches\" }"),
              "gates.toml:2 gate `a` has no limit");
    EXPECT_EQ(errorOf("[gate]\na = { metric = \"launches\", maximum = 1 }"),
              "gates.toml:2 a gate has no `maximum`");
    EXPECT_EQ(errorOf("[gates]\n"), "gates.toml:1 `gates` is not known here");
    EXPECT_NE(errorOf("[gate\n"), "read");
}

TEST(Gates, ChangesBelowTheLeastThatCountsPass) {
    app::Report base = report_test::sampleReport(), now = base;
    base.after.launches = 100;
    for (auto [launches, verdict] :
         {std::pair(103, Verdict::Pass), {104, Verdict::Fail}, {97, Verdict::Pass}}) {
        now.after.launches = static_cast<size_t>(launches);
        EXPECT_EQ(
            judged(R"(l = { metric = "launches", max_increase = "1%", min_abs = 3 })", base, now)
                .verdict,
            verdict)
            << launches;
    }
    // A part of the baseline's value, whichever way it goes.
    const char* fewer = R"(l = { metric = "launches", max_decrease = "6%" })";
    now.after.launches = 94;
    EXPECT_EQ(judged(fewer, base, now).verdict, Verdict::Pass);
    now.after.launches = 93;
    EXPECT_EQ(judged(fewer, base, now).verdict, Verdict::Fail);
}

TEST(Gates, AFallOfWhatIsMeasuredIsLimitedToo) {
    app::Report base = report_test::sampleReport(), now = base;
    for (app::KernelReport& kernel : now.after.kernels)
        if (kernel.facts)
            kernel.facts->registers = 20;
    EXPECT_EQ(judged(R"(r = { metric = "registers", max_decrease = 4 })", base, now).verdict,
              Verdict::Fail);
}

/// A result that is no number is as far from the reference as can be.
TEST(Gates, WhatIsNoNumberFails) {
    app::Report now = report_test::sampleReport();
    ASSERT_FALSE(now.agreement.empty());
    const char* gate = R"(r = { metric = "max_rel", max = 1e9 })";
    EXPECT_EQ(judged(gate, now, now).verdict, Verdict::Pass);
    now.agreement[0].maxRelative = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(judged(gate, now, now).verdict, Verdict::Fail);
}

TEST(Gates, AConditionOnWhatWasNotMeasuredFails) {
    app::RunReport run = app::runOf(report_test::sampleReport());
    run.models[0].report->after.measured.reset();
    auto none = [](const app::ModelRun&) -> std::optional<Baseline> { return {}; };
    auto again = [](const app::ModelRun&) -> std::optional<app::Report> { return {}; };
    judge({{*parseCondition("e2e_us > 1"), gateOf(R"(t = { metric = "e2e_us", max = 1 })")},
           Policy::Lenient,
           none,
           again},
          run);
    EXPECT_EQ(run.gates[0].verdict, Verdict::Fail);
    EXPECT_EQ(run.gates[1].verdict, Verdict::Skipped) << "of a file, as its page says";
    EXPECT_EQ(run.exitCode, 1);
}

TEST(Gates, CountsAreExact) {
    app::Report base = report_test::sampleReport(), now = base;
    const char* gate = R"(launches = { metric = "launches", max_increase = 0 })";
    EXPECT_EQ(judged(gate, base, now).verdict, Verdict::Pass);
    now.after.launches += 1;
    EXPECT_EQ(judged(gate, base, now).verdict, Verdict::Fail);
    EXPECT_EQ(judged(R"(w = { metric = "launches", max_increase = 0, level = "warn" })", base, now)
                  .verdict,
              Verdict::Warn);
    EXPECT_EQ(judged(R"(l = { metric = "launches", max_increase = "50%" })", base, now).verdict,
              Verdict::Pass);
}

TEST(Gates, ALostFusionFailsWithoutABaseline) {
    app::Report now = report_test::sampleReport();
    const char* gate = R"(m = { metric = "matches.ConvRelu", min = 1 })";
    EXPECT_EQ(judged(gate, now, now).verdict, Verdict::Pass);
    now.rules.clear();
    EXPECT_EQ(judged(gate, now, now).verdict, Verdict::Fail);
}

TEST(Gates, AFusedNodeThatLostAndAFallbackFail) {
    app::Report now = report_test::sampleReport();
    const char* slower = R"(s = { metric = "slower_matches", max = 0 })";
    const char* fallbacks = R"(f = { metric = "fallbacks", max = 0 })";
    EXPECT_EQ(judged(slower, now, now).verdict, Verdict::Skipped) << "no step was timed";
    now.matches[0].measuredRatio = RatioSummary{0.8, 0.7, 0.9};
    EXPECT_EQ(judged(slower, now, now).verdict, Verdict::Pass);
    now.matches[0].measuredRatio = RatioSummary{1.5, 1.2, 1.6};
    EXPECT_EQ(judged(slower, now, now).verdict, Verdict::Fail);
    now.matches[0].measuredRatio.reset();
    now.matches[0].measuredBefore = 1e-6;
    now.matches[0].measuredAfter = 9e-6;
    EXPECT_EQ(judged(slower, now, now).verdict, Verdict::Skipped);
    EXPECT_EQ(judged(slower, now, now).note, "too few runs to tell");
    EXPECT_EQ(judged(fallbacks, now, now).verdict, Verdict::Pass);
    now.before.kernels[0].isFallback = true;
    EXPECT_EQ(judged(fallbacks, now, now).verdict, Verdict::Fail);
    EXPECT_EQ(judged(R"(u = { metric = "speed_up", min = 1 })", now, now).verdict, Verdict::Skipped)
        << "beside a fallback there is no speed-up";
    for (auto* side : {&now.after.kernels, &now.before.kernels})
        for (app::KernelReport& kernel : *side)
            kernel.tactic.clear();
    EXPECT_EQ(judged(fallbacks, now, now).verdict, Verdict::Skipped) << "no kernel was chosen";
}

TEST(Gates, ConditionsSayWhereTheyFail) {
    auto gate = batch::parseCondition("slower_matches > 0");
    ASSERT_TRUE(gate) << gate.error().text();
    EXPECT_EQ(gate->metric, "slower_matches");
    EXPECT_EQ(gate->max, 0.0);
    EXPECT_FALSE(gate->min);
    gate = batch::parseCondition("speed_up<1.1");
    ASSERT_TRUE(gate);
    EXPECT_EQ(gate->min, 1.1);
    gate = batch::parseCondition("e2e_us > 20ms");
    ASSERT_TRUE(gate);
    EXPECT_DOUBLE_EQ(gate->max.value(), 0.02);
    for (const char* wrong : {"", "slower", "slower > 0", "slower_matches >", "slower_matches > x",
                              "slower_matches > 5%", "kernel_text > 1", "> 0", "launches >= 3"})
        EXPECT_FALSE(batch::parseCondition(wrong)) << wrong;
}

TEST(Gates, ABareNumberHasTheUnitThatTheMetricIsNamedBy) {
    for (const char* same : {"predicted_us > 100", "predicted_us > 100us", "predicted_us > 0.1 ms",
                             "predicted_us > 0.0001s"}) {
        auto gate = batch::parseCondition(same);
        ASSERT_TRUE(gate) << same;
        EXPECT_NEAR(gate->max.value(), 100e-6, 1e-12) << same;
        EXPECT_EQ(limitText(*gate), "<= 100 us") << same;
    }
    for (auto [line, limit] :
         {std::pair(R"(a = { metric = "e2e_us", max = 1500 })", "<= 1.5 ms"),
          {R"(a = { metric = "e2e_us", max = "1.5ms" })", "<= 1.5 ms"},
          {R"(a = { metric = "e2e_us", max_increase = 20 })", "+20 us"},
          {R"(a = { metric = "e2e_us", max_increase = "5%", min_abs = 20 })", "+5 %"},
          {R"(a = { metric = "peak_bytes", max = 4096 })", "<= 4,096 B"},
          {R"(a = { metric = "peak_bytes", max = "4KiB" })", "<= 4,096 B"},
          {R"(a = { metric = "peak_bytes", max = "64 kB" })", "<= 64,000 B"},
          {R"(a = { metric = "launches", min = 3, max = 3 })", "= 3"},
          {R"(a = { metric = "speed_up", min = 1.1 })", ">= 1.1"}})
        EXPECT_EQ(limitText(gateOf(line)), limit) << line;
    EXPECT_DOUBLE_EQ(gateOf(R"(a = { metric = "e2e_us", max = 9, min_abs = 20 })").minAbsolute,
                     20e-6);
}

/// Whatever people call their rules.
TEST(Gates, MatchesOfARuleAreCounted) {
    EXPECT_EQ(limitText(gateOf(R"(a = { metric = "matches.pack_us", min = 3 })")), ">= 3");
    EXPECT_EQ(limitText(gateOf(R"(a = { metric = "near_misses.all_bytes", max = 3 })")), "<= 3");
}

TEST(Gates, AUnitThatTheMetricHasNotIsAMistake) {
    EXPECT_EQ(errorOf("[gate]\na = { metric = \"launches\", max = \"20us\" }"),
              "gates.toml:2 `max`: `20us` is a time, and `launches` is a plain number");
    EXPECT_EQ(errorOf("[gate]\na = { metric = \"e2e_us\", max = \"20 MB\" }"),
              "gates.toml:2 `max`: `20 MB` is a number of bytes, and `e2e_us` is a time");
    EXPECT_EQ(errorOf("[gate]\na = { metric = \"dram_bytes\", max_increase = \"20 fish\" }"),
              "gates.toml:2 `max_increase`: `fish` is no unit");
    EXPECT_EQ(batch::parseCondition("peak_bytes > 2ms").error().fix,
              "write e.g. 4096, 64kB or 2MiB; a bare number is in bytes");
}

TEST(GatesOfTime, ALimitOfMicrosecondsFails) {
    app::Report now = report_test::sampleReport(); // e2e 2 us
    GateRow row = judged(R"(t = { metric = "e2e_us", max = 1 })", now, now);
    EXPECT_EQ(row.verdict, Verdict::Fail);
    EXPECT_EQ(row.limit, "<= 1 us");
    EXPECT_EQ(judged(R"(t = { metric = "e2e_us", max = 3 })", now, now).verdict, Verdict::Pass);
}

TEST(Gates, PredictedTimesNeedNoRun) {
    const char* gate = R"(p = { metric = "predicted_us", max_increase = "5%" })";
    EXPECT_FALSE(batch::isTimed("predicted_us"));
    EXPECT_FALSE(batch::isTimed("predicted_unfused_us"));
    app::Report base = report_test::sampleReport(), now = base;
    base.after.measured = now.after.measured = std::nullopt;
    base.after.predictedSeconds = 2e-3;
    now.after.predictedSeconds = 2.05e-3;
    EXPECT_EQ(judged(gate, base, now).verdict, Verdict::Pass);
    now.after.predictedSeconds = 2.2e-3;
    EXPECT_EQ(judged(gate, base, now).verdict, Verdict::Fail);
    now.after.predictedSeconds = 0;
    EXPECT_EQ(judged(gate, base, now).verdict, Verdict::Skipped) << "an older file has none";
}

TEST(Gates, AnotherKernelTextFailsAndNamesTheKernels) {
    app::Report base = report_test::sampleReport();
    const char* gate = R"(text = { metric = "kernel_text" })";
    EXPECT_EQ(judged(gate, base, base).verdict, Verdict::Skipped) << "of an older file";
    for (app::KernelReport& kernel : base.after.kernels)
        kernel.textHash = "0123456789abcdef";
    app::Report now = base;
    EXPECT_EQ(judged(gate, base, now).verdict, Verdict::Pass);
    now.after.kernels[0].textHash = "fedcba9876543210";
    GateRow row = judged(gate, base, now);
    EXPECT_EQ(row.verdict, Verdict::Fail);
    EXPECT_EQ(row.note, "`F1` has another text");
    EXPECT_EQ(row.limit, "unchanged");
    now.after.kernels[1].name = "Softmax_4";
    EXPECT_EQ(judged(gate, base, now).note,
              "`F1` has another text, `Softmax_4` is new, `Softmax_3` is gone");
    now = base;
    std::swap(now.after.kernels[0], now.after.kernels[1]);
    EXPECT_EQ(judged(gate, base, now).note, "the same kernels in another order");
}

TEST(Gates, AKernelTextHasNoLimit) {
    EXPECT_EQ(errorOf("[gate]\na = { metric = \"kernel_text\", max_increase = 0 }"),
              "gates.toml:2 `kernel_text` takes no limit: it is unchanged or not");
}

TEST(Gates, RegistersAreComparedOnOneDeviceAndSkippedWhereNothingWasCompiled) {
    app::Report base = report_test::sampleReport(), now = base;
    const char* gate = R"(r = { metric = "registers", max_increase = 4 })";
    now.after.kernels[0].facts->registers = 36;
    EXPECT_EQ(judged(gate, base, now).verdict, Verdict::Pass);
    now.after.kernels[0].facts->registers = 37;
    GateRow row = judged(gate, base, now);
    EXPECT_EQ(row.verdict, Verdict::Fail);
    EXPECT_EQ(row.base, "32");
    EXPECT_EQ(row.now, "37");
    for (app::KernelReport& kernel : now.after.kernels)
        kernel.facts.reset();
    EXPECT_EQ(judged(gate, base, now).verdict, Verdict::Skipped);
}

TEST(Gates, WhatIsNotMeasuredIsSkippedAndNeverZero) {
    app::Report now = report_test::sampleReport();
    now.after.measured.reset();
    GateRow row = judged(timeGate, now, now);
    EXPECT_EQ(row.verdict, Verdict::Skipped);
    EXPECT_EQ(row.now, "");
}

TEST(GatesOfTime, NothingSlowerPasses) {
    for (uint64_t seed = 2; seed < 22; ++seed)
        EXPECT_EQ(judged(timeGate, measured(1), measured(1, seed)).verdict, Verdict::Pass) << seed;
}

TEST(GatesOfTime, ASlowDownOfAFifthFailsOnceFreshProcessesAgree) {
    EXPECT_EQ(judged(timeGate, measured(1), measured(1.2), {1.2, 1.2}).verdict, Verdict::Fail);
    EXPECT_EQ(judged(timeGate, measured(1), measured(1.2), {1.2, 1.0}).verdict, Verdict::Ambiguous);
    EXPECT_EQ(judged(timeGate, measured(1), measured(1.2)).verdict, Verdict::Ambiguous);
    EXPECT_EQ(judged(timeGate, measured(1.2), measured(1)).verdict, Verdict::Pass);
}

TEST(GatesOfTime, OverlappingIntervalsNeverFail) {
    app::Report base = measured(1), now = measured(1.2);
    base.after.measured->high = 1.3e-3;
    EXPECT_EQ(judged(timeGate, base, now, {1.2, 1.2}).verdict, Verdict::Ambiguous);
}

TEST(GatesOfTime, OfFinishedRunsTheWholeIntervalMustBeAboveTheLimit) {
    auto finished = [](const app::Report& base, const app::Report& now, const char* line) {
        app::RunReport run = app::runOf(now);
        auto baseline = [&](const app::ModelRun&) { return std::optional(Baseline{base, {}}); };
        auto nothing = [](const app::ModelRun&) -> std::optional<app::Report> { return {}; };
        judge({{gateOf(line)}, Policy::Lenient, baseline, nothing, true}, run);
        return run.gates.at(0);
    };
    app::Report base = measured(1), now = measured(3.38);
    EXPECT_EQ(finished(base, now, timeGate).verdict, Verdict::Fail);
    EXPECT_EQ(finished(base, now, timeGate).note, "slower");
    now.machine.othersBusy = 1.5;
    EXPECT_EQ(finished(base, now, timeGate).note, "slower, measured beside other processes");
    EXPECT_EQ(finished(now, base, timeGate).verdict, Verdict::Pass);
    // Above the limit in the middle, below it at the end: only fresh processes could tell.
    now = measured(1.07);
    now.after.measured->low = 1.02 * base.after.measured->high;
    EXPECT_EQ(finished(base, now, timeGate).verdict, Verdict::Ambiguous);
    EXPECT_EQ(finished(base, now, R"(t = { metric = "e2e_us", max_increase = "5%", confirm = 0 })")
                  .verdict,
              Verdict::Fail);
    now = measured(3.38);
    now.machine.threadsUsed = 1;
    EXPECT_EQ(finished(base, now, timeGate).verdict, Verdict::Skipped);
    // More is better here: half of the speed-up is gone.
    const char* speedUp = R"(s = { metric = "speed_up", max_decrease = "5%" })";
    now = base;
    now.ratio = RatioSummary{1.32, 1.3, 1.34};
    EXPECT_EQ(finished(base, now, speedUp).verdict, Verdict::Fail);
    EXPECT_EQ(finished(now, base, speedUp).verdict, Verdict::Pass);
}

TEST(GatesOfTime, OneColdRunIsNoInterval) {
    app::Report base = measured(1), now = measured(3);
    now.after.measured = summarise({3e-3});
    GateRow row = judged(timeGate, base, now, {3, 3});
    EXPECT_EQ(row.verdict, Verdict::Ambiguous);
    EXPECT_EQ(row.note, "ambiguous: too few runs to tell");
    EXPECT_EQ(row.now, "3.00 ms (1 run)");
}

TEST(GatesOfTime, AreRefusedAcrossDevices) {
    app::Report base = measured(1);
    base.machine.cpu = "another processor";
    GateRow row = judged(timeGate, base, measured(1.2), {1.2, 1.2});
    EXPECT_EQ(row.verdict, Verdict::Skipped);
    EXPECT_NE(row.note.find("another processor"), std::string::npos);
}

TEST(GatesOfTime, TheNoiseOfTheMachineIsTheLeastLimit) {
    const std::vector<double> quiet{1.0, 1.001, 0.999, 1.0}, noisy{1.0, 1.2, 0.8, 1.15, 0.9};
    EXPECT_LT(noiseFloor(quiet), 0.01);
    EXPECT_GT(noiseFloor(noisy), 0.3);
    EXPECT_EQ(noiseFloor({1.0, 2.0}), 0);
    app::RunReport run = app::runOf(measured(1.2));
    auto baseline = [&](const app::ModelRun&) {
        return std::optional(Baseline{measured(1), noisy});
    };
    auto fresh = [&](const app::ModelRun&) { return std::optional(measured(1.2, 5)); };
    judge({{gateOf(timeGate)}, Policy::Fail, baseline, fresh}, run);
    EXPECT_NE(run.gates[0].verdict, Verdict::Fail);
    EXPECT_NE(run.gates[0].note.find("noise"), std::string::npos) << run.gates[0].note;
}

TEST(GatesOfTime, AreNoPartOfResults) {
    app::RunReport run = app::runOf(measured(1.2));
    const std::string before = app::renderResults(run);
    auto baseline = [&](const app::ModelRun&) { return std::optional(Baseline{measured(1), {}}); };
    auto fresh = [&](const app::ModelRun&) { return std::optional(measured(1.2, 5)); };
    judge({{gateOf(timeGate)}, Policy::Fail, baseline, fresh}, run);
    EXPECT_EQ(run.exitCode, 1);
    EXPECT_EQ(app::renderResults(run), before);
}

TEST(Gates, AMissingBaselineFailsUnlessLenient) {
    for (auto [policy, verdict] :
         {std::pair(Policy::Fail, Verdict::Fail), {Policy::Lenient, Verdict::Skipped}}) {
        app::RunReport run = app::runOf(measured(1));
        auto none = [](const app::ModelRun&) -> std::optional<Baseline> { return {}; };
        auto again = [](const app::ModelRun&) -> std::optional<app::Report> { return {}; };
        judge({{gateOf(timeGate)}, policy, none, again}, run);
        EXPECT_EQ(run.gates[0].verdict, verdict);
    }
}

TEST(Expectations, AreExactCountsOfOneModel) {
    auto gates = parseExpectations("[net]\nConvRelu = 2\n[other]\nX = 1\n", "expect.toml");
    ASSERT_TRUE(gates) << gates.error().text();
    app::RunReport run = app::runOf(measured(1));
    auto none = [](const app::ModelRun&) -> std::optional<Baseline> { return {}; };
    auto again = [](const app::ModelRun&) -> std::optional<app::Report> { return {}; };
    judge({*gates, Policy::Fail, none, again}, run);
    ASSERT_EQ(run.gates.size(), 1U);
    EXPECT_EQ(run.gates[0].verdict, Verdict::Fail);
    EXPECT_EQ(run.reasons, std::vector<std::string>{"expect:expect.ConvRelu"});
}
