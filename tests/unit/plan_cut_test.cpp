// SPDX-License-Identifier: Apache-2.0
// How the body of a fused node is divided among kernels: at broadcasts where one kernel would
// compute values again, never into something that is predicted to be slower.
#include "app/pipeline/compiled.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/cut.h"
#include "core/plan/make_plan.h"
#include "core/plan/planner_internal.h"
#include "tests/support/choices.h"
#include "tests/unit/passes_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

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

TEST(PlanCut, AFusedNodeInsideOfAFusedNodeIsItsNodes) {
    for (const char* text :
         {"(float[64,64] x, float[64,64] r) => (float[64,64] y) {"
          " a = Sigmoid(x) c = Clip(a) b = Mul(c, r) y = Add(b, r) }",
          "(float[64,64] x, float[64,32] w) => (float[64,32] y) {"
          " a = MatMul(x, w) s = Softmax(a) t = Tanh(x) b = MatMul(t, w) y = Mul(s, b) }"}) {
        const Graph once = fuseWhole(bodyOfText(text), "Inner");
        const auto flat = predictedPlan(once.clone());
        const auto nested = predictedPlan(fuseWhole(fuseWhole(once.clone(), "Middle"), "Outer"));
        EXPECT_EQ(nested->steps.size(), flat->steps.size()) << text;
        for (const Step& step : nested->steps)
            EXPECT_FALSE(std::holds_alternative<Library>(step.program.code) &&
                         step.program.body->node(step.program.body->nodes()[0]).op == Op::Fused)
                << text;
    }
}

TEST(PlanCut, CheapWorkIsDoneAgainAndTheCutThatLostIsShown) {
    const auto plan = predictedPlan(
        fuseWhole(bodyOfText("(float[64,1,1] s, float[64,56,56] x) => (float[64,56,56] y) {"
                             " a = Sigmoid(s) y = Mul(a, x) }"),
                  "Whole"));
    EXPECT_EQ(plan->steps.size(), 1U);
    ASSERT_EQ(plan->splits.size(), 1U);
    const SplitRecord& split = plan->splits[0];
    EXPECT_FALSE(split.isCut);
    EXPECT_EQ(split.parts, 2U);
    const std::vector<std::vector<std::string>> parts{{"Sigmoid"}, {"Mul"}};
    EXPECT_EQ(split.cut, parts);
    ASSERT_TRUE(split.wholeSeconds);
    EXPECT_GT(split.seconds, *split.wholeSeconds * 0.95);
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

namespace {

/// The least sum of prices of all ways to divide a body among kernels that can run one after the
/// other: no order of the nodes is given.
class AllPartitions {
public:
    AllPartitions(const Graph& body, planner::BodyCutter& cutter)
        : m_body(body), m_cutter(cutter), m_nodes(topologicalOrder(body)),
          m_block(m_nodes.size(), 0) {
        for (uint32_t i = 0; i < m_nodes.size(); ++i)
            m_at[m_nodes[i]] = i;
    }

    double least() {
        divide(0, 0);
        return m_least;
    }

private:
    /// Nodes from `at` on go into one of the blocks that there are, or into one of their own.
    void divide(uint32_t at, uint32_t blocks) {
        if (at == m_nodes.size()) {
            if (blocks > 1 && isOrdered(blocks))
                m_least = std::min(m_least, price(blocks));
            return;
        }
        for (m_block[at] = 0; m_block[at] <= blocks; ++m_block[at])
            divide(at + 1, std::max(blocks, m_block[at] + 1));
    }

    /// No two blocks wait for each other, be it through others.
    bool isOrdered(uint32_t blocks) const {
        std::vector<std::set<uint32_t>> waits(blocks);
        for (uint32_t i = 0; i < m_nodes.size(); ++i)
            for (ValueId input : m_body.node(m_nodes[i]).inputs)
                if (const NodeId maker = m_body.producer(input);
                    maker.valid() && m_block[m_at.at(maker)] != m_block[i])
                    waits[m_block[i]].insert(m_block[m_at.at(maker)]);
        return finished(waits) + 1 == 1U << blocks;
    }

    /// Blocks that can run when those that they wait for have, as bits.
    static uint32_t finished(const std::vector<std::set<uint32_t>>& waits) {
        uint32_t done = 0;
        for (size_t round = 0; round < waits.size(); ++round)
            for (size_t block = 0; block < waits.size(); ++block)
                if (std::all_of(waits[block].begin(), waits[block].end(),
                                [&](uint32_t other) { return (done >> other & 1) != 0; }))
                    done |= 1U << block;
        return done;
    }

    double price(uint32_t blocks) {
        double sum = 0;
        for (uint32_t block = 0; block < blocks; ++block) {
            std::vector<NodeId> nodes;
            uint32_t bits = 0;
            for (uint32_t i = 0; i < m_nodes.size(); ++i)
                if (m_block[i] == block) {
                    nodes.push_back(m_nodes[i]);
                    bits |= 1U << i;
                }
            auto [known, isNew] = m_prices.try_emplace(bits, 0);
            if (isNew)
                known->second =
                    m_cutter.secondsOfPart(nodes).value_or(std::numeric_limits<double>::infinity());
            sum += known->second;
        }
        return sum;
    }

    const Graph& m_body;
    planner::BodyCutter& m_cutter;
    std::vector<NodeId> m_nodes;
    std::map<NodeId, uint32_t> m_at;
    std::vector<uint32_t> m_block; ///< of each node
    std::map<uint32_t, double> m_prices;
    double m_least = std::numeric_limits<double>::infinity();
};

/// How much more the cutter's cut takes than the best of all partitions, on the worse device.
double excessOf(const ChoiceList& list) {
    constexpr size_t mostNodes = 7;
    const Graph graph = madeFrom(list);
    if (graph.nodeCount() < 2 || graph.nodeCount() > mostNodes)
        return 1;
    double worst = 1;
    for (const char* device : {"h200", "cpu_avx512"}) {
        const auto profile = deviceProfile(device);
        PlanOptions options;
        options.profile = &*profile;
        LowerCache cache;
        const LowerRequest request =
            planner::requestFor(graph, topologicalOrder(graph), graph.outputs());
        planner::BodyCutter cutter(request, options, NumericClass::Reassociated, cache);
        const double cut = cutter.cheapest(planner::CutPlaces::All).seconds;
        const double least = AllPartitions(*request.body, cutter).least();
        EXPECT_GE(cut, least * (1 - 1e-9)) << text(graph);
        worst = std::max(worst, cut / least);
    }
    return worst;
}

} // namespace

TEST(PlanCut, TheCheapestCutIsThatOfAllPartitions) {
    constexpr double most = 1.0001;
    size_t compared = 0;
    for (uint32_t seed = 1000; seed < 1400; ++seed) {
        Choices choices(seed);
        const Graph graph = BroadcastGraph(choices).make();
        compared += graph.nodeCount() > 1 && graph.nodeCount() <= 7 ? 1U : 0U;
        const ChoiceList list = choices.drawn();
        if (excessOf(list) <= most)
            continue;
        const ChoiceList smallest = testing_support::shrunk(
            list, [](const ChoiceList& each) { return excessOf(each) > most; }, 300);
        FAIL() << "seed " << seed << ": " << excessOf(smallest) << " times\n"
               << text(madeFrom(smallest));
    }
    EXPECT_GT(compared, 50U);
}
