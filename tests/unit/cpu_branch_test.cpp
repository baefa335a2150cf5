// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan as steps of the cpu backend: bodies by plans of their own, also where branches
// give other shapes, the reference functions where there can be no plan, and what the plan around
// them counts.
#include "app/pipeline/compiled.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/backend.h"
#include "core/plan/make_plan.h"
#include "tests/unit/passes_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

using namespace fuselage;
using fuselage::test::GraphMaker;

namespace {

/// If c, Neg(x), else Concat(x, x): of other extents.
Graph negatedOrDoubled() {
    GraphMaker negated, doubled;
    negated.output(negated.node(Op::Neg, {negated.graph.addCapture("x", {})}, "r"));
    const ValueId x = doubled.graph.addCapture("x", {});
    doubled.output(doubled.node(Op::Concat, {x, x}, "r", {{"axis", int64_t{0}}}));
    GraphMaker m;
    const ValueId condition = m.input("c", {}, DType::Bool);
    const ValueId given = m.input("x", {2, 3});
    const ValueId y = m.node(Op::If, {condition}, "y",
                             {{"then_branch", std::make_shared<Graph>(negated.graph)},
                              {"else_branch", std::make_shared<Graph>(doubled.graph)}});
    for (int branch = 0; branch < 2; ++branch)
        m.graph.appendCapturedInput(m.graph.producer(y), given);
    m.output(y);
    return m.graph;
}

Tensor truth(bool value) {
    Tensor out(DType::Bool, {});
    *out.bytes() = static_cast<std::byte>(value ? 1 : 0);
    return out;
}

std::vector<float> floatsOf(const Tensor& tensor) {
    const auto values = tensor.as<float>();
    return {values.begin(), values.end()};
}

} // namespace

TEST(BranchStep, BranchesOfOtherShapesAreTakenAsTheConditionSays) {
    auto compiled = CompiledGraph::compile(negatedOrDoubled(), {});
    ASSERT_TRUE(compiled) << compiled.error().text();
    const Tensor x = Tensor::ofFloats({2, 3}, {1, 2, 3, 4, 5, 6});
    for (int round = 0; round < 2; ++round)
        for (bool taken : {true, false}) {
            auto out = compiled->run({truth(taken), x});
            ASSERT_TRUE(out) << out.error().text();
            EXPECT_EQ((*out)[0].extents(), (taken ? Extents{2, 3} : Extents{4, 3}));
            EXPECT_EQ(floatsOf((*out)[0]),
                      (taken ? std::vector<float>{-1, -2, -3, -4, -5, -6}
                             : std::vector<float>{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
        }
}

TEST(BranchStep, StrictPlansAndOtherConditionsRunByTheReferenceFunctions) {
    CompileOptions strict;
    strict.strict = true;
    auto compiled = CompiledGraph::compile(negatedOrDoubled(), strict);
    ASSERT_TRUE(compiled) << compiled.error().text();
    auto out = compiled->run({truth(true), Tensor::ofFloats({2, 3}, {1, 2, 3, 4, 5, 6})});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(floatsOf((*out)[0]), (std::vector<float>{-1, -2, -3, -4, -5, -6}));
    EXPECT_EQ(compiled->executable().tactic(0), "reference Library");
}

namespace {

CompiledGraph compiledFrom(const std::string& text) {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << graph.error().text();
    auto compiled = CompiledGraph::compile(std::move(*graph), {});
    EXPECT_TRUE(compiled) << compiled.error().text();
    return std::move(*compiled);
}

/// x + n k, by a loop of n iterations that also keeps what it carries.
constexpr const char* counted = R"(
g (float[2] x, float[2] k) => (float[2] y, float[3,2] all) {
   n = Constant<value = int64 {3}>()
   go = Constant<value = bool {1}>()
   y, all = Loop (n, go, x) <
      body = b (int64 i, bool c, float[2] v) => (bool next, float[2] w, float[2] kept) {
         next = Identity(c)
         w = Add(v, k)
         kept = Neg(v)
      }>
})";

/// What a loop carries grows with each iteration.
constexpr const char* growing = R"(
g (float[1] x) => (float[N] y) {
   n = Constant<value = int64 {3}>()
   go = Constant<value = bool {1}>()
   y = Loop (n, go, x) <
      body = b (int64 i, bool c, float[M] v) => (bool next, float[P] w) {
         next = Identity(c)
         w = Concat<axis = 0>(v, v)
      }>
})";

/// A cheap branch and one of three nodes.
constexpr const char* uneven = R"(
g (bool c, float[64] x) => (float[64] y) {
   y = If (c) <
      then_branch = t () => (float[64] r) { r = Neg(x) },
      else_branch = e () => (float[64] s) { a = Neg(x)  b = Softmax<axis = 0>(a)  s = Relu(b) }>
})";

} // namespace

