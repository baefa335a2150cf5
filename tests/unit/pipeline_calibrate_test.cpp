// SPDX-License-Identifier: Apache-2.0
// Calibration without a clock: measurements made up from a known profile lead back to it, profiles
// survive their file, and the figures that judge a prediction are what they are called.
#include "app/pipeline/probes.h"
#include "app/pipeline/scatter.h"
#include "core/plan/make_plan.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

using namespace fuselage;
using namespace fuselage::app;

namespace {

DeviceProfile machine() {
    DeviceProfile out = *deviceProfile("h200");
    out.name = "made_up";
    out.kind = DeviceKind::Cpu;
    out.units = 1;
    out.lanesPerUnit = 20;
    out.clock = 4e9;
    out.dramBandwidth = 30e9;
    out.l2Bandwidth = 60e9;
    out.waitBandwidth = 20e9;
    out.l2Bytes = 32 << 20;
    out.sharedBytesPerUnit = 48 << 10;
    out.fp32Flops = 500e9;
    out.matrixEfficiency = 0.8;
    out.filterGain = 2.2;
    out.launchSeconds = 3e-6;
    out.overlap = 1; // what overlaps hides what it costs
    out.issueEfficiency = 0.5;
    out.reduceIssue = 6;
    out.rowIssue = 300;
    out.windowIssue = 5;
    out.scoreIssue = 40;
    out.laneProductIssue = 2;
    out.epilogueShare = 0.4;
    out.fewChannels = 1.5;
    out.vectorLanes = 16;
    out.coreBytes = 1 << 20;
    out.tapeIssue[static_cast<size_t>(TapeOp::Tanh)] = 50;
    return out;
}

/// What is measured of every probe, planned for the machine's caches.
const std::vector<std::pair<const Probe*, Step>>& plannedProbes() {
    static const auto all = [] {
        const DeviceProfile planned = machine();
        std::vector<std::pair<const Probe*, Step>> out;
        for (const Probe& probe : probes()) {
            auto graph = probeGraph(probe);
            EXPECT_TRUE(graph) << probe.name << (graph ? "" : graph.error().text());
            if (!graph)
                continue;
            PlanOptions options;
            options.profile = &planned;
            Progress progress;
            auto plan =
                makePlan(std::make_shared<const Graph>(std::move(*graph)), options, progress);
            EXPECT_TRUE(plan) << probe.name << (plan ? "" : plan.error().text());
            if (!plan)
                continue;
            auto step = probeStep(probe, **plan);
            EXPECT_TRUE(step) << probe.name << " is not one kernel";
            if (step)
                out.emplace_back(&probe, (*plan)->steps[*step]);
        }
        return out;
    }();
    return all;
}

/// Every probe with the time that `truth` predicts for it.
std::vector<MeasuredProbe> measuredBy(const DeviceProfile& truth) {
    std::vector<MeasuredProbe> out;
    for (const auto& [probe, step] : plannedProbes()) {
        MeasuredProbe made = measuredProbe(*probe, step, {workOf(step.program)}, 1);
        made.seconds = predict(made, truth).seconds;
        out.push_back(std::move(made));
    }
    return out;
}

} // namespace

TEST(Calibrate, MeasurementsOfAKnownMachineLeadBackToIt) {
    const DeviceProfile truth = machine();
    const std::vector<MeasuredProbe> measured = measuredBy(truth);
    ASSERT_EQ(measured.size(), probes().size());
    DeviceProfile start = truth;
    for (double DeviceProfile::*figure :
         {&DeviceProfile::reduceIssue, &DeviceProfile::windowIssue, &DeviceProfile::scoreIssue,
          &DeviceProfile::laneProductIssue, &DeviceProfile::epilogueShare})
        start.*figure = 1;
    start.rowIssue = start.fewChannels = 0;
    start.tapeIssue = {};
    start.issueEfficiency = 0.9;
    start.dramBandwidth = 11e9;
    start.l2Bandwidth = 25e9;
    start.waitBandwidth = 0;
    start.matrixEfficiency = 0.75;
    start.filterGain = 1;
    start.launchSeconds = 1e-6;
    start.overlap = 6;
    const DeviceProfile found = fitProfile(start, measured);
    EXPECT_EQ(found.overlap, 1);
    for (double DeviceProfile::*figure :
         {&DeviceProfile::issueEfficiency, &DeviceProfile::dramBandwidth,
          &DeviceProfile::l2Bandwidth, &DeviceProfile::waitBandwidth,
          &DeviceProfile::matrixEfficiency, &DeviceProfile::filterGain,
          &DeviceProfile::launchSeconds, &DeviceProfile::reduceIssue, &DeviceProfile::rowIssue,
          &DeviceProfile::windowIssue, &DeviceProfile::scoreIssue, &DeviceProfile::laneProductIssue,
          &DeviceProfile::epilogueShare, &DeviceProfile::fewChannels})
        EXPECT_NEAR(found.*figure / truth.*figure, 1, 0.03) << truth.*figure;
    EXPECT_NEAR(found.tapeIssue[static_cast<size_t>(TapeOp::Tanh)], 50, 2);
}

