// SPDX-License-Identifier: Apache-2.0
// Numeric classes: what strict rounding changes, what a rule's clause refuses, what tf32 allows,
// and that jumps see stored values.
#include "app/pipeline/bench.h"
#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/verify.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace fuselage;

namespace {

Graph graphOf(const std::string& text) {
    auto graph = model_io::loadText("g " + text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    if (!graph)
        return Graph();
    Progress progress;
    EXPECT_TRUE(prepareGraph(*graph, progress));
    return std::move(*graph);
}

std::vector<Tensor> outputsOf(Graph graph, const CompileOptions& options, uint64_t seed = 3) {
    auto inputs = app::generateInputs(graph, seed);
    auto compiled = CompiledGraph::compile(std::move(graph), options);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().text());
    auto outputs = compiled->run(*inputs);
    EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().text());
    return outputs ? std::move(*outputs) : std::vector<Tensor>{};
}

/// True when the whole graph as one fused node gives the bits of its nodes one by one.
bool fusesToSameBits(const Graph& graph, bool strict) {
    CompileOptions options;
    options.strict = strict;
    options.allowed = {{"", strict ? NumericClass::Exact : NumericClass::Reassociated}};
    std::vector<Tensor> fused = outputsOf(fuseWhole(graph, "Whole"), options);
    options.oneKernelPerNode = true;
    std::vector<Tensor> unfused = outputsOf(graph.clone(), options);
    bool same = !fused.empty() && fused.size() == unfused.size();
    for (size_t i = 0; same && i < fused.size(); ++i)
        same = identical(fused[i], unfused[i]);
    return same;
}

std::string chainOf(const std::string& type) {
    return "(" + type + "[64,48] x, " + type + "[48] b) => (" + type +
           "[64,48] y) { s = Add(x, b)  e = Exp(s)  m = Mul(e, s)  d = Sub(m, x)  y = Mul(d, d) }";
}

std::shared_ptr<const Plan> planOf(Graph graph, const CompileOptions& options) {
    auto compiled = CompiledGraph::compile(std::move(graph), options);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().text());
    return std::make_shared<const Plan>(compiled->plan());
}

/// The rule of this text applied to the graph.
struct Ruled {
    Graph graph;
    std::map<std::string, NumericClass> allowed;
};

Ruled applied(const std::string& rules, const Graph& graph) {
    app::RuleOptions options;
    options.builtin = false;
    options.texts = {{"test.fuse", rules}};
    auto library = app::requireRuleLibrary(options);
    EXPECT_TRUE(library) << (library ? "" : library.error().text());
    Progress progress;
    auto fused = app::fuseGraph(graph, *library, {}, progress);
    EXPECT_TRUE(fused) << (fused ? "" : fused.error().text());
    return {std::move(fused->graph), app::numericClasses(*library)};
}

} // namespace

TEST(Numeric, SixteenBitChainsAreWiderAndStrictOnesExact) {
    for (const char* type : {"float16", "bfloat16"}) {
        Graph graph = graphOf(chainOf(type));
        EXPECT_FALSE(fusesToSameBits(graph, false)) << type;
        EXPECT_TRUE(fusesToSameBits(graph, true)) << type;
        EXPECT_EQ(planOf(fuseWhole(graph, "Whole"), {})->steps[0].numeric, NumericClass::Wider);
        CompileOptions strict;
        strict.strict = true;
        auto plan = planOf(fuseWhole(graph, "Whole"), strict);
        EXPECT_EQ(plan->steps.size(), 1U);
        EXPECT_EQ(plan->steps[0].numeric, NumericClass::Exact);
        EXPECT_TRUE(plan->steps[0].strict);
    }
}

TEST(Numeric, StrictContractionsKeepTheBitsOfTheirNodes) {
    EXPECT_TRUE(fusesToSameBits(
        graphOf("(float16[8,64] x, float16[64,40] w, float16[40] b, float16[8,40] r) => "
                "(float16[8,40] y) { m = MatMul(x, w) a = Add(m, b) c = Add(a, r) y = Tanh(c) }"),
        true));
    EXPECT_TRUE(fusesToSameBits(
        graphOf("(bfloat16[1,4,9,9] x, bfloat16[8,4,3,3] w, bfloat16[8] b) => "
                "(bfloat16[1,8,7,7] y) { c = Conv(x, w, b) s = Sigmoid(c) y = Mul(c, s) }"),
        true));
    EXPECT_TRUE(fusesToSameBits(graphOf("(float[8,64] x, float[64,40] w, float[40] b) => "
                                        "(float[8,40] y) { m = MatMul(x, w) a = Add(m, b) "
                                        "y = Relu(a) }"),
                                true));
}