TEST(BodyStep, EachBranchRunsByAPlanOfItsOwn) {
    CompiledGraph compiled = compiledFrom(uneven);
    for (bool taken : {true, false, true}) {
        ASSERT_TRUE(compiled.run({truth(taken), Tensor(DType::Float32, {64})}));
        EXPECT_EQ(compiled.executable().tactic(0),
                  std::string(taken ? "then" : "else") + " branch by a plan of its own");
    }
}

TEST(BodyStep, IterationsRunByThePlanThatTheStepHas) {
    CompiledGraph compiled = compiledFrom(counted);
    const Tensor x = Tensor::ofFloats({2}, {1, 2}), k = Tensor::ofFloats({2}, {10, 20});
    for (int round = 0; round < 2; ++round) {
        auto out = compiled.run({x, k});
        ASSERT_TRUE(out) << out.error().text();
        EXPECT_EQ(floatsOf((*out)[0]), (std::vector<float>{31, 62}));
        EXPECT_EQ(floatsOf((*out)[1]), (std::vector<float>{-1, -2, -11, -22, -21, -42}));
        EXPECT_EQ(compiled.executable().tactic(0), "3 of 3 iterations by a plan of their own");
    }
}

TEST(BodyStep, BranchesMayGiveOptionalsAndSequences) {
    auto given = compiledFrom(R"(
g (float[4] x, bool c) => (bool h) {
   o = If (c) <
      then_branch = t () => (optional(float[4]) a) { a = Optional (x) },
      else_branch = e () => (optional(float[4]) b) { b = Optional <type = "float[4]"> () }>
   h = OptionalHasElement (o)
})");
    const Tensor x = Tensor::ofFloats({4}, {1, 2, 3, 4});
    for (bool has : {true, false}) {
        auto out = given.run({x, truth(has)});
        ASSERT_TRUE(out) << out.error().text();
        EXPECT_EQ((*out)[0].intAt(0) != 0, has);
    }
    auto sequences = compiledFrom(R"(
g (float[4] x, bool c) => (int64 n) {
   s = If (c) <
      then_branch = t () => (seq(float[4]) a) { a = SequenceConstruct (x, x) },
      else_branch = e () => (seq(float[4]) b) { b = SequenceConstruct (x) }>
   n = SequenceLength (s)
})");
    for (bool two : {true, false}) {
        auto out = sequences.run({x, truth(two)});
        ASSERT_TRUE(out) << out.error().text();
        EXPECT_EQ((*out)[0].intAt(0), two ? 2 : 1);
    }
}

TEST(BodyStep, ABodyWhoseShapesGrowIsInterpreted) {
    CompiledGraph compiled = compiledFrom(growing);
    for (int round = 0; round < 2; ++round) {
        auto out = compiled.run({Tensor::ofFloats({1}, {7})});
        ASSERT_TRUE(out) << out.error().text();
        EXPECT_EQ(floatsOf((*out)[0]), std::vector<float>(8, 7));
    }
    EXPECT_FALSE(compiled.plan().steps[0].hasBodyPlans());
    EXPECT_EQ(compiled.plan().totalLaunches(), 1);
}

TEST(BodyStep, ABodyWhoseShapesGrowIsPlannedWhereItRunsOften) {
    auto graph = model_io::loadText(growing);
    ASSERT_TRUE(graph) << graph.error().text();
    Progress progress;
    ASSERT_TRUE(prepareGraph(*graph, progress));
    const auto backend = makeCpuBackend({.threads = 1});
    const auto profile = deviceProfile("cpu");
    PlanOptions options;
    options.profile = &*profile;
    options.backend = backend.get();
    auto plan = makePlan(std::make_shared<const Graph>(std::move(*graph)), options, progress);
    ASSERT_TRUE(plan) << plan.error().text();
    auto executable = std::move(*backend->prepare(*plan, progress));
    constexpr int most = 100000; // far more than making three plans takes
    for (int runs = 0; executable->tactic(0).rfind("3 of 3 iterations", 0) != 0; ++runs) {
        ASSERT_LT(runs, most) << executable->tactic(0);
        const std::vector<Tensor> x{Tensor::ofFloats({1}, {7})};
        auto out = executable->outputs(x, progress);
        ASSERT_TRUE(out) << out.error().text();
        ASSERT_EQ(floatsOf((*out)[0]), std::vector<float>(8, 7));
    }
}

TEST(BodyStep, AStepCountsTheDearerBranch) {
    const CompiledGraph compiled = compiledFrom(uneven);
    const Step& step = compiled.plan().steps[0];
    ASSERT_TRUE(step.hasBodyPlans());
    double launches = 0;
    for (const BodyPlan& body : step.bodies) {
        EXPECT_EQ(body.times, body.attribute == "else_branch" ? 1 : 0);
        launches += body.times * static_cast<double>(body.plan->totalLaunches());
        if (body.times == 1)
            EXPECT_EQ(step.traffic.logical(), body.plan->totalTraffic().logical());
    }
    EXPECT_EQ(static_cast<double>(compiled.plan().totalLaunches()), launches);
}

