// SPDX-License-Identifier: Apache-2.0
// What one run does not see: bodies that its inputs leave out, other sizes of open dimensions. Each
// with a fused form that is wrong just there, and what reports say of bodies.
#include "app/pipeline/analysis.h"
#include "app/pipeline/branch_inputs.h"
#include "app/pipeline/check_elsewhere.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/prepared.h"
#include "app/pipeline/shapes_of_run.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

/// A flag chooses; the branches have names to tell them by.
std::string flagged(const std::string& otherwise) {
    return "g (bool c, float[N,4] x) => (float[N,4] y) { y = If (c) <then_branch = t () => "
           "(float[N,4] r) { a = Neg(x)  r = Relu(a) }, else_branch = e () => (float[N,4] s) { s "
           "= " +
           otherwise + "(x) }> }";
}

constexpr const char* computed = R"(
g (float[4096] x) => (float[4096] y) <float limit = {0}> {
   a = Abs(x)
   s = ReduceSum<keepdims = 0>(a)
   c = Less(s, limit)
   y = If (c) <then_branch = t () => (float[4096] r) { r = Neg(x) },
               else_branch = e () => (float[4096] q) { q = Abs(x) }>
})";

app::LoadedModel loaded(const std::string& text) {
    app::LoadedModel out;
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    out.graph = std::move(*graph);
    Progress progress;
    EXPECT_TRUE(prepareGraph(out.graph, progress));
    out.dims = chooseDimensions(out.graph, {})->values;
    return out;
}

/// `run` is checked as the fused form of `model`.
app::Elsewhere elsewhere(const std::string& model, const std::string& run) {
    const app::LoadedModel original = loaded(model), fused = loaded(run);
    const auto inputs = app::generateInputs(app::sized(original.graph.clone(), original.dims), 1);
    EXPECT_TRUE(inputs);
    CompileOptions compile;
    compile.threads = 1;
    Progress progress;
    auto out = app::checkElsewhere({original, fused.graph, true, *inputs, 1, compile}, progress);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? std::move(*out) : app::Elsewhere{};
}

std::string failedSides(const app::Elsewhere& all) {
    std::string out;
    for (const app::OutputAgreement& one : all.found)
        if (!one.ok)
            out += one.side + ";";
    return out;
}

} // namespace

TEST(Elsewhere, AFlagTakesTheOtherBranchAndSizesChange) {
    const app::Elsewhere out = elsewhere(flagged("Abs"), flagged("Abs"));
    ASSERT_EQ(out.found.size(), 2U);
    EXPECT_TRUE(out.found[0].side.ends_with(", with N=2")) << out.found[0].side;
    EXPECT_TRUE(out.found[1].side.find(", with c = ") != std::string::npos) << out.found[1].side;
    EXPECT_EQ(failedSides(out), "");
    EXPECT_TRUE(out.notes.empty()) << out.notes[0];
}

TEST(Elsewhere, AWrongBranchIsFoundWhicheverTheRunTook) {
    EXPECT_NE(failedSides(elsewhere(flagged("Abs"), flagged("Neg"))), "");
    std::string wrong = flagged("Abs");
    wrong.replace(wrong.find("Neg"), 3, "Exp");
    EXPECT_NE(failedSides(elsewhere(flagged("Abs"), wrong)), "");
}

TEST(Elsewhere, ABodyThatNothingLeadsToIsNamed) {
    const app::Elsewhere out = elsewhere(computed, computed);
    EXPECT_TRUE(out.found.empty());
    ASSERT_EQ(out.notes.size(), 1U);
    EXPECT_TRUE(out.notes[0].starts_with("1 of 2 bodies of If, Loop and Scan did not run"))
        << out.notes[0];
    EXPECT_NE(out.notes[0].find("then_branch/"), std::string::npos);
    EXPECT_EQ(out.notes[0].find("else_branch/"), std::string::npos);
}

TEST(Elsewhere, WhatHoldsAtSizeOneOnlyIsFound) {
    const auto with = [&](const std::string& op) {
        return "g (float[N,4] x) => (float[1,4] y) <int64[1] a = {0}> { y = " + op +
               "<keepdims = 1>(x, a) }";
    };
    EXPECT_EQ(failedSides(elsewhere(with("ReduceSum"), with("ReduceSum"))), "");
    EXPECT_NE(failedSides(elsewhere(with("ReduceSum"), with("ReduceMax"))), "")
        << "of one row they are the same";
}

TEST(Elsewhere, AModelWithoutBodiesAndOpenSizesHasNoOtherRun) {
    const std::string model = "g (float[2,4] x) => (float[2,4] y) { y = Neg(x) }";
    const app::Elsewhere out = elsewhere(model, model);
    EXPECT_TRUE(out.found.empty() && out.notes.empty());
}

