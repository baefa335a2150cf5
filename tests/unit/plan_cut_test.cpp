// SPDX-License-Identifier: Apache-2.0
// How the body of a fused node is divided among kernels: at broadcasts where one kernel would
// compute values again, never into something that is predicted to be slower.
#include "app/pipeline/compiled.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"
#include "tests/support/choices.h"
#include "tests/unit/passes_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using fuselage::test::GraphMaker;
using testing_support::ChoiceList;
using testing_support::Choices;

namespace {

std::shared_ptr<const Plan> predictedPlan(Graph graph, const char* device = "h200") {
    auto profile = deviceProfile(device);
    EXPECT_TRUE(profile);
    PlanOptions options;
    options.profile = &*profile;
    Progress progress;
    auto plan = makePlan(std::make_shared<const Graph>(std::move(graph)), options, progress);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
    return plan ? *plan : std::make_shared<const Plan>();
}

Graph bodyOfText(const std::string& text) {
    auto graph = model_io::loadText("g " + text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    Progress progress;
    EXPECT_TRUE(prepareGraph(*graph, progress));
    return std::move(*graph);
}

double planSeconds(const Plan& plan) {
    return plan.totalPredicted().seconds;
}

} // namespace

TEST(PlanCut, WorkBeforeABroadcastIsAKernelOfItsOwn) {
    const auto plan = predictedPlan(
        fuseWhole(bodyOfText("(float[1,512] x, float[4096,512] b) => (float[4096,512] y) {"
                             " a = Tanh(x) c = Exp(a) d = Erf(c) e = Sin(d) f = Tanh(e) h = Exp(f)"
                             " y = Add(h, b) }"),
                  "Whole"));
    EXPECT_EQ(plan->steps.size(), 2U);
    ASSERT_EQ(plan->splits.size(), 1U);
    EXPECT_TRUE(plan->splits[0].isCut);
    EXPECT_EQ(plan->splits[0].reason.code, "cost");
}

TEST(PlanCut, CheapWorkIsDoneAgainAndTheCutThatLostIsShown) {
    const auto plan = predictedPlan(
        fuseWhole(bodyOfText("(float[64,1,1] s, float[64,56,56] x) => (float[64,56,56] y) {"
                             " a = Sigmoid(s) y = Mul(a, x) }"),
                  "Whole"));
    EXPECT_EQ(plan->steps.size(), 1U);
    ASSERT_EQ(plan->splits.size(), 1U);
    EXPECT_FALSE(plan->splits[0].isCut);
    EXPECT_EQ(plan->splits[0].parts, 2U);
}

TEST(PlanCut, NothingIsAskedWhereNoWorkIsRepeated) {
    const auto plan = predictedPlan(fuseWhole(
        bodyOfText(
            "(float[64,512] x, float[512] b) => (float[64,512] y) { a = Add(x, b) y = Exp(a) }"),
        "Whole"));
    EXPECT_EQ(plan->steps.size(), 1U);
    EXPECT_TRUE(plan->splits.empty());
}

TEST(PlanCut, WhatNeedsMoreRegistersThanAThreadHasIsCut) {
    // Each vector stays alive until it is read again; a thread holds eight elements of each.
    GraphMaker m;
    std::vector<ValueId> inputs;
    constexpr int count = 60;
    for (int i = 0; i < count; ++i)
        inputs.push_back(m.input("x" + std::to_string(i), {1 << 22}, DType::Float16));
    ValueId sum = inputs[0];
    for (int i = 1; i < count; ++i)
        sum = m.node(Op::Add, {sum, inputs[i]}, "s" + std::to_string(i));
    for (int i = 0; i < count; ++i)
        sum = m.node(Op::Mul, {sum, inputs[i]}, "p" + std::to_string(i));
    m.output(sum);
    inferShapes(m.graph);
    const Graph fused = fuseWhole(m.graph, "Whole");
    const auto plan = predictedPlan(fused.clone());
    ASSERT_EQ(plan->splits.size(), 1U);
    EXPECT_NE(plan->splits[0].reason.message.find("registers"), std::string::npos)
        << plan->splits[0].reason.message;
    EXPECT_EQ(plan->splits[0].isCut, plan->steps.size() > 1);
    // A processor's kernels keep such values in memory anyway.
    EXPECT_TRUE(predictedPlan(fused.clone(), "cpu_avx512")->splits.empty());
}

namespace {

/// Elementwise operators and reductions on values that broadcast to one another.
class BroadcastGraph {
public:
    explicit BroadcastGraph(Choices& choices) : m_choices(choices) {
        const int64_t rows = m_choices.pick(std::vector<int64_t>{4, 256, 2048});
        const int64_t columns = m_choices.pick(std::vector<int64_t>{8, 512});
        m_values = {m.input("x", {rows, columns}), m.input("r", {1, columns}),
                    m.input("c", {rows, 1}), m.input("s", {1, 1})};
    }

