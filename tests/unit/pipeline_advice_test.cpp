// SPDX-License-Identifier: Apache-2.0
// What explain promises of a change is what the whole model gains by it: the change is made in the
// rule's text and the model is analysed anew.
#include "app/pipeline/explain.h"
#include "core/passes/passes.h"
#include "tests/support/choices.h"
#include "tests/support/random_blocks.h"
#include "tests/support/small_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace fuselage;

namespace {

struct Cost {
    double us = 0;
    int64_t bytes = 0;
};

std::optional<Cost> costOf(const app::LoadedModel& model, const app::RuleOptions& rules,
                           const app::FuseOptions& fusing) {
    auto library = app::requireRuleLibrary(rules);
    EXPECT_TRUE(library) << library.error().text();
    app::AnalysisOptions options;
    options.fuse = fusing;
    options.profile = *deviceProfile(fusing.profile);
    Progress quiet;
    auto analysis = library ? app::analyse(model, *library, options, quiet)
                            : Result<app::Analysis>(failure(library.error()));
    EXPECT_TRUE(analysis) << analysis.error().text();
    if (!analysis)
        return std::nullopt;
    const Plan& plan = *analysis->after.plan;
    return Cost{plan.totalPredicted().seconds * 1e6,
                static_cast<int64_t>(plan.totalTraffic().logical())};
}

/// The library's text of that file, changed.
std::string withChange(const std::string& file, const app::TextChange& change) {
    std::string text = *app::builtinImport(file);
    size_t at = 0;
    for (uint32_t line = 1; line < change.place.line; ++line)
        at = text.find('\n', at) + 1;
    at += change.place.column - 1;
    EXPECT_EQ(text.substr(at, change.remove.size()), change.remove) << file;
    return text.replace(at, change.remove.size(), change.insert);
}

/// How many changes were tried and help.
int expectPromisesKept(const std::string& text, const std::string& profile) {
    app::LoadedModel model;
    model.graph = testing_support::smallGraph(text);
    model.path = "m.onnx";
    Progress quiet;
    EXPECT_TRUE(prepareGraph(model.graph, quiet)); // as models are loaded
    app::ExplainOptions options;
    options.fuse.profile = profile;
    auto library = app::requireRuleLibrary(options.rules);
    auto explanation = app::explainModel(model, *library, options, quiet);
    EXPECT_TRUE(explanation) << explanation.error().text();
    int kept = 0;
    for (const app::Finding& finding : explanation->findings) {
        if (!finding.outcome || !finding.change)
            continue;
        app::RuleOptions changed = options.rules;
        const std::string file = finding.change->place.file;
        changed.unsaved[file] = withChange(file, *finding.change);
        const auto now = costOf(model, options.rules, options.fuse);
        const auto then = costOf(model, changed, options.fuse);
        if (!now || !then)
            continue;
        const std::string what =
            fmt::format("{}: {} on {}\n{}", finding.rule, finding.reason.flip, profile, text);
        EXPECT_NEAR(finding.outcome->us, now->us - then->us, 1e-6 * now->us) << what;
        EXPECT_EQ(finding.outcome->bytes, then->bytes - now->bytes) << what;
        EXPECT_GT(now->us, then->us) << what;
        ++kept;
    }
    return kept;
}

} // namespace

TEST(Advice, PromisesOfChangesAreKept) {
    const std::string known[] = {
        // A scale that is computed; a normalisation over other axes, in one kernel already; a
        // dropout between the product and its activation.
        "(float[4,16,32] q, float[4,16,32] k, float[4,16,32] v, float s) => (float[4,16,32] y) "
        "{ t = Transpose<perm = [0,2,1]>(k) m = MatMul(q, t) c = Mul(m, s) p = Softmax(c) "
        "y = MatMul(p, v) }",
        "(float[8,64,32] x) => (float[8,64,32] y) { a = Constant<value_ints = [1]>() "
        "e = Constant<value_float = 0.00001>() m = ReduceMean(x, a) d = Sub(x, m) q = Mul(d, d) "
        "v = ReduceMean(q, a) w = Add(v, e) r = Sqrt(w) y = Div(d, r) }",
        "(float[64,32] x, float[64,32] r) => (float[64,32] y, float[64,32] z) "
        "{ s = Add(x, r) z = Relu(s) e = Exp(s) y = Softmax(e) }",
    };
    int kept = 0;
    for (const char* profile : {"cpu", "h200"})
        for (const std::string& text : known)
            kept += expectPromisesKept(text, profile);
    testing_support::Choices choices(7);
    for (int block = 0; block < 40; ++block)
        kept += expectPromisesKept(testing_support::randomBlock(choices, {20'000}),
                                   block % 2 == 0 ? "cpu" : "h200");
    EXPECT_GE(kept, 3);
}
