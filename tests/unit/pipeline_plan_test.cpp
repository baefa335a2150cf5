// SPDX-License-Identifier: Apache-2.0
// Plans as files: what a run applied, replayed exactly, refused where model or rules changed.
#include "app/pipeline/fuse.h"
#include "app/pipeline/precision_rules.h"
#include "app/zoo/zoo.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/unit/library_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using testing_rules::libraryOf;

namespace {

constexpr const char* model = "g (float[2,8] x) => (float[2,8] y, float[2,8] z)"
                              "{ a = Relu(x) y = Tanh(a) b = Neg(x) z = Tanh(b) }";
constexpr const char* rules =
    "rule A { match { y = Relu(x) -> Tanh; } }\n"
    "rule B in convert { match { y = Neg(x); } rewrite { y = Mul(x, -1); } }";

Graph graphOf(const std::string& text) {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    inferShapes(*graph);
    return std::move(*graph);
}

app::FusePlan planOf(const Graph& graph, const app::RuleLibrary& library,
                     const app::FuseOptions& options = {}) {
    Progress quiet;
    auto out = app::fuseGraph(graph, library, options, quiet);
    EXPECT_TRUE(out);
    return app::planOf(graph, out->trace, Precision::Fp32);
}

Result<Rewritten> replayed(const Graph& graph, const app::RuleLibrary& library,
                           const app::FusePlan& plan, app::FuseOptions options = {}) {
    Progress quiet;
    options.plan = plan;
    return app::fuseGraph(graph, library, options, quiet);
}

} // namespace

TEST(Plan, ItIsOneMatchALineAndReadsBack) {
    app::FusePlan plan = planOf(graphOf(model), libraryOf(rules));
    std::string text = app::planText(plan);
    EXPECT_EQ(text, "fuseplan 1\nmodel \"g\"\nprecision \"fp32\"\n"
                    "\nphase \"convert\"\nB: \"Neg\" => \"B_Mul\"\n"
                    "\nphase \"fuse\"\nA: \"Relu\", \"Tanh\" => \"A\"\n");
    auto again = app::parsePlan(text);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->matches, plan.matches);
    EXPECT_EQ(app::planText(*again), text);
}

TEST(Plan, HostileNamesSurvive) {
    app::FusePlan plan{"a\"b", "fp32", {{"fuse", "R", {"x\n\"\\", std::string("\0\x7f", 2)}, {}}}};
    auto again = app::parsePlan(app::planText(plan));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->matches, plan.matches);
    EXPECT_EQ(again->model, plan.model);
}

TEST(Plan, WhatIsNoPlanIsRefusedWithItsLine) {
    for (const char* text :
         {"", "fuseplan 2\n", "fuseplan 1\nR: \"a\"\n", "fuseplan 1\nphase \"p\"\nR \"a\"\n",
          "fuseplan 1\nphase \"p\"\nR: \"a\n", "fuseplan 1\nphase \"p\"\nR: \"a\" => \n",
          "fuseplan 1\nphase \"p\"\nR: \"\\q\"\n", "fuseplan 1\nphase \"p\"\nR: \"a\" b\n",
          "fuseplan 1\nmodel x\n", "\x01\x02\x03"}) {
        auto plan = app::parsePlan(text);
        ASSERT_FALSE(plan) << text;
        EXPECT_EQ(plan.error().code, "plan.syntax");
        EXPECT_NE(plan.error().message.find("line "), std::string::npos);
    }
}

TEST(Plan, ReplayingGivesTheSameGraphAsTheRun) {
    auto library = app::requireRuleLibrary({});
    ASSERT_TRUE(library) << library.error().text();
    for (const char* name : {"unet", "mobilenet_v3_large", "lstm"}) {
        auto built = zoo::build(name);
        ASSERT_TRUE(built) << name;
        Progress quiet;
        auto direct = app::fuseGraph(*built, *library, {}, quiet);
        ASSERT_TRUE(direct);
        auto plan = app::planOf(*built, direct->trace, Precision::Fp32);
        auto again = replayed(*built, *library, plan);
        ASSERT_TRUE(again) << name << ": " << again.error().text();
        EXPECT_EQ(text(again->graph), text(direct->graph)) << name;
        EXPECT_EQ(app::planText(app::planOf(*built, again->trace, Precision::Fp32)),
                  app::planText(plan));
    }
}

TEST(Plan, OnlyItsMatchesAreApplied) {
    auto library = libraryOf(rules);
    app::FusePlan plan = planOf(graphOf(model), library);
    std::erase_if(plan.matches, [](const PlannedMatch& match) { return match.rule == "A"; });
    auto again = replayed(graphOf(model), library, plan);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->trace.applied("A"), 0U);
    EXPECT_EQ(again->trace.applied("B"), 1U);
}

TEST(Plan, AStrictRunByItsPlanIsThatRunAndRefusesAPlanThatIsNot) {
    app::FuseOptions strict;
    strict.strict = true;
    auto library = app::requireRuleLibrary({});
    ASSERT_TRUE(library) << library.error().text();
    auto built = zoo::build("resnet18");
    ASSERT_TRUE(built);
    Progress quiet;
    ASSERT_TRUE(prepareGraph(*built, quiet));
    auto direct = app::fuseGraph(*built, *library, strict, quiet);
    ASSERT_TRUE(direct);
    auto again = replayed(*built, *library, planOf(*built, *library, strict), strict);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(text(again->graph), text(direct->graph));
    // It has a rewrite that is not exact; that run kept it out.
    auto loose = replayed(*built, *library, planOf(*built, *library), strict);
    ASSERT_FALSE(loose);
    EXPECT_EQ(loose.error().code, "plan.strict");
    EXPECT_NE(loose.error().message.find("FlattenLinearToConv1x1"), std::string::npos);
}

