// SPDX-License-Identifier: Apache-2.0
// Analyses that take over what an earlier one found: after any sequence of edits the result is that
// of an analysis from the beginning.
#include "app/pipeline/analysis.h"
#include "app/report/json.h"
#include "app/zoo/builder.h"
#include "app/zoo/zoo.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <thread>

using namespace fuselage;

namespace {

/// What a person may have in a rule file; each edit takes some of them in some order.
const std::vector<std::string> pieces = {
    "rule Typed { match { y = Conv -> Relu; } }",
    "rule TypedFirst priority 60 { match { y = Conv -> Relu; } }",
    "rule Never { match { y = Conv[kernel_shape == [9, 9]] -> Relu -> Relu; } }",
    "rule Doubled in canonicalize { match { y = Add(x, x); } rewrite { y = Mul(x, 2); } }",
    "rule AbsOfNeg in canonicalize { match { y = x -> Neg -> Abs; } rewrite { y = Abs(x); } }",
    "rule TwoFront in convert { match { y = x -> Abs -> Sqrt; } rewrite { y = Sqrt(Abs(x)); } }",
    "rule Gated { match { y = Add -> Relu; } gate gain.bytes > 1e18; }",
    "rule Last priority -50 { match { y = Conv -> Relu; } }",
    "rule LastSum priority -50 { match { y = Add -> Relu; } }",
    "rule Lowest priority -60 { match { y = Tanh; } }",
    "rule Halfway in fuse priority 15 { match { y = x -> Neg -> Abs; } rewrite { y = Abs(x); } }",
    "rule Scaled in fuse priority 55 { match { y = Add(x, x); } rewrite { y = Mul(x, 2); } }",
    // What made the other operand is dead until the phase ends.
    "rule OneSide in fuse priority -40 { match { y = Add(a, b) -> Relu; } rewrite { y = Relu(b); } "
    "}",
    "class Few = Tanh | Abs | Neg;\n"
    "rule Region priority 30 { match { y = region Few {1..8} outs 2; } }",
};

/// Batch size 0: a symbol.
Graph smallGraph(int64_t batch = 0) {
    zoo::Builder b("small", 1);
    Dim first = batch == 0 ? Dim::symbol("N") : Dim(batch);
    ValueId x = b.input("image", DType::Float32, {first, 4, 8, 8});
    for (int block = 0; block < 5; ++block) {
        zoo::Builder::Scope scope(b, "block" + std::to_string(block));
        ValueId y = b.apply(Op::Relu, {b.conv("conv1", x, {4, 4, 3, 1, 1})});
        y = b.apply(Op::Abs, {b.apply(Op::Neg, {b.conv("conv2", y, {4, 4, 3, 1, 1})})});
        y = b.apply(Op::Tanh, {b.apply(Op::Add, {y, y})});
        x = b.apply(Op::Relu, {b.apply(Op::Add, {y, x})});
    }
    b.output(x, "features");
    return b.finish();
}

app::LoadedModel modelOf(Graph graph) {
    Progress quiet;
    app::LoadedModel out;
    out.path = "model.onnx";
    out.fileNodes = graph.nodeCount();
    auto prepared = prepareGraph(graph, quiet);
    EXPECT_TRUE(prepared) << (prepared ? "" : prepared.error().text());
    out.graph = std::move(graph);
    return out;
}

app::RuleLibrary randomLibrary(std::mt19937& random) {
    std::string text = "fuse 1;\n";
    std::vector<std::string> order = pieces;
    std::shuffle(order.begin(), order.end(), random);
    order.resize(random() % 7);
    for (const std::string& piece : order)
        text += std::string(random() % 3, '\n') + "// " + std::string(random() % 4, '.') + "\n" +
                piece + "\n";
    app::RuleOptions options;
    options.texts.push_back({"typed.fuse", text});
    auto library = app::requireRuleLibrary(options);
    EXPECT_TRUE(library) << (library ? text : library.error().text());
    return std::move(*library);
}

/// Everything that a Report and a Trace say, but how long it took.
std::string saidBy(app::Analysis& analysis) {
    analysis.report.stageSeconds.clear();
    std::string out = app::renderJson(analysis.report) + text(*analysis.fused) +
                      text(*analysis.after.plan->graph);
    for (const NearMiss& miss : analysis.trace.nearMisses) {
        out += miss.rule + " " + miss.reason.text() + " " + std::to_string(miss.span.begin) + "\n";
        if (miss.edit)
            out += std::to_string(miss.edit->span.begin) + miss.edit->to + "\n";
    }
    for (const RuleCount& count : analysis.trace.counts)
        out += count.phase + " " + count.rule + " " + std::to_string(count.matched) + " " +
               std::to_string(count.applied) + " " + std::to_string(count.refused) + "\n";
    for (const TraceEvent& event : analysis.trace.events)
        out += std::to_string(event.gain) + " " + std::to_string(event.line) + "\n";
    return out;
}

class Editing {
public:
    Editing(Graph graph, uint32_t seed) : m_model(modelOf(std::move(graph))), m_random(seed) {
        auto profile = deviceProfile("cpu");
        EXPECT_TRUE(profile);
        m_options.profile = *profile;
        m_options.fuse.explain = true;
    }

