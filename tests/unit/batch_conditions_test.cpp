// SPDX-License-Identifier: Apache-2.0
// What conditions and gates say where a number is not there, or is of nothing.
#include "app/batch/gates/evaluate.h"
#include "tests/unit/report_sample.h"

#include <gtest/gtest.h>

using namespace fuselage;
using namespace fuselage::batch;
using app::GateRow;
using Verdict = app::GateRow::Verdict;

namespace {

GateRow judgedBy(const Gate& gate, app::RunReport run) {
    const auto none = [](const app::ModelRun&) -> std::optional<Baseline> { return {}; };
    const auto again = [](const app::ModelRun&) -> std::optional<app::Report> { return {}; };
    judge({{gate}, Policy::Lenient, none, again}, run);
    return run.gates.at(0);
}

/// The row of a condition on a run of this report.
GateRow onCondition(const std::string& condition, const app::Report& report) {
    return judgedBy(*parseCondition(condition), app::runOf(report));
}

} // namespace

TEST(Conditions, OnAModelThatDidNotRunFail) {
    app::RunReport run = app::runOf(report_test::sampleReport());
    run.models[0].report.reset();
    run.models[0].state = app::ModelRun::State::Crashed;
    const GateRow row = judgedBy(*parseCondition("launches > 99"), run);
    EXPECT_EQ(row.verdict, Verdict::Fail);
    EXPECT_EQ(row.note, "the model did not run");
    auto gates = parseGates("[gate]\nl = { metric = \"launches\", max = 99 }\n", "gates.toml");
    EXPECT_EQ(judgedBy(gates->at(0), run).verdict, Verdict::Skipped) << "of a file";
}

/// A model without fused nodes has none that lost; it is not one of which nothing is known.
TEST(Conditions, OnSlowerNodesHoldOnlyWhereSomeWereSlower) {
    app::Report report = report_test::sampleReport();
    const char* condition = "slower_matches > 0";
    ASSERT_FALSE(report.matches.empty());
    report.matches[0].unjudged = "runs beside others";
    EXPECT_EQ(onCondition(condition, report).verdict, Verdict::Skipped);
    EXPECT_EQ(onCondition(condition, report).note, "no fused node could be judged");
    report.matches.clear();
    ASSERT_TRUE(report.after.measured);
    EXPECT_EQ(onCondition(condition, report).verdict, Verdict::Pass);
    EXPECT_EQ(onCondition(condition, report).now, "0");
    report.after.measured.reset();
    EXPECT_EQ(onCondition(condition, report).verdict, Verdict::Fail) << "nothing was timed";
}

TEST(Conditions, OfAModelWithoutStepsAreOfZero) {
    app::Report report = report_test::sampleReport();
    for (app::SideReport* side : {&report.before, &report.after}) {
        side->kernels.clear();
        side->launches = 0;
        side->predictedSeconds = 0;
    }
    for (const char* condition :
         {"predicted_us > 500", "predicted_unfused_us > 500", "fallbacks > 0"})
        EXPECT_EQ(onCondition(condition, report).verdict, Verdict::Pass) << condition;
    report.after.launches = 1; // of a version that did not predict
    EXPECT_EQ(onCondition("predicted_us > 500", report).verdict, Verdict::Fail);
}

/// 0.29 * 100 is below 29 in doubles.
TEST(Limits, APercentageIsWhatAPersonReads) {
    app::Report base = report_test::sampleReport();
    base.after.launches = 100;
    const auto after = [&](size_t launches, int percent) {
        app::RunReport run = app::runOf(base);
        run.models[0].report->after.launches = launches;
        const auto baseline = [&](const app::ModelRun&) {
            return std::optional(Baseline{base, {}});
        };
        const auto again = [](const app::ModelRun&) -> std::optional<app::Report> { return {}; };
        auto gates = parseGates("[gate]\nl = { metric = \"launches\", max_increase = \"" +
                                    std::to_string(percent) + "%\" }\n",
                                "gates.toml");
        judge({*gates, Policy::Fail, baseline, again}, run);
        return run.gates.at(0).verdict;
    };
    for (int percent = 0; percent <= 100; ++percent) {
        EXPECT_EQ(after(100 + static_cast<size_t>(percent), percent), Verdict::Pass) << percent;
        EXPECT_EQ(after(101 + static_cast<size_t>(percent), percent), Verdict::Fail) << percent;
    }
}