TEST(Plan, AMatchThatIsSwitchedOffIsNotReplayed) {
    auto library = libraryOf(rules);
    app::FuseOptions options;
    options.disabled = {{"A", {"Relu", "Tanh"}}};
    auto refused = replayed(graphOf(model), library, planOf(graphOf(model), library), options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "plan.match");
    EXPECT_NE(refused.error().message.find("switched off"), std::string::npos);
    auto others =
        replayed(graphOf(model), library, planOf(graphOf(model), library, options), options);
    EXPECT_TRUE(others) << others.error().text();
}

TEST(Plan, AModelThatChangedIsRefusedWithTheReason) {
    auto library = libraryOf(rules);
    app::FusePlan plan = planOf(graphOf(model), library);
    auto changed = replayed(graphOf("g (float[2,8] x) => (float[2,8] y, float[2,8] z)"
                                    "{ a = Relu(x) y = Tanh(a) z = Exp(x) }"),
                            library, plan);
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, "plan.node");
    EXPECT_NE(changed.error().message.find("no node `Neg`"), std::string::npos);
    auto escapes = replayed(graphOf("g (float[2,8] x) => (float[2,8] y, float[2,8] z)"
                                    "{ a = Relu(x) y = Tanh(a) b = Neg(x) z = Add(a, b) }"),
                            library, plan);
    ASSERT_FALSE(escapes);
    EXPECT_EQ(escapes.error().code, "plan.match");
    EXPECT_NE(escapes.error().message.find("M0305"), std::string::npos) << escapes.error().text();
}

TEST(Plan, RulesThatChangedAreRefused) {
    app::FusePlan plan = planOf(graphOf(model), libraryOf(rules));
    auto gone =
        replayed(graphOf(model), libraryOf("rule A { match { y = Relu(x) -> Tanh; } }"), plan);
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, "plan.rule");
    auto other = replayed(
        graphOf(model),
        libraryOf("rule A { match { y = Relu(x) -> Tanh; } }\n"
                  "rule B in convert { match { y = Neg(x); } rewrite { y = Sub(0, x); } }"),
        plan);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, "plan.made");
}

TEST(Plan, AnotherPrecisionIsRefused) {
    auto library = libraryOf(rules);
    app::FusePlan plan = planOf(graphOf(model), library);
    plan.precision = "fp16";
    EXPECT_EQ(replayed(graphOf(model), library, plan).error().code, "plan.precision");
}

TEST(Plan, ComparingListsWhatIsLostAndGained) {
    app::FusePlan before{
        "g", "fp32", {{"fuse", "A", {"a", "b"}, {"A"}}, {"fuse", "B", {"c"}, {"B"}}}};
    app::FusePlan after{
        "g", "fp32", {{"fuse", "A", {"b", "a"}, {"A_7"}}, {"fuse", "C", {"c"}, {"C"}}}};
    app::PlanDifference difference = app::comparePlans(before, after);
    EXPECT_EQ(difference.same, 1U);
    ASSERT_EQ(difference.lost.size(), 1U);
    EXPECT_EQ(app::matchText(difference.lost[0]), "B: \"c\"");
    ASSERT_EQ(difference.gained.size(), 1U);
    EXPECT_EQ(app::matchText(difference.gained[0]), "C: \"c\"");
}

TEST(PrecisionOfRules, ARuleStandsForTheNodesThatItsMatchesTake) {
    app::LoadedModel model;
    model.graph = graphOf("g (float[64,64] x) => (float[64,64] y)"
                          "{ a = Exp(x) b = Relu(a) c = Tanh(b) y = Abs(c) }");
    const app::RuleLibrary library = libraryOf("rule A { match { y = Relu(x) -> Tanh; } }");
    Progress quiet;
    app::FuseOptions options;
    options.decide = Decide::Rules;
    auto choice = parsePrecisionChoice(Precision::Fp16, {"rule:A=fp32"});
    ASSERT_TRUE(choice) << choice.error().text();
    options.precision = choice->precision;
    options.precisionOf = choice->except;
    auto found = app::lookUpRules(model, library, options, quiet);
    ASSERT_TRUE(found) << found.error().text();
    Graph graph = model.graph.clone();
    auto record = setPrecision(graph, {options.precision, options.precisionOf});
    ASSERT_TRUE(record) << record.error().text();
    std::vector<std::string> kept;
    for (const KeptNode& node : record->kept)
        kept.push_back(node.node);
    EXPECT_EQ(kept, (std::vector<std::string>{"Relu", "Tanh"}));
    for (const char* rule : {"B", "a"}) {
        options.precisionOf =
            parsePrecisionChoice(Precision::Fp16, {"rule:" + std::string(rule) + "=fp32"})->except;
        auto missing = app::lookUpRules(model, library, options, quiet);
        ASSERT_FALSE(missing);
        EXPECT_EQ(missing.error().code, "precision.rule");
    }
}