    /// Compares the analysis of the edited rules with one that knows nothing.
    void edit() {
        app::RuleLibrary library = randomLibrary(m_random);
        m_options.fuse.disabled.clear();
        if (m_earlier && !m_earlier->report.matches.empty() && m_random() % 2)
            m_options.fuse.disabled.push_back(someMatch());
        Progress quiet;
        auto now = app::analyse(m_model, library, m_options, m_known, quiet);
        auto anew = app::analyse(m_model, library, m_options, quiet);
        ASSERT_TRUE(now) << now.error().text();
        ASSERT_TRUE(anew) << anew.error().text();
        EXPECT_EQ(saidBy(*now), saidBy(*anew));
        m_earlier = std::move(*now);
    }

    /// An analysis that is given up somewhere.
    void editAndCancel() {
        struct Impatient : Progress {
            void report(std::string_view, size_t, size_t) override {
                if (++reports > patience)
                    cancel();
            }
            uint32_t reports = 0, patience = 0;
        } progress;
        progress.patience = m_random() % 6;
        auto given = app::analyse(m_model, randomLibrary(m_random), m_options, m_known, progress);
        EXPECT_FALSE(given);
    }

    size_t reused() const { return m_known.reused(); }

private:
    MatchKey someMatch() {
        const auto& matches = m_earlier->report.matches;
        const app::MatchReport& match = matches[m_random() % matches.size()];
        MatchKey out{match.rule, match.nodes};
        std::sort(out.nodes.begin(), out.nodes.end());
        return out;
    }

    app::LoadedModel m_model;
    std::mt19937 m_random;
    app::AnalysisOptions m_options;
    /// Shares the model's graph; what it is compared with copies it.
    app::AnalysisCache m_known{std::make_shared<const Graph>(m_model.graph.clone())};
    std::optional<app::Analysis> m_earlier;
};

Graph zooGraph(const std::string& name) {
    auto graph = zoo::build(name);
    EXPECT_TRUE(graph);
    return std::move(*graph);
}

} // namespace

TEST(Incremental, EditsOfASmallGraphEqualFreshAnalyses) {
    for (uint32_t seed = 1; seed <= 6; ++seed) {
        Editing editing(smallGraph(seed % 3), seed);
        for (int edit = 0; edit < 12; ++edit) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", edit " + std::to_string(edit));
            editing.edit();
        }
        EXPECT_GT(editing.reused(), 20U) << "nothing was taken over: the test compares little";
    }
}

TEST(Incremental, EditsOfNetworksEqualFreshAnalyses) {
    for (const char* name : {"resnet18", "gpt2_block", "unet"}) {
        Editing editing(zooGraph(name), 7);
        for (int edit = 0; edit < 4; ++edit) {
            SCOPED_TRACE(std::string(name) + ", edit " + std::to_string(edit));
            editing.edit();
        }
    }
}

TEST(Incremental, TheModelsGraphIsSharedWhereNothingChangesIt) {
    const auto profile = deviceProfile("cpu");
    ASSERT_TRUE(profile);
    auto library = app::requireRuleLibrary({});
    ASSERT_TRUE(library);
    Progress quiet;
    for (const auto& [precision, batch, isShared] : {std::tuple(Precision::Fp32, 1, true),
                                                     {Precision::Tf32, 1, true},
                                                     {Precision::Fp16, 1, false},
                                                     {Precision::Fp32, 0, false}}) {
        app::LoadedModel model = modelOf(smallGraph(batch));
        if (batch == 0)
            model.dims["N"] = 2;
        const auto graph = std::make_shared<const Graph>(model.graph.clone());
        const std::string before = text(*graph);
        app::AnalysisCache known(graph);
        app::AnalysisOptions options;
        options.profile = *profile;
        options.fuse.precision = precision;
        auto analysis = app::analyse(model, *library, options, known, quiet);
        ASSERT_TRUE(analysis) << analysis.error().text();
        EXPECT_EQ(analysis->before.graph == graph, isShared) << nameOf(precision) << batch;
        EXPECT_EQ(text(*graph), before);
    }
}

