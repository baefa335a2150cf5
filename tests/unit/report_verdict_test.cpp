// SPDX-License-Identifier: Apache-2.0
// What measured times of single steps say of fused nodes, and what no time says: a side with a
// fallback, a launch that several share, steps that were not timed.
#include "app/pipeline/bench.h"
#include "app/pipeline/match_verdicts.h"
#include "app/report/html.h"
#include "app/report/text.h"
#include "app/report/verdict.h"
#include "core/onnx/model_file.h"
#include "tests/unit/report_sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

using namespace fuselage;
using app::KernelReport;
using app::MatchReport;
using app::Report;

namespace {

std::string manyOf(size_t count, const std::string& number) {
    std::string out = number;
    for (size_t i = 1; i < count; ++i)
        out += ", " + number;
    return out;
}

KernelReport kernel(const std::string& name, const std::string& rule,
                    std::vector<std::string> sources) {
    KernelReport out;
    out.name = name;
    out.kind = "Pointwise";
    out.tactic = "tile interpreter";
    out.rule = rule;
    out.sources = std::move(sources);
    return out;
}

MatchReport match(const std::string& name, std::vector<std::string> nodes) {
    MatchReport out;
    out.fusedNode = name;
    out.rule = "R";
    out.nodes = std::move(nodes);
    return out;
}

/// a, b, c before; R(a, b) as F and c after.
Report twoSides() {
    Report out;
    out.before.kernels = {kernel("a", "", {"a"}), kernel("b", "", {"b"}), kernel("c", "", {"c"})};
    out.after.kernels = {kernel("F", "R", {"a", "b"}), kernel("c", "", {"c"})};
    out.matches = {match("F", {"a", "b"})};
    return out;
}

/// The same time in every round.
app::MeasuredSide timed(const std::vector<double>& seconds) {
    app::MeasuredSide out;
    for (double one : seconds)
        out.stepSeconds.push_back({one, one, one, one, one});
    return out;
}

TEST(MatchVerdict, AFusedNodeThatTakesLongerThanItsNodesLost) {
    Report report = twoSides();
    app::judgeMatches({timed({1e-3, 2e-3, 9e-3}), timed({4e-3, 9e-3}), {}}, report);
    const MatchReport& judged = report.matches[0];
    EXPECT_DOUBLE_EQ(judged.measuredBefore.value(), 3e-3);
    EXPECT_DOUBLE_EQ(judged.measuredAfter.value(), 4e-3);
    EXPECT_NEAR(judged.measuredRatio.value().ratio, 4.0 / 3, 1e-9);
    EXPECT_TRUE(judged.slower());
    EXPECT_EQ(report.slowerMatchCount(), 1U);
    EXPECT_EQ(app::slowerText(report),
              "1 of 1 fused node is slower than its nodes one by one, by 1.00 ms");
}

TEST(MatchVerdict, OfTooFewRunsNothingIsSaid) {
    for (size_t runs : {1U, 2U, 3U}) {
        Report report = twoSides();
        app::Measured measured{timed({1e-3, 2e-3, 9e-3}), timed({4e-3, 9e-3}), {}};
        for (app::MeasuredSide* side : {&measured.before, &measured.after})
            for (std::vector<double>& seconds : side->stepSeconds)
                seconds.resize(runs);
        app::judgeMatches(measured, report);
        const MatchReport& judged = report.matches[0];
        EXPECT_DOUBLE_EQ(judged.measuredAfter.value(), 4e-3) << "the time itself is told";
        EXPECT_EQ(judged.slower(), runs == 3);
        EXPECT_EQ(report.slowerMatchCount().value_or(0), runs == 3 ? 1U : 0U);
        EXPECT_EQ(app::hasTooFewRuns(report), runs < 3);
        if (runs == 3)
            continue;
        EXPECT_EQ(app::ratioText(judged), "not judged: too few runs to tell");
        EXPECT_EQ(app::slowerText(report), "whether the fused node is slower than its nodes one by "
                                           "one could not be judged: too few runs to tell, a "
                                           "longer measurement does");
    }
}

TEST(MatchVerdict, WhatWonOrDiffersByNoiseDidNotLose) {
    Report report = twoSides();
    app::judgeMatches({timed({1e-3, 2e-3, 0}), timed({2e-3, 0}), {}}, report);
    EXPECT_FALSE(report.matches[0].slower());
    app::judgeMatches({timed({1e-3, 2e-3, 0}), timed({3.03e-3, 0}), {}}, report);
    EXPECT_FALSE(report.matches[0].slower()) << "one percent";
    app::MeasuredSide wide = timed({0, 0});
    wide.stepSeconds[0] = {1e-3, 1e-3, 9e-3, 9e-3, 9e-3};
    app::judgeMatches({timed({1e-3, 2e-3, 0}), wide, {}}, report);
    EXPECT_FALSE(report.matches[0].slower()) << "its interval holds the time of its nodes";
    EXPECT_EQ(report.slowerMatchCount(), 0U);
    EXPECT_EQ(app::slowerText(report), "none of 1 fused node is slower than its nodes one by one");
}

TEST(MatchVerdict, PartsOfASplitNodeAreAddedUp) {
    Report report = twoSides();
    report.after.kernels = {kernel("a", "R", {"a", "b"}), kernel("b", "R", {"a", "b"}),
                            kernel("c", "", {"c"})};
    app::judgeMatches({timed({1e-3, 1e-3, 0}), timed({2e-3, 1e-3, 0}), {}}, report);
    EXPECT_DOUBLE_EQ(report.matches[0].measuredAfter.value(), 3e-3);
}

TEST(MatchVerdict, ANodeThatIsStillComputedWasReplacedInPart) {
    Report report = twoSides();
    report.after.kernels.push_back(kernel("a again", "", {"a"}));
    app::judgeMatches({timed({2e-3, 1e-3, 0}), timed({3e-3, 0, 2e-3}), {}}, report);
    EXPECT_DOUBLE_EQ(report.matches[0].measuredBefore.value(), 2e-3);
    EXPECT_TRUE(report.matches[0].slower());
}

/// t, a Transpose that F reads through its strides: F did its work too.
TEST(MatchVerdict, WhatTheNodeReadsThroughItsStridesIsPartOfWhatItReplaced) {
    Report report = twoSides();
    report.before.kernels.insert(report.before.kernels.begin(), kernel("t", "", {"t"}));
    app::GraphReport& graph = report.after.graph;
    graph.values.resize(4);
    graph.nodes.resize(3);
    graph.nodes[0].name = "t";
    graph.nodes[0].inputs = {0};
    graph.nodes[0].outputs = {1};
    graph.nodes[1].name = "F";
    graph.nodes[1].fused = true;
    graph.nodes[1].inputs = {1};
    graph.nodes[1].outputs = {2};
    graph.nodes[2].name = "c";
    graph.nodes[2].inputs = {2};
    graph.nodes[2].outputs = {3};
    const app::Measured measured{timed({2e-3, 1e-3, 1e-3, 0}), timed({3e-3, 0}), {}};
    app::judgeMatches(measured, report);
    EXPECT_DOUBLE_EQ(report.matches[0].measuredBefore.value(), 4e-3);
    EXPECT_FALSE(report.matches[0].slower());
    graph.nodes[2].inputs = {1, 2}; // c reads it as well
    app::judgeMatches(measured, report);
    EXPECT_DOUBLE_EQ(report.matches[0].measuredBefore.value(), 3e-3);
    report.after.kernels.push_back(kernel("t", "", {"t"})); // and now it is copied
    app::judgeMatches({measured.before, timed({3e-3, 0, 1e-3}), {}}, report);
    EXPECT_DOUBLE_EQ(report.matches[0].measuredBefore.value(), 2e-3);
}

TEST(MatchVerdict, SaysHowTheWholeModelDidToo) {
    Report report = report_test::sampleReport();
    ASSERT_TRUE(report.hasSpeedUp());
    EXPECT_NE(app::slowerText(report).find("; the whole model runs at 1.52x of its unfused speed"),
              std::string::npos)
        << app::slowerText(report);
    report.agreement.clear();
    EXPECT_TRUE(report.hasSpeedUp());
    EXPECT_NE(app::renderText(report).find("results not compared"), std::string::npos);
}

TEST(MatchVerdict, SaysWhatIsLostBesideTheFusedNodes) {
    Report report = twoSides();
    const app::Measured measured{timed({1e-3, 2e-3, 1e-3}), timed({2e-3, 4e-3}), {}};
    app::judgeMatches(measured, report);
    for (size_t i = 0; i < report.before.kernels.size(); ++i)
        report.before.kernels[i].measuredSeconds = measured.before.stepSeconds[i][0];
    for (size_t i = 0; i < report.after.kernels.size(); ++i)
        report.after.kernels[i].measuredSeconds = measured.after.stepSeconds[i][0];
    report.ratio = {1.5, 1.4, 1.6};
    ASSERT_TRUE(report.hasSpeedUp());
    EXPECT_EQ(
        app::slowerText(report),
        "none of 1 fused node is slower than its nodes one by one, but what is planned beside "
        "it takes 3.00 ms longer than unfused; the whole model runs at 0.67x of its unfused "
        "speed");
    report.ratio = {0.9, 0.8, 1.1};
    EXPECT_EQ(app::slowerText(report).find("beside"), std::string::npos);
}

TEST(MatchVerdict, NamesTheSideThatFailed) {
    Report report;
    app::OutputAgreement good{.output = "y", .side = "unfused", .ok = true};
    app::OutputAgreement bad{.output = "y", .side = "fused", .note = "it overflowed: 1 of 2"};
    app::OutputAgreement far{.output = "z", .side = "fused", .maxRelative = 0.5, .tolerance = 1e-4};
    report.agreement = {good, bad, far};
    EXPECT_EQ(app::failedChecks(report),
              "fused y: it overflowed: 1 of 2; fused z: relative 5.0e-01, the limit is 1e-04");
}

TEST(MatchVerdict, ALimitAboveTheOutputsOwnSizeComparesNothing) {
    Report report = twoSides();
    app::OutputAgreement out{.output = "y", .side = "fused", .tolerance = 2e-3, .ok = true};
    EXPECT_EQ(app::agreementVerdict(out) + ", " + app::limitText(out), "ok, 2e-03");
    out.tolerance = 7;
    EXPECT_EQ(app::agreementVerdict(out), "not compared");
    report.agreement = {out};
    const std::string text = app::renderText(report);
    EXPECT_NE(text.find("not compared"), std::string::npos) << text;
    EXPECT_EQ(text.find("limit"), std::string::npos) << "there is none; " << text;
    out.tolerance = INFINITY;
    EXPECT_EQ(app::limitText(out), "none");
}

TEST(MatchVerdict, ALaunchOfSeveralIsNotDivided) {
    Report report = twoSides();
    report.after.kernels = {kernel("group", "R", {"a", "b", "c"})};
    report.after.kernels[0].kind = "Group";
    app::judgeMatches({timed({1e-3, 1e-3, 1e-3}), timed({9e-3}), {}}, report);
    EXPECT_FALSE(report.matches[0].measuredRatio);
    EXPECT_EQ(report.matches[0].unjudged, "it shares a launch with other nodes");
    EXPECT_FALSE(report.slowerMatchCount());
    EXPECT_EQ(app::slowerText(report),
              "whether the fused node is slower than its nodes one by one could not be judged");
    report.matches.push_back(report.matches[0]);
    EXPECT_EQ(app::slowerText(report),
              "whether the 2 fused nodes are slower than their nodes one by one could not be "
              "judged");
}

/// Products of one operand that became one.
TEST(MatchVerdict, AKernelThatFusedNodesBecameTogetherIsShared) {
    Report report = twoSides();
    report.matches.push_back(report.matches[0]);
    report.matches[0].nodes = {"a", "b"};
    report.matches[1].nodes = {"c"};
    report.matches[1].fusedNode = "other";
    report.after.kernels = {kernel("both", "R", {"a", "b", "c"})};
    for (const app::KernelsOfMatch& of : app::kernelsOfMatches(report)) {
        EXPECT_TRUE(of.shared);
        EXPECT_EQ(of.after, std::vector<size_t>{0});
    }
}

// What fused nodes cost adds up to what the kernels of fused nodes cost, shared or not.
TEST(MatchVerdict, CostsOfFusedNodesAddUpToTheirKernels) {
    const std::string path = std::filesystem::temp_directory_path() / "fuselage_shared.onnx";
    auto graph = model_io::loadText(
        "g (float[1,1,1760] x) => (float[1,16,8] p, float[1,16,8] q) <float[16,1,512] v = {" +
        manyOf(8192, "0.1") + "}, float[16,1,512] w = {" + manyOf(8192, "0.2") +
        "}> { y = Conv<strides = [160]>(x, v) z = Conv<strides = [160]>(x, w)"
        " p = Softmax<axis = 2>(y) q = Softmax<axis = 2>(z) }");
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_TRUE(model_io::save(*graph, path));
    app::BenchOptions options;
    options.model = path;
    options.run.backend = BackendKind::Cpu;
    options.device = "h200";
    options.measure = options.verify = false;
    Progress progress;
    auto result = app::bench(options, progress);
    std::filesystem::remove(path);
    ASSERT_TRUE(result) << result.error().text();
    const Report& report = result->report;
    int64_t launches = 0, bytes = 0, kernels = 0, moved = 0;
    size_t shared = 0;
    for (const app::MatchReport& match : report.matches) {
        launches += match.launchesAfter;
        bytes += match.bytesAfter;
    }
    for (const app::KernelsOfMatch& of : app::kernelsOfMatches(report))
        shared += of.shared ? 1 : 0;
    for (const app::KernelReport& kernel : report.after.kernels)
        if (!kernel.rule.empty()) {
            ++kernels;
            moved += kernel.traffic.logical();
        }
    EXPECT_EQ(launches, kernels);
    EXPECT_EQ(bytes, moved);
    EXPECT_EQ(shared, 2U) << "nothing is shared: the test says nothing";
}

// An Einsum that became two products, each in a fused node of its own: by its name nobody can tell
// which kernel before belongs to which.
TEST(MatchVerdict, ANodeThatBecameSeveralIsNotDivided) {
    Report report = twoSides();
    report.matches.push_back(report.matches[0]);
    report.matches[1].fusedNode = "other";
    EXPECT_FALSE(app::kernelsOfMatches(report)[0].divided);
    for (const char* name : {"a_MatMul", "a_Transpose"}) {
        app::GraphNodeReport& node = report.before.graph.nodes.emplace_back();
        node.name = name;
        node.sources = {"a"};
    }
    app::judgeMatches({timed({1e-3, 1e-3, 1e-3}), timed({9e-3, 1e-3}), {}}, report);
    EXPECT_FALSE(report.matches[0].measuredRatio);
    EXPECT_EQ(report.matches[0].unjudged,
              "a node of the file became several, which other fused nodes have too");
}

TEST(MatchVerdict, WithoutTimesOfStepsNobodyKnows) {
    Report report = twoSides();
    app::judgeMatches({}, report);
    EXPECT_FALSE(report.matches[0].measuredRatio);
    EXPECT_EQ(app::slowerText(report), "");
}

TEST(Fallback, LeavesNoSpeedUpToClaim) {
    Report report = report_test::sampleReport();
    ASSERT_TRUE(report.hasSpeedUp());
    EXPECT_NE(app::renderText(report).find("speed-up 1.52x"), std::string::npos);
    report.before.kernels[1].isFallback = true;
    EXPECT_FALSE(report.hasSpeedUp());
    EXPECT_EQ(app::speedUpRefusal(report),
              "no speed-up is given: unfused: 1 of 3 steps is computed by reference code, 50 % of "
              "its time");
    for (const std::string& page : {app::renderText(report), app::renderHtml(report)}) {
        EXPECT_NE(page.find("1 of 3 steps is computed by reference code"), std::string::npos);
        EXPECT_EQ(page.find("1.52"), std::string::npos) << page;
    }
}

TEST(SpeedUp, OfOneRunEachHasNoInterval) {
    Report report = report_test::sampleReport();
    for (const std::string& page : {app::renderText(report), app::renderHtml(report)})
        EXPECT_NE(page.find("95 % interval 1.43 .. 1.67, 30 rounds each"), std::string::npos);
    for (auto [runs, words] :
         {std::pair(1U, "one run each, no interval"), {2U, "2 runs each, no interval"}}) {
        report.before.measured->samples = report.after.measured->samples = runs;
        for (const std::string& page : {app::renderText(report), app::renderHtml(report)}) {
            EXPECT_NE(page.find(words), std::string::npos);
            EXPECT_EQ(page.find("rounds each"), std::string::npos);
            EXPECT_EQ(page.find("2.0 us (1.9 us .. 2.1 us)"), std::string::npos);
        }
    }
}

TEST(MatchVerdict, StandsInThePages) {
    Report report = report_test::sampleReport();
    report.matches[0].measuredBefore = 1e-3;
    report.matches[0].measuredAfter = 1.5e-3;
    report.matches[0].measuredRatio = RatioSummary{1.5, 1.4, 1.6};
    report.matches[0].unjudged.clear();
    report.timingNotes = {"1 s of --seconds had no room for this"};
    for (const std::string& page : {app::renderText(report), app::renderHtml(report)})
        for (const char* words : {"1 of 1 fused node is slower than its nodes one by one",
                                  "1.50x (1.40 .. 1.60)", "no room for this"})
            EXPECT_NE(page.find(words), std::string::npos) << words;
}

} // namespace