    Graph make() && {
        for (int64_t left = 2 + m_choices.below(8); left > 0; --left)
            add();
        m.output(m_values.back());
        if (m_choices.oneIn(3))
            m.output(m_values[m_values.size() - 2]);
        return std::move(m.graph);
    }

private:
    ValueId any() {
        const auto count = static_cast<int64_t>(m_values.size());
        return m_values[static_cast<size_t>(count - 1 - m_choices.below(count))];
    }

    void add() {
        const std::vector<Op> one{Op::Relu, Op::Exp, Op::Tanh, Op::Sin, Op::Abs};
        const std::vector<Op> two{Op::Add, Op::Mul, Op::Max};
        const std::string name = "v" + std::to_string(m_values.size());
        switch (m_choices.below(4)) {
        case 0:
            return m_values.push_back(m.node(m_choices.pick(two), {any(), any()}, name));
        case 1:
            return m_values.push_back(m.node(m_choices.pick(one), {any()}, name));
        case 2: { // work in front of a broadcast
            ValueId value = any();
            for (int64_t i = 0, count = 3 + m_choices.below(5); i < count; ++i)
                value = m.node(m_choices.pick(one), {value}, name + "_" + std::to_string(i));
            return m_values.push_back(m.node(m_choices.pick(two), {value, m_values[0]}, name));
        }
        default: {
            const ValueId axis = m.ints("axis" + name, {m_choices.below(2)});
            m_values.push_back(m.node(Op::ReduceSum, {any(), axis}, name));
        }
        }
    }

    Choices& m_choices;
    GraphMaker m;
    std::vector<ValueId> m_values;
};

Graph madeFrom(const ChoiceList& list) {
    Choices choices(list);
    Graph graph = BroadcastGraph(choices).make();
    Progress progress;
    EXPECT_TRUE(prepareGraph(graph, progress));
    return graph;
}

/// How much slower the fused node is predicted to be than its nodes, on the device where that is
/// most: on a CPU arithmetic costs more of the time.
double slowdownOf(const ChoiceList& list) {
    Graph graph = madeFrom(list);
    if (graph.nodeCount() == 0)
        return 1;
    double worst = 0;
    for (const char* device : {"h200", "cpu_avx512"}) {
        const double fused = planSeconds(*predictedPlan(fuseWhole(graph, "Whole"), device));
        worst = std::max(worst, fused / planSeconds(*predictedPlan(graph.clone(), device)));
    }
    return worst;
}

} // namespace

TEST(PlanCut, AFusedNodeIsNeverPredictedSlowerThanItsNodes) {
    // The share that a cut must win, and what reuse of caches is priced differently in a body.
    constexpr double most = 1.2;
    for (uint32_t seed = 0; seed < 300; ++seed) {
        Choices choices(seed);
        (void)BroadcastGraph(choices).make();
        const ChoiceList list = choices.drawn();
        if (slowdownOf(list) <= most)
            continue;
        const ChoiceList smallest = testing_support::shrunk(
            list, [](const ChoiceList& each) { return slowdownOf(each) > most; }, 300);
        FAIL() << "seed " << seed << ": " << slowdownOf(smallest) << " times\n"
               << text(madeFrom(smallest));
    }
}