/// The graph is another one before any rule is asked.
TEST(Incremental, ABodyThatIsEditedChangesTheModel) {
    auto graph = model_io::loadText(
        "g (float[2,8] x) => (float[2,8] y) { a = com.acme.Half(x) y = Relu(a) }");
    ASSERT_TRUE(graph) << graph.error().text();
    const app::LoadedModel model = modelOf(std::move(*graph));
    app::AnalysisOptions options;
    options.profile = *deviceProfile("cpu");
    app::AnalysisCache known;
    std::set<std::string> plans;
    for (const char* body : {"y = Mul(x, 0.5);", "y = Mul(x, 0.5);", "y = Exp(Mul(x, 0.5));"}) {
        app::RuleOptions rules;
        rules.texts.push_back(
            {"typed.fuse", std::string("fuse 1;\nop com.acme.Half(x) -> y { ") + body + " }\n"});
        auto library = app::requireRuleLibrary(rules);
        ASSERT_TRUE(library) << library.error().text();
        Progress quiet;
        auto now = app::analyse(model, *library, options, known, quiet);
        auto anew = app::analyse(model, *library, options, quiet);
        ASSERT_TRUE(now) << now.error().text();
        ASSERT_TRUE(anew) << anew.error().text();
        EXPECT_EQ(saidBy(*now), saidBy(*anew));
        for (const Step& step : now->before.plan->steps)
            EXPECT_FALSE(std::holds_alternative<Library>(step.program.code)) << body;
        plans.insert(text(*now->before.plan->graph));
    }
    EXPECT_EQ(plans.size(), 2U);
}

/// Levels in front of the edited one are taken over, and nobody copies the graph.
TEST(Incremental, ARuleThatComesTooLateLeavesTheGraphAsItIs) {
    const auto profile = deviceProfile("cpu");
    ASSERT_TRUE(profile);
    app::LoadedModel model = modelOf(smallGraph(1));
    app::AnalysisOptions options;
    options.profile = *profile;
    options.fuse.explain = true;
    app::AnalysisCache known;
    auto analysed = [&](const std::string& rule) {
        app::RuleOptions rules;
        rules.texts.push_back({"typed.fuse", "fuse 1;\n" + rule + "\n"});
        auto library = app::requireRuleLibrary(rules);
        EXPECT_TRUE(library);
        Progress quiet;
        auto analysis = app::analyse(model, *library, options, known, quiet);
        EXPECT_TRUE(analysis);
        return std::move(*analysis);
    };
    app::Analysis first = analysed("");
    app::Analysis late = analysed("rule Late priority -50 { match { y = Conv -> Relu; } }");
    app::Analysis later =
        analysed("rule Late priority -50 { match { y = Conv -> Relu -> Relu; } }");
    EXPECT_EQ(late.fused, first.fused);
    EXPECT_EQ(later.fused, first.fused);
    EXPECT_EQ(late.after.plan, first.after.plan);
    app::Analysis early = analysed("rule Late priority 60 { match { y = Conv -> Relu; } }");
    EXPECT_NE(early.fused, first.fused);
    EXPECT_GT(early.trace.applied("Late"), 0U);
}

TEST(Incremental, WhatWasGivenUpHarmsNothing) {
    Editing editing(smallGraph(), 11);
    for (int edit = 0; edit < 6; ++edit) {
        editing.edit();
        editing.editAndCancel();
        editing.editAndCancel();
    }
}

/// Sums of products of six values each, three in a row: more orders than a short search tries.
Graph tangledGraph() {
    zoo::Builder b("tangled", 1);
    std::vector<ValueId> leaves;
    for (const char* name : {"a", "b", "c", "d", "e", "f"})
        leaves.push_back(b.input(name, DType::Float32, {2}));
    ValueId last = leaves[0];
    for (int round = 0; round < 3; ++round) {
        for (size_t i = 1; i < leaves.size(); ++i)
            last = b.apply(Op::Mul, {last, leaves[i]});
        for (size_t i = 0; i + 1 < leaves.size(); ++i)
            last = b.apply(Op::Add, {last, leaves[i]});
    }
    b.output(b.apply(Op::Neg, {last}), "y");
    return b.finish();
}