TEST(Numeric, StrictPlansSplitWhatOnlyLowersInAnotherOrder) {
    Graph graph = graphOf("(float[2,3,4,4] x, float[3] g, float[3] b, float[3] m, float[3] v) => "
                          "(float[2,3,4,4] y) { n = BatchNormalization(x, g, b, m, v) "
                          "y = Relu(n) }");
    EXPECT_EQ(planOf(fuseWhole(graph, "Whole"), {})->steps.size(), 1U);
    CompileOptions strict;
    strict.strict = true;
    auto plan = planOf(fuseWhole(graph, "Whole"), strict);
    ASSERT_EQ(plan->splits.size(), 1U);
    EXPECT_EQ(plan->splits[0].reason.code, "numeric-class");
    EXPECT_EQ(plan->splits[0].reason.message,
              "one program of class reassociated, allowed is exact");
    for (const Step& step : plan->steps)
        EXPECT_EQ(step.numeric, NumericClass::Exact);
}

TEST(Numeric, TheClauseOfARuleBoundsItsFusedNodes) {
    Graph graph = graphOf("(float16[8,8] x) => (float16[8,8] y) { a = Exp(x) y = Neg(a) }");
    const std::string match = "{ match { y = Exp -> Neg; } numeric ";
    Ruled wider = applied("fuse 1; rule Both " + match + "wider; }", graph);
    CompileOptions options;
    options.allowed = wider.allowed;
    auto plan = planOf(std::move(wider.graph), options);
    ASSERT_EQ(plan->steps.size(), 1U);
    EXPECT_EQ(plan->steps[0].numeric, NumericClass::Wider);
    EXPECT_EQ(plan->steps[0].allowed, NumericClass::Wider);

    Ruled exact = applied("fuse 1; rule Both " + match + "exact; }", graph);
    options.allowed = exact.allowed;
    plan = planOf(std::move(exact.graph), options);
    ASSERT_EQ(plan->steps.size(), 1U);
    EXPECT_EQ(plan->steps[0].numeric, NumericClass::Exact);
    EXPECT_TRUE(plan->steps[0].strict);
}

TEST(Numeric, StrictFusionLeavesOutRewritesThatAreNotExact) {
    Graph graph = graphOf("(float[4] x) => (float[4] y) { a = Add(x, x) y = Neg(a) }");
    const std::string rule = "rule Swap { match { n = Add(a, b); y = Neg(n); } "
                             "rewrite { y = Sub(Neg(a), b); }";
    for (auto [clause, kept] : {std::pair(" }", false), {" numeric exact; }", true}}) {
        app::RuleOptions rules;
        rules.builtin = false;
        rules.texts = {{"test.fuse", "fuse 1; " + rule + clause}};
        auto library = app::requireRuleLibrary(rules);
        ASSERT_TRUE(library) << library.error().text();
        app::FuseOptions options;
        options.strict = true;
        Progress progress;
        auto fused = app::fuseGraph(graph, *library, options, progress);
        ASSERT_TRUE(fused) << fused.error().text();
        EXPECT_EQ(fused->trace.applied("Swap") == 1, kept);
    }
}

TEST(Numeric, Tf32MakesContractionsApproximateUnlessTheirRuleForbids) {
    Graph graph = graphOf("(float[4,8] x, float[8,4] w) => (float[4,4] y) "
                          "{ m = MatMul(x, w) r = Relu(m) y = Exp(x2) x2 = Add(r, r) }");
    Ruled fused =
        applied("fuse 1; rule Product { match { y = MatMul -> Relu; } numeric wider; }", graph);
    CompileOptions options;
    options.precision = Precision::Tf32;
    auto unfused = planOf(graph.clone(), options);
    EXPECT_EQ(unfused->precision, Precision::Tf32);
    EXPECT_TRUE(unfused->steps[0].tf32);
    EXPECT_EQ(unfused->steps[0].numeric, NumericClass::Approximate);
    EXPECT_FALSE(unfused->steps[1].tf32);
    options.allowed = fused.allowed;
    EXPECT_FALSE(planOf(std::move(fused.graph), options)->steps[0].tf32);
}

TEST(Numeric, ComparisonsInsideABodySeeStoredValues) {
    // 1 + small is 1 in bfloat16: every element ties with 1, none does in float32 registers.
    Graph graph =
        graphOf("(bfloat16[64] small, bfloat16[64] one, bfloat16[64] z) => "
                "(bool[64] y, bfloat16[64] w) { s = Add(small, one)  v = Reshape(s, shape)"
                "  shape = Constant<value_ints=[64]>()  y = Equal(v, one)  "
                "w = Where(y, z, s) }");
    Tensor small(DType::BFloat16, {64}), one(DType::BFloat16, {64}), z(DType::BFloat16, {64});
    for (int64_t i = 0; i < 64; ++i) {
        small.set(i, i % 2 ? 0.001 : 0.01);
        one.set(i, 1);
        z.set(i, -static_cast<double>(i));
    }
    for (BackendKind backend : {BackendKind::Cpu, BackendKind::Reference}) {
        CompileOptions options;
        options.backend = backend;
        auto compiled = CompiledGraph::compile(fuseWhole(graph, "Whole"), options);
        ASSERT_TRUE(compiled) << compiled.error().text();
        EXPECT_EQ(compiled->plan().steps.size(), 1U);
        auto outputs = compiled->run({small, one, z});
        ASSERT_TRUE(outputs) << outputs.error().text();
        for (int64_t i = 0; i < 64; ++i) {
            EXPECT_EQ((*outputs)[0].intAt(i), i % 2) << nameOf(backend) << " element " << i;
            EXPECT_EQ((*outputs)[1].at(i),
                      i % 2 ? -static_cast<double>(i) : roundTo(DType::BFloat16, 1.01))
                << nameOf(backend) << " element " << i;
        }
    }
}