TEST(Calibrate, MoreThanThePeakRaisesThePeak) {
    DeviceProfile truth = machine();
    truth.matrixEfficiency = 1;
    truth.fp32Flops = 900e9;
    DeviceProfile start = machine();
    const DeviceProfile found = fitProfile(start, measuredBy(truth));
    EXPECT_LE(found.matrixEfficiency, 1);
    EXPECT_NEAR(found.fp32Flops * found.matrixEfficiency / 900e9, 1, 0.03);
}

TEST(Calibrate, ARateStaysWhereOtherTermsTakeTheTime) {
    const DeviceProfile truth = machine();
    std::vector<MeasuredProbe> measured = measuredBy(truth);
    for (MeasuredProbe& probe : measured)
        if (probe.probe->of == ProbeOf::Cache)
            probe.seconds /= 20; // what no bandwidth explains
    const DeviceProfile found = fitProfile(truth, measured);
    EXPECT_LT(found.l2Bandwidth, 1000 * truth.l2Bandwidth);
    EXPECT_NEAR(found.dramBandwidth / truth.dramBandwidth, 1, 0.2);
}

TEST(Calibrate, AProfileSurvivesItsFile) {
    testing_support::TemporaryFolder folder;
    DeviceProfile profile = machine();
    profile.sources["clock"] = "measured: \"so\"\n; before 1";
    folder.write("mine.toml", text(profile));
    auto read = deviceProfile(folder.file("mine.toml"));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(text(*read), text(*deviceProfile(folder.file("mine.toml"))));
    EXPECT_EQ(read->name, "made_up");
    EXPECT_EQ(read->dramBandwidth, profile.dramBandwidth);
    EXPECT_EQ(read->filterGain, 2.2);
    EXPECT_EQ(read->tapeIssue, profile.tapeIssue);
    EXPECT_EQ(read->scoreIssue, 40);
    EXPECT_EQ(read->matrixEfficiency, 0.8);
    EXPECT_EQ(read->sources["clock"], "measured:  so  ; before 1");
}

TEST(Scatter, TauCountsPairsInTheSameOrder) {
    EXPECT_EQ(summarise({{"a", "", 1, 10}, {"b", "", 2, 20}, {"c", "", 3, 30}}).tau, 1);
    EXPECT_EQ(summarise({{"a", "", 3, 10}, {"b", "", 2, 20}, {"c", "", 1, 30}}).tau, -1);
    EXPECT_NEAR(summarise({{"a", "", 1, 10}, {"b", "", 3, 20}, {"c", "", 2, 30}}).tau, 1.0 / 3,
                1e-12);
}

TEST(Scatter, TotalAndMedianErrorAreRelativeToTheMeasurement) {
    const ScatterSummary summary = summarise({{"a", "", 1, 2}, {"b", "", 3, 2}, {"c", "", 8, 10}});
    EXPECT_NEAR(summary.total, 12.0 / 14, 1e-12);
    EXPECT_NEAR(summary.medianError, 0.5, 1e-12);
    EXPECT_NEAR(summary.median, 0.8, 1e-12);
    EXPECT_GE(summary.median, summary.low);
    EXPECT_LE(summary.median, summary.high);
}