/// Whether a search ended at its limit is found anew where the rule, or the limit, is another one.
TEST(Incremental, SearchesThatAreCutOffEqualFreshAnalyses) {
    const std::string wide = "rule R { match { y = flat Add(g, h, i, j, k, flat Mul(l, m, n, o, p, "
                             "q)); where l.shape == [3]; } }\n",
                      narrow = "rule R { match { y = Add(Add(Mul, _), _); } gate always; }\n",
                      beside = "rule S { match { y = Add -> Neg; } gate always; }\n";
    struct Step {
        std::string rules;
        uint64_t ruleSteps;
        bool isCut;
    };
    const Step steps[] = {{wide, 50, true},           {narrow, 50, false},
                          {wide, 50, true},           {"\n" + wide + beside, 50, true},
                          {beside + wide, 100, true}, {narrow + beside, 100, false},
                          {wide, 3'000'000, false},   {wide, 50, true},
                          {narrow, 1, true},          {narrow, 3'000'000, false}};
    auto profile = deviceProfile("cpu");
    ASSERT_TRUE(profile);
    const app::LoadedModel model = modelOf(tangledGraph());
    app::AnalysisOptions options;
    options.profile = *profile;
    options.fuse.explain = true;
    options.fuse.searchSteps = 3'000'000;
    app::AnalysisCache known;
    size_t reused = 0;
    for (size_t at = 0; at < std::size(steps); ++at) {
        SCOPED_TRACE("step " + std::to_string(at));
        app::RuleOptions rules;
        rules.builtin = false;
        rules.texts.push_back({"typed.fuse", "fuse 1;\n" + steps[at].rules});
        const auto library = app::requireRuleLibrary(rules);
        ASSERT_TRUE(library) << library.error().text();
        options.fuse.ruleSteps = steps[at].ruleSteps;
        Progress quiet;
        auto now = app::analyse(model, *library, options, known, quiet);
        auto anew = app::analyse(model, *library, options, quiet);
        ASSERT_TRUE(now && anew);
        const auto& events = now->trace.events;
        EXPECT_EQ(std::any_of(events.begin(), events.end(),
                              [](const TraceEvent& event) { return event.reason.code == "M0307"; }),
                  steps[at].isCut);
        EXPECT_EQ(saidBy(*now), saidBy(*anew));
        reused += known.reused();
    }
    EXPECT_GT(reused, 0U) << "nothing was taken over: the test compares little";
}

TEST(Incremental, WhatAPlanReplaysIsNotTakenForARunOfTheRules) {
    Progress quiet;
    app::LoadedModel model = modelOf(smallGraph(1));
    auto library = app::requireRuleLibrary({});
    auto profile = deviceProfile("cpu");
    ASSERT_TRUE(library && profile);
    app::AnalysisOptions options;
    options.profile = *profile;
    app::AnalysisCache known;
    auto first = app::analyse(model, *library, options, known, quiet);
    ASSERT_TRUE(first);
    ASSERT_FALSE(first->report.matches.empty());
    options.fuse.plan = app::FusePlan{};
    auto replayed = app::analyse(model, *library, options, known, quiet);
    ASSERT_TRUE(replayed) << replayed.error().text();
    EXPECT_TRUE(replayed->report.matches.empty()) << "the plan holds none";
    options.fuse.plan.reset();
    auto again = app::analyse(model, *library, options, known, quiet);
    ASSERT_TRUE(again);
    EXPECT_EQ(saidBy(*again), saidBy(*first));
}

TEST(Incremental, AnalysesAtOneTimeWaitForEachOther) {
    auto profile = deviceProfile("cpu");
    ASSERT_TRUE(profile);
    app::LoadedModel model = modelOf(smallGraph());
    app::AnalysisOptions options;
    options.profile = *profile;
    options.fuse.explain = true;
    app::AnalysisCache known;
    std::vector<app::RuleLibrary> libraries;
    std::mt19937 random(5);
    for (int i = 0; i < 6; ++i)
        libraries.push_back(randomLibrary(random));
    std::vector<std::string> said(libraries.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < libraries.size(); ++i)
        threads.emplace_back([&, i] {
            Progress quiet;
            if (auto analysis = app::analyse(model, libraries[i], options, known, quiet))
                said[i] = saidBy(*analysis);
        });
    for (std::thread& thread : threads)
        thread.join();
    for (size_t i = 0; i < libraries.size(); ++i) {
        Progress quiet;
        auto fresh = app::analyse(model, libraries[i], options, quiet);
        ASSERT_TRUE(fresh);
        EXPECT_EQ(said[i], saidBy(*fresh));
    }
}