TEST(BranchInputs, ConstantsOfTheConditionAreTried) {
    const app::LoadedModel model = loaded(R"(
g (int64 rate, float[4] x) => (float[4] y) <int64 k = {16000}> {
   c = Equal(rate, k)
   y = If (c) <then_branch = t () => (float[4] r) { r = Neg(x) },
               else_branch = e () => (float[4] q) { q = Abs(x) }>
})");
    const auto inputs = *app::generateInputs(model.graph, 1);
    ThreadPool threads(1);
    Progress progress;
    for (const BodyPlace& place : bodiesOf(model.graph)) {
        auto found = app::inputsEntering(model.graph, place, inputs, threads, progress);
        ASSERT_TRUE(found) << place.path;
        EXPECT_EQ(found->what == "rate = 16000", place.attribute == "then_branch") << found->what;
    }
}

/// Too many elements to try numbers one by one; whichever branch the usual inputs take.
TEST(BranchInputs, WhatIsComputedOfManyElementsChangesSides) {
    for (const auto* condition : {"l = Constant<value_float = 0.0>() c = Greater(s, l)",
                                  "l = Constant<value_float = 0.0>() c = Less(s, l)",
                                  "l = Constant<value_float = 5000.0>() c = Greater(s, l)"}) {
        const app::LoadedModel model =
            loaded(std::string("g (float[3,512] x) => (float[3,512] y) { s = "
                               "ReduceSum<keepdims = 0>(x) ") +
                   condition +
                   " y = If (c) <then_branch = t () => (float[3,512] r) { r = Neg(x) }, "
                   "else_branch = e () => (float[3,512] q) { q = Abs(x) }> }");
        const auto inputs = *app::generateInputs(model.graph, 1);
        ThreadPool threads(1);
        Progress progress;
        for (const BodyPlace& place : bodiesOf(model.graph)) {
            const auto found = app::inputsEntering(model.graph, place, inputs, threads, progress);
            EXPECT_TRUE(found) << place.path << " of " << condition;
        }
    }
}

TEST(OtherSizes, AreThoseThatFit) {
    const auto of = [](const std::string& text) {
        const app::LoadedModel model = loaded(text);
        return otherSizes(model.graph, model.dims);
    };
    using Sizes = DimensionValues;
    EXPECT_EQ(of("g (float[N,M] x) => (float[N,M] y) { y = Neg(x) }"), (Sizes{{"M", 2}, {"N", 3}}));
    EXPECT_EQ(of("g (float[2] x) => (float[2] y) { y = Neg(x) }"), Sizes{});
    EXPECT_EQ(of("g (float[N] x, float[M] z) => (float[K] y) { a = Add(x, z)  y = Neg(a) }").size(),
              2U);
    EXPECT_EQ(of("g (float[N] x) => (float[3] y) <float[3] k = {1, 2, 3}> { y = Add(x, k) }"),
              Sizes{})
        << "no other size can be added";
}

namespace {

app::Report reportOf(const std::string& text, bool forData) {
    const app::LoadedModel model = loaded(text);
    const auto rules = *app::loadRuleLibrary({});
    app::AnalysisOptions options;
    options.fuse.decide = Decide::Rules;
    options.profile = *deviceProfile("cpu");
    Progress progress;
    if (!forData) {
        auto out = app::analyse(model, rules, options, progress);
        EXPECT_TRUE(out) << (out ? "" : out.error().text());
        return std::move(out->report);
    }
    const auto inputs = *app::generateInputs(app::sized(model.graph.clone(), model.dims), 1);
    auto out = app::analyseForData(model, rules, options, inputs, 1, progress);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return std::move(out->report);
}

/// Both branches have two nodes that fuse into one; NonZero makes the plan ask for a run.
std::string twoBranches(bool dataDependent) {
    return std::string("g (bool c, float[64] x) => (float[64] y") +
           (dataDependent ? ", int64[1,K] n) { n = NonZero(x) " : ") {") +
           "y = If (c) <then_branch = t () => (float[64] r) { a = Neg(x)  r = Exp(a) }, "
           "else_branch = e () => (float[64] s) { b = Abs(x)  s = Exp(b) }> }";
}

} // namespace

TEST(RuleTable, OneBranchOfAnIfCounts) {
    for (const bool dataDependent : {false, true}) {
        const app::Report report = reportOf(twoBranches(dataDependent), dataDependent);
        int64_t launches = 0, bytes = 0, fused = 0;
        for (const app::RuleReport& rule : report.rules) {
            EXPECT_GE(rule.launchesSaved, 0) << rule.rule;
            EXPECT_GE(rule.bytesSaved, 0) << rule.rule;
            launches += rule.launchesSaved;
            bytes += rule.bytesSaved;
            fused += static_cast<int64_t>(rule.fused);
        }
        EXPECT_EQ(fused, 2) << "both branches";
        EXPECT_EQ(launches, 1) << "one of them runs; data " << dataDependent;
        EXPECT_EQ(bytes, 2 * 64 * 4);
        EXPECT_EQ(launches, static_cast<int64_t>(report.before.launches - report.after.launches));
    }
}
