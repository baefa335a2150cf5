// SPDX-License-Identifier: Apache-2.0
// How long ago the memory of values was last used, from the places that a plan gave them.
#include "core/plan/memory_uses.h"
#include "plan_support.h"

#include <map>
#include <random>
#include <set>

using namespace fuselage;
using namespace fuselage::test;

namespace {

/// Distances of every step, by the name of what it makes.
std::map<std::string, UseDistances> distancesOf(const Plan& plan) {
    planner::MemoryUses uses(plan);
    std::map<std::string, UseDistances> out;
    for (const Step& step : plan.steps)
        out[plan.values[step.outputs[0]].name] = uses.next();
    return out;
}

constexpr int64_t row = 64 * 4, weights = 64 * 64 * 4;

} // namespace

TEST(MemoryUses, AResultLiesWhereSomethingElseLay) {
    // c lies where a lay, which the second step read last.
    const auto plan = planFor(preparedGraph("(float[1,64] x) => (float[1,64] y) {"
                                            " a = Exp(x) b = Softmax(a) c = Softmax(b)"
                                            " d = Softmax(c) y = Neg(d) }"),
                              "cpu_generic", {});
    const auto found = distancesOf(*plan);
    ASSERT_EQ(found.size(), 5U);
    // The step of b moved two rows; half of them came behind the use.
    EXPECT_EQ(found.at("c").written[0], row);
    EXPECT_EQ(found.at("b").read[0], row);
}

TEST(MemoryUses, WhatNoStepMakesWasUsedOneRunAgo) {
    const auto plan = planFor(preparedGraph("(float[1,64] x, float[64,64] w) => (float[1,64] y) {"
                                            " a = Exp(x) b = MatMul(a, w) c = Softmax(b)"
                                            " y = MatMul(c, w) }"),
                              "cpu_generic", {});
    int64_t run = 0;
    for (const Step& step : plan->steps)
        run += logicalTraffic(step.program).logical();
    const auto found = distancesOf(*plan);
    // The same weights twice a run: the other time is nearer than a run.
    EXPECT_LT(found.at("y").read[1], run / 2 + row);
    EXPECT_EQ(found.at("a").read[0], run - row) << "a run touches no more than this";
    // Behind the first product its weights lie between a result and the last use of its place.
    EXPECT_GT(found.at("c").written[0], weights / 2);
}

TEST(MemoryUses, WhatIsWrittenInPlaceIsAsNearAsItsOperand) {
    PlanOptions options;
    const auto plan = planFor(preparedGraph("(float[1,64] x) => (float[1,64] y) {"
                                            " a = Softmax(x) b = Exp(a) y = Softmax(b) }"),
                              "cpu_generic", options);
    ASSERT_EQ(plan->steps.size(), 3U);
    ASSERT_TRUE(plan->steps[1].inPlace);
    const auto found = distancesOf(*plan);
    EXPECT_EQ(found.at("b").written[0], found.at("b").read[0]);
}

/// Kernels of rows have read a row before they write it, on a processor.
TEST(MemoryUses, RowsAreWrittenWhereTheyWereRead) {
    const Graph graph = preparedGraph("(float[8,64] x) => (float[8,64] y) {"
                                      " a = Exp(x) b = Softmax(a) y = Neg(b) }");
    const auto plan = planFor(graph, "cpu_generic", {});
    ASSERT_EQ(plan->steps.size(), 3U);
    EXPECT_TRUE(plan->steps[1].inPlace);
    EXPECT_FALSE(planFor(graph, "h200", {})->steps[1].inPlace);
    // Not where another operand is read otherwise, nor where rows have results besides.
    const auto other = planFor(preparedGraph("(float[8,64] x) => (float[8,64] y) {"
                                             " a = Exp(x) t = Transpose(a) s = Softmax(a)"
                                             " m = MatMul(s, t) y = MatMul(m, a) }"),
                               "cpu_generic", {});
    for (const Step& step : other->steps)
        EXPECT_FALSE(step.inPlace && std::holds_alternative<Row>(step.program.code)) << step.name;
}

namespace {

std::string orderOf(const Plan& plan) {
    std::string out;
    for (const Step& step : plan.steps)
        out += plan.values[step.outputs[0]].name + " ";
    return out;
}

} // namespace

TEST(OrderLate, WhatMakesMoreThanItReadsWaitsForItsReader) {
    // Depth first, both tables come before the first product.
    const char* text =
        "(float[1,64] x, float[9,64,64] t, int64[1] i, int64[1] j) => (float[1,1,64] y) {"
        " u = Gather(t, i) v = Gather(t, j)"
        " a = Softmax(x) b = MatMul(a, u) c = Softmax(b) y = MatMul(c, v) }";
    const auto plan = planFor(preparedGraph(text), "cpu_generic", {});
    EXPECT_EQ(orderOf(*plan), "a u b c v y ");
    EXPECT_LT(plan->peakBytes, 2 * weights) << "one table at a time";
}

TEST(OrderLate, WhatReadsMoreThanItMakesStaysWhereItsOperandEnds) {
    const auto plan =
        planFor(preparedGraph("(float[64,64] x) => (float[64,1] y) {"
                              " a = Softmax(x) s = ReduceMax<keepdims=1, axes=[1]>(a)"
                              " b = Softmax<axis=0>(x) t = ReduceMax<keepdims=1, axes=[1]>(b)"
                              " y = Sub(s, t) }"),
                "cpu_generic", {});
    EXPECT_EQ(orderOf(*plan), "a s b t y ");
}

TEST(OrderLate, EveryStepFollowsWhatItReads) {
    for (uint32_t seed = 0; seed < 60; ++seed) {
        std::mt19937 random(seed);
        std::string text = "(float[8,8] x) => (float[8,8] y) { v0 = Softmax(x)";
        constexpr uint32_t nodes = 16;
        for (uint32_t i = 1; i < nodes; ++i) {
            const auto earlier = [&] { return "v" + std::to_string(random() % i); };
            text += " v" + std::to_string(i) + " = ";
            text += random() % 2 == 0 ? "Softmax(" + earlier() + ")"
                                      : "MatMul(" + earlier() + ", " + earlier() + ")";
        }
        text += " y = Add(" + std::string("v") + std::to_string(nodes - 1) + ", v" +
                std::to_string(random() % nodes) + ") }";
        SCOPED_TRACE(text);
        const auto plan = planFor(preparedGraph(text.c_str()), "cpu_generic", {});
        std::set<uint32_t> made(plan->inputs.begin(), plan->inputs.end());
        for (const Step& step : plan->steps) {
            for (uint32_t input : step.inputs)
                ASSERT_TRUE(made.contains(input) ||
                            plan->values[input].residence == Residence::Constant);
            made.insert(step.outputs.begin(), step.outputs.end());
        }
    }
}
