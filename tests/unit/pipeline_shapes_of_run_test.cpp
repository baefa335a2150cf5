// SPDX-License-Identifier: Apache-2.0
// Generated models whose lengths are rounded sums: where fused sums round to other lengths, each
// side is planned for its own, and the report names the value that decided.
#include "app/pipeline/bench.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/rules.h"
#include "app/pipeline/shapes_apart.h"
#include "app/pipeline/shapes_of_run.h"
#include "app/report/text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/passes/specialise.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

/// A normalised row, its sum times so much that the last digits become whole numbers, and as many
/// elements as that says.
Graph roundedSum(int width) {
    auto graph = model_io::loadText(
        "g (float[3," + std::to_string(width) +
        "] x) => (float[n] y) { m = ReduceMean<axes=[1]>(x) d = Sub(x, m) "
        "two = Constant<value=float {2.0}>() p = Pow(d, two) v = ReduceMean<axes=[1]>(p) "
        "e = Constant<value=float {0.00001}>() w = Add(v, e) q = Sqrt(w) h = Div(d, q) "
        "f = Sin(h) s = ReduceSum<keepdims=0>(f) k = Constant<value=float {300000.0}>() "
        "big = Mul(s, k) wave = Sin(big) t = Constant<value=float {20.0}>() l = Mul(wave, t) "
        "a = Abs(l) r = Round(a) i = Cast<to=7>(r) zero = Constant<value=int64 {0}>() "
        "one = Constant<value=int64 {1}>() c = Add(i, one) g = Range(zero, c, one) "
        "z = Cast<to=1>(g) u = Exp(z) y = Sqrt(u) }");
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    return graph ? std::move(*graph) : Graph();
}

std::string noteOf(const app::Report& report) {
    for (const std::string& note : report.model.notes)
        if (note.starts_with("shapes depend on data"))
            return note;
    return {};
}

int64_t shownLength(const AssumedShapes& assumed) {
    return assumed.contents.empty() ? -1
                                    : static_cast<int64_t>(assumed.contents[0].expected->at(0));
}

} // namespace

TEST(ShapesOfRun, SidesThatRoundToOtherLengthsEachHaveTheirOwn) {
    const testing_support::TemporaryFolder folder;
    const std::string path = folder.file("model.onnx");
    int apart = 0;
    for (int width = 64; width < 1200; width += 97) {
        ASSERT_TRUE(model_io::save(roundedSum(width), path));
        app::BenchOptions options;
        options.model = path;
        options.run.backend = BackendKind::Cpu;
        options.run.threads = 1;
        options.fuse.decide = Decide::Rules;
        options.measure = false;
        Progress progress;
        auto result = app::bench(options, progress);
        ASSERT_TRUE(result) << width << ": " << result.error().text();
        EXPECT_TRUE(result->report.verified()) << width << "\n" << app::renderText(result->report);
        const std::string note = noteOf(result->report);
        EXPECT_FALSE(note.empty()) << width;
        EXPECT_EQ(note.find("differ between runs"), std::string::npos) << width << ": " << note;
        if (note.find("last digits") == std::string::npos)
            continue;
        ++apart;
        EXPECT_NE(note.find("since Round gets "), std::string::npos) << note;
        EXPECT_NE(note.find("as `a`"), std::string::npos) << note;
    }
    EXPECT_GT(apart, 0) << "no width parts the sides: the test says nothing";
}

TEST(ShapesOfRun, PlansOfBothSidesHaveNumbersForTheirShapes) {
    const testing_support::TemporaryFolder folder;
    const std::string path = folder.file("model.onnx");
    auto library = app::requireRuleLibrary({});
    ASSERT_TRUE(library);
    int apart = 0;
    for (int width = 64; width < 1200; width += 97) {
        ASSERT_TRUE(model_io::save(roundedSum(width), path));
        Progress progress;
        auto model = app::loadModel({path, {}, {}}, progress);
        ASSERT_TRUE(model);
        auto inputs = app::generateInputs(model->graph, 1);
        ASSERT_TRUE(inputs);
        app::AnalysisOptions options;
        options.profile = *deviceProfile("cpu");
        options.fuse.decide = Decide::Rules;
        auto analysis = app::analyseForData(*model, *library, options, *inputs, 1, progress);
        ASSERT_TRUE(analysis) << analysis.error().text();
        EXPECT_FALSE(dependsOnData(*analysis->before.plan->graph)) << width;
        EXPECT_FALSE(dependsOnData(*analysis->after.plan->graph)) << width;
        apart +=
            shownLength(analysis->before.assumed) != shownLength(analysis->after.assumed) ? 1 : 0;
    }
    EXPECT_GT(apart, 0) << "no width parts the sides: the test says nothing";
}

TEST(ShapesOfRun, RunsThatAgreeAreNotApart) {
    Graph graph = roundedSum(64);
    EXPECT_TRUE(inferShapes(graph).empty());
    RunShapes one, other;
    one.contents["c"] = std::make_shared<const Tensor>(Tensor::ofInts({3}));
    other.contents["c"] = std::make_shared<const Tensor>(Tensor::ofInts({4}));
    AssumedShapes taken;
    taken.contents.push_back({"c", 1, one.contents["c"]});
    EXPECT_EQ(app::shapesApart(graph, taken, one, one), "");
    EXPECT_EQ(app::shapesApart(graph, taken, one, other), "`c` is 3 unfused and 4 fused");
    one.contents["a"] = std::make_shared<const Tensor>(Tensor::ofFloats({}, {1.5F}));
    one.contents["i"] = std::make_shared<const Tensor>(Tensor::ofInts({2}));
    one.contents["r"] = std::make_shared<const Tensor>(Tensor::ofFloats({}, {2}));
    EXPECT_EQ(app::shapesApart(graph, taken, one, other),
              "`c` is 3 unfused and 4 fused: since Round gets 1.5 unfused as `a`, and fused what a "
              "kernel keeps to itself");
    other.contents["a"] = std::make_shared<const Tensor>(Tensor::ofFloats({}, {2.75F}));
    EXPECT_EQ(app::shapesApart(graph, taken, one, other),
              "`c` is 3 unfused and 4 fused: since Round gets 1.5 and 2.75 as `a`");
}