TEST(Numeric, PositionsOfExtremaInsideABodySeeStoredValues) {
    Graph graph = graphOf("(bfloat16[1,4] small, bfloat16[1,4] one) => (int64[1,1] y) "
                          "{ s = Add(small, one)  y = ArgMax<axis=1>(s) }");
    Tensor small(DType::BFloat16, {1, 4}), one(DType::BFloat16, {1, 4});
    for (int64_t i = 0; i < 4; ++i) {
        small.set(i, 0.001 * static_cast<double>(i));
        one.set(i, 1);
    }
    for (BackendKind backend : {BackendKind::Cpu, BackendKind::Reference}) {
        CompileOptions options;
        options.backend = backend;
        auto compiled = CompiledGraph::compile(fuseWhole(graph, "Whole"), options);
        ASSERT_TRUE(compiled) << compiled.error().text();
        auto outputs = compiled->run({small, one});
        ASSERT_TRUE(outputs) << outputs.error().text();
        EXPECT_EQ((*outputs)[0].intAt(0), 0) << nameOf(backend); // all tie at 1
    }
}

TEST(Numeric, TheLimitOfAStorageGrowsWithItsDepth) {
    Graph graph = graphOf("(float16[4] x) => (float16[4] y) { a = Exp(x) b = Reshape(a, s) "
                          "s = Constant<value_ints=[4]>() c = Neg(b) y = Add(c, x) }");
    EXPECT_EQ(app::roundingDepth(graph, DType::Float16), 3U);
    EXPECT_EQ(app::roundingDepth(graph, DType::BFloat16), 0U);
    EXPECT_EQ(app::storageTolerance(DType::Float16, 1), app::toleranceOf(DType::Float16));
    EXPECT_DOUBLE_EQ(app::storageTolerance(DType::Float16, 100), 40.0 / 2048);
    EXPECT_DOUBLE_EQ(app::storageTolerance(DType::BFloat16, 100), 40.0 / 256);
}

TEST(Numeric, AFloat64OutputBehindFloat32ResultsHasTheirLimit) {
    const Graph through = graphOf("(double[4] x) => (double[4] y) { a = Cast<to=1>(x) b = Exp(a) "
                                  "y = Cast<to=11>(b) }");
    EXPECT_EQ(app::heldTo(through, DType::Float64), DType::Float32);
    EXPECT_EQ(app::ownTolerance(through, DType::Float64), app::originalTolerance(DType::Float32));
    const Graph wide = graphOf("(double[4] x) => (double[4] y) { y = Exp(x) }");
    EXPECT_EQ(app::heldTo(wide, DType::Float64), DType::Float64);
    EXPECT_EQ(app::ownTolerance(wide, DType::Float64), app::originalTolerance(DType::Float64));
}

TEST(Numeric, AModelThatAmplifiesRoundingIsJudgedByHowMuch) {
    const auto path = std::filesystem::temp_directory_path() / "fuselage_amplifies.onnx";
    auto reportOf = [&](const char* factor) {
        Graph graph =
            graphOf(std::string("(float[64] x) => (float[64] y) { k = Constant<value=float "
                                "{") +
                    factor + "}>()  m = Mul(x, k)  y = Sin(m) }");
        EXPECT_TRUE(model_io::save(graph, path.string()));
        app::BenchOptions options;
        options.model = path.string();
        options.run.backend = BackendKind::Cpu;
        options.measure = false;
        Progress progress;
        auto result = app::bench(options, progress);
        std::filesystem::remove(path);
        EXPECT_TRUE(result) << (result ? "" : result.error().text());
        return result ? std::move(result->report) : app::Report{};
    };
    const app::Report usual = reportOf("10.0"), steep = reportOf("100000.0");
    EXPECT_TRUE(usual.verified() && steep.verified());
    EXPECT_EQ(usual.agreement.size(), 2U);
    ASSERT_EQ(steep.agreement.size(), 3U);
    EXPECT_EQ(steep.agreement[0].side, "inputs");
    EXPECT_GT(steep.agreement[1].maxRelative, app::originalTolerance(DType::Float32));
    EXPECT_LE(steep.agreement[1].tolerance, 6 * steep.agreement[0].maxRelative);
}

TEST(Numeric, NudgedInputsAreTheNextNumbers) {
    Tensor x(DType::Float32, {2}), n(DType::Int64, {1});
    x.as<float>()[0] = 1;
    n.set(0, 7);
    const auto moved = app::nudged({x, n}, 1);
    EXPECT_NEAR(moved[0].as<float>()[0], 1, 1.2e-7);
    EXPECT_NE(moved[0].as<float>()[0], 1);
    EXPECT_TRUE(identical(moved[1], n));
}
