// SPDX-License-Identifier: Apache-2.0
// How long ago the memory of values was last used, from the places that a plan gave them.
#include "core/plan/memory_uses.h"
#include "plan_support.h"

#include <map>

using namespace fuselage;
using namespace fuselage::test;

namespace {

/// Distances of every step, by the name of what it makes.
std::map<std::string, planner::UseDistances> distancesOf(const Plan& plan) {
    planner::MemoryUses uses(plan);
    std::map<std::string, planner::UseDistances> out;
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