namespace {

app::OutputAgreement agreement(const std::string& output, double relative, double tolerance) {
    app::OutputAgreement out;
    out.output = output;
    out.side = "fused";
    out.maxRelative = relative;
    out.tolerance = tolerance;
    out.ok = relative <= tolerance;
    return out;
}

} // namespace

TEST(AgreementLines, ManyOutputsThatAgreeAreOneLineWithTheWorst) {
    std::vector<app::OutputAgreement> results;
    for (int i = 0; i < 5; ++i)
        results.push_back(agreement("y" + std::to_string(i), i == 3 ? 5e-5 : 1e-6, 1e-4));
    auto lines = app::agreementLines(results);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].outputs(), "5 outputs, worst y3");
    EXPECT_EQ(lines[0].verdict(), "ok (limit 1e-04)");
    results[2].maxRelative = 1, results[2].ok = false;
    lines = app::agreementLines(results);
    ASSERT_EQ(lines.size(), 2U) << "what failed stands alone";
    EXPECT_EQ(lines[0].outputs(), "4 outputs, worst y3");
    EXPECT_TRUE(lines[1].verdict().starts_with("FAILED"));
    results.pop_back();
    EXPECT_EQ(app::agreementLines(results).size(), 4U) << "three are few";
}

TEST(AgreementLines, AnEmptyOutputIsSaidToBeEmpty) {
    app::OutputAgreement empty = agreement("y", 0, 0);
    empty.empty = true;
    EXPECT_EQ(app::agreementLines({empty})[0].verdict(), "empty in this run: nothing to compare");
    empty.ok = false; // of another shape than the reference
    EXPECT_TRUE(app::agreementLines({empty})[0].verdict().starts_with("FAILED"));
}
