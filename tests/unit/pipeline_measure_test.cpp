// SPDX-License-Identifier: Apache-2.0
// Timing of two sides: totals outlive whatever goes wrong with the times of single steps, and
// nothing begins that the budget has no room for.
#include "app/pipeline/measure.h"
#include "app/pipeline/stopwatch.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

/// Takes no time; its steps fail with the error that it was given.
class Broken final : public Executable {
public:
    explicit Broken(std::string code) : m_code(std::move(code)) {}

    Result<RunResult> run(std::span<const Tensor>, const RunOptions& options, Progress&) override {
        RunResult ran;
        if (options.deviceSeconds)
            ran.deviceSeconds = 1e-3;
        if (options.stepSeconds)
            ran.stepSeconds.assign(2, 1e-4);
        return ran;
    }

    std::string tactic(size_t) const override { return "none"; }

    std::vector<Reason> fallbacks(size_t) const override { return {}; }

    Result<IsolatedTimes> timeIsolated(size_t, uint32_t) override {
        return failure(m_code, "the device stumbled");
    }

private:
    std::string m_code;
};

Result<app::Measured> measured(const std::string& code) {
    Broken before(code), after(code);
    app::MeasureOptions options;
    options.seconds = 60; // nothing takes any
    Progress progress;
    return app::measure(before, after, {}, options, progress);
}

TEST(Measure, keepsTotalsWhereStepsFail) {
    auto out = measured("device.call");
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(out->after.totals.size(), app::MeasureOptions().maxRounds);
    EXPECT_EQ(out->after.totals[0], 1e-3);
    EXPECT_NE(out->after.stepNote.find("the device stumbled"), std::string::npos)
        << out->after.stepNote;
}

TEST(Measure, saysNothingOfStepsThatNobodyTimes) {
    auto out = measured("run.isolated");
    ASSERT_TRUE(out);
    EXPECT_EQ(out->after.stepNote, "");
}

TEST(Measure, endsWhenItIsCancelled) {
    auto out = measured("cancelled");
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "cancelled");
}

/// Keeps the processor for some time.
class Slow final : public Executable {
public:
    /// `first`: seconds that the first run takes, which plans something.
    explicit Slow(double seconds, double first = 0) : m_seconds(seconds), m_first(first) {}

    Result<RunResult> run(std::span<const Tensor>, const RunOptions& options, Progress&) override {
        ++runs;
        const app::Stopwatch watch;
        const double seconds = runs == 1 && m_first > 0 ? m_first : m_seconds;
        while (watch.seconds() < seconds) {
        }
        RunResult ran;
        if (options.stepSeconds)
            ran.stepSeconds.assign(1, m_seconds);
        return ran;
    }

    std::string tactic(size_t) const override { return "none"; }

    std::vector<Reason> fallbacks(size_t) const override { return {}; }

    int runs = 0;

private:
    double m_seconds, m_first;
};

TEST(Measure, makesTheWarmUpTheMeasurementWhereNothingElseFits) {
    Slow before(0.4), after(0.15);
    app::MeasureOptions options;
    options.seconds = 0.6;
    Progress progress;
    auto out = app::measure(before, after, {}, options, progress);
    ASSERT_TRUE(out);
    EXPECT_EQ(before.runs, 1);
    EXPECT_EQ(after.runs, 1);
    ASSERT_EQ(out->before.totals.size(), 1U);
    EXPECT_GE(out->before.totals[0], 0.4);
    EXPECT_TRUE(out->after.stepSeconds.empty());
    ASSERT_EQ(out->notes.size(), 1U);
    EXPECT_NE(out->notes[0].find("no interval"), std::string::npos) << out->notes[0];
}

TEST(Measure, isNotMisledByARunThatPlans) {
    Slow before(0.01, 0.2), after(0.01);
    app::MeasureOptions options;
    options.seconds = 0.05;
    Progress progress;
    auto out = app::measure(before, after, {}, options, progress);
    ASSERT_TRUE(out);
    EXPECT_EQ(before.runs, 2) << "short rounds are warmed up twice";
    ASSERT_EQ(out->before.totals.size(), 1U);
    EXPECT_LT(out->before.totals[0], 0.2);
}

TEST(Measure, dividesTheBudgetBetweenTheWholeAndItsSteps) {
    Slow before(0.01), after(0.01);
    app::MeasureOptions options;
    options.seconds = 0.6;
    Progress progress;
    auto out = app::measure(before, after, {}, options, progress);
    ASSERT_TRUE(out);
    EXPECT_LE(before.runs, 30); // each round takes 0.02 s at least
    EXPECT_GE(out->before.totals.size(), 1U);
    ASSERT_EQ(out->before.stepSeconds.size(), 1U);
    EXPECT_EQ(out->before.stepSeconds[0].size(), out->after.stepSeconds[0].size());
    EXPECT_TRUE(out->notes.empty());
}

} // namespace