TEST(BodyStep, AStepCountsEachIterationThatIsKnown) {
    const CompiledGraph compiled = compiledFrom(counted);
    const Step& step = compiled.plan().steps[0];
    ASSERT_TRUE(step.hasBodyPlans());
    EXPECT_EQ(step.bodies[0].times, 3);
    EXPECT_EQ(compiled.plan().totalLaunches(), 3 * step.bodies[0].plan->totalLaunches());
    EXPECT_EQ(step.traffic.logical(), 3 * step.bodies[0].plan->totalTraffic().logical());
}

TEST(BodyStep, AStepCountsTheIterationsThatARunShowed) {
    auto graph = model_io::loadText(
        "g (float[2] x, int64 n) => (float[2] y) { go = Constant<value = bool {1}>() y = Loop (n, "
        "go, x) < body = b (int64 i, bool c, float[2] v) => (bool next, float[2] w) { next = "
        "Identity(c) w = Neg(v) }> }");
    ASSERT_TRUE(graph) << graph.error().text();
    Progress progress;
    ASSERT_TRUE(prepareGraph(*graph, progress));
    const auto profile = deviceProfile("cpu");
    RunShapes shown;
    shown.contents["n"] = std::make_shared<const Tensor>(Tensor::ofInts({5}));
    for (const RunShapes* known : {static_cast<const RunShapes*>(nullptr), &std::as_const(shown)}) {
        PlanOptions options;
        options.profile = &*profile;
        options.shown = known;
        auto plan = makePlan(std::make_shared<const Graph>(graph->clone()), options, progress);
        ASSERT_TRUE(plan) << plan.error().text();
        ASSERT_TRUE((*plan)->steps[0].hasBodyPlans());
        EXPECT_EQ((*plan)->steps[0].bodies[0].times, known ? 5 : 1);
    }
}

TEST(BodyStep, ScansOfAnyAxisAndDirectionAreTheReference) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
        const int64_t length = below(4), axis = below(3), outAxis = below(3);
        const int64_t rank = 3;
        Extents scanned{2, 3};
        scanned.insert(scanned.begin() + axis, length);
        const std::string text = fmt::format(
            "g (float[2,3] s0, float{} x, float[2,3] k) => (s, all) {{\n"
            "   s, all = Scan <num_scan_inputs = 1, scan_input_axes = [{}],"
            " scan_input_directions = [{}], scan_output_axes = [{}], scan_output_directions = [{}],"
            " body = b (float[2,3] v, float[2,3] e) => (float[2,3] next, float[2,3] made) {{\n"
            "      next = Add(v, e)\n made = Mul(v, k)\n   }}> (s0, x)\n}}",
            fuselage::text(scanned), axis - (below(2) == 0 ? rank : 0), below(2), outAxis,
            below(2));
        SCOPED_TRACE(text);
        const auto valuesOf = [&](const Extents& extents) {
            Tensor out(DType::Float32, extents);
            for (float& value : out.as<float>())
                value = static_cast<float>(below(17)) - 8;
            return out;
        };
        const std::vector<Tensor> inputs{valuesOf({2, 3}), valuesOf(scanned), valuesOf({2, 3})};
        std::vector<std::vector<Tensor>> made;
        for (const BackendKind backend : {BackendKind::Reference, BackendKind::Cpu}) {
            auto graph = model_io::loadText(text);
            ASSERT_TRUE(graph) << graph.error().text();
            CompileOptions options;
            options.backend = backend;
            auto compiled = CompiledGraph::compile(std::move(*graph), options);
            ASSERT_TRUE(compiled) << compiled.error().text();
            auto out = compiled->run(inputs);
            ASSERT_TRUE(out) << out.error().text();
            made.push_back(std::move(*out));
        }
        for (size_t i = 0; i < made[0].size(); ++i)
            EXPECT_TRUE(identical(made[0][i], made[1][i])) << "output " << i;
    }
}

TEST(BodyStep, ASequenceIsNoTripCountAndNoCondition) {
    for (const char* head : {"n = SequenceEmpty()\n go = Constant<value = bool {1}>()",
                             "n = Constant<value = int64 {3}>()\n go = SequenceEmpty()"})
        for (const BackendKind backend : {BackendKind::Reference, BackendKind::Cpu}) {
            const std::string text =
                std::string("g (float[2] x) => (y) { ") + head +
                " y = Loop (n, go, x) < body = b (int64 i, bool c, float[2] v) => (bool next, "
                "float[2] w) { next = Identity(c) w = Neg(v) }> }";
            auto graph = model_io::loadText(text);
            if (!graph)
                continue; // refused before
            CompileOptions options;
            options.backend = backend;
            auto compiled = CompiledGraph::compile(std::move(*graph), options);
            if (compiled)
                EXPECT_FALSE(compiled->run({Tensor(DType::Float32, {2})})) << text;
        }
}
