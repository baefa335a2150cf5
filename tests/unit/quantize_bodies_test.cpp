// SPDX-License-Identifier: Apache-2.0
// Pairs in bodies of If, Loop and Scan: where rules ask for them, with ranges of the runs that
// enter the body, in files that load again.
#include "app/quantize/calibrate.h"
#include "core/graph/bodies.h"
#include "core/graph/verify.h"
#include "tests/unit/quantize_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using namespace fuselage::quantize;
using namespace fuselage::testing_quantize;

namespace {

/// A loop of three rounds whose weight is outside of it.
constexpr const char* looped = R"(
g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {0.5, -0.25, 0.125, 0.5}> {
   n = Constant<value = int64 {3}>()
   go = Constant<value = bool {1}>()
   y = Loop (n, go, x) <
      body = b (int64 i, bool c, float[2,2] v) => (bool next, float[2,2] r) {
         next = Identity(c)
         m = MatMul(v, w)
         r = Relu(m)
      }>
})";

/// Both branches multiply; which one runs depends on the sum.
std::string branching(const std::string& limit) {
    return "g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {0.5, -0.25, 0.125, 0.5}, float l = "
           "{" +
           limit +
           "}> { s = ReduceSum<keepdims = 0>(x) c = Greater(s, l) y = If (c) <then_branch = t () "
           "=> "
           "(float[2,2] r) { m = MatMul(x, w) r = Relu(m) }, else_branch = e () => (float[2,2] q) "
           "{ "
           "o = MatMul(x, w) q = Sigmoid(o) }> }";
}

std::map<std::string, int> inBodies(const Graph& graph) {
    std::map<std::string, int> out;
    for (const BodyPlace& body : bodiesOf(graph))
        for (NodeId id : body.graph->nodes())
            ++out[opText(body.graph->node(id))];
    return out;
}

} // namespace

TEST(QuantizeBodies, ALoopGetsPairsWithTheRangeOfAllItsRounds) {
    auto done = quantised(modelOf(looped), optionsOf());
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_TRUE(verify(done->graph));
    ASSERT_EQ(done->plan.pairs.size(), 2U);
    EXPECT_NE(done->plan.pairs[0].node.find("/body/"), std::string::npos);
    auto found = inBodies(done->graph);
    EXPECT_EQ(found["QuantizeLinear"], 1);
    EXPECT_EQ(found["DequantizeLinear"], 2);
    EXPECT_EQ(operatorsOf(done->graph)["DequantizeLinear"], 0);
    ASSERT_EQ(done->errors.size(), 1U);
    EXPECT_GT(done->errors[0].relative, 0);
    EXPECT_LT(done->errors[0].relative, 0.05);
    const int64_t weight = 16; // in float
    EXPECT_LT(done->bytesAfter, done->bytesBefore + weight) << "it is gone";
}

TEST(QuantizeBodies, TheFileLoadsWithoutTheFloatWeightAndItsPlanReplays) {
    const app::LoadedModel model = modelOf(looped);
    auto first = quantised(model, optionsOf());
    ASSERT_TRUE(first) << first.error().text();
    auto bytes = model_io::toBytes(first->graph);
    ASSERT_TRUE(bytes) << bytes.error().text();
    auto again = model_io::loadBytes(*bytes, "", {});
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(inBodies(*again), inBodies(first->graph));
    for (ValueId id : again->values())
        EXPECT_FALSE(again->isConstant(id) && again->value(id).name == "w");
    auto plan = parsePairPlan(planText(first->plan));
    ASSERT_TRUE(plan) << plan.error().text();
    QuantizeOptions options = optionsOf();
    options.plan = *plan;
    auto second = quantised(model, options);
    ASSERT_TRUE(second) << second.error().text();
    EXPECT_EQ(planText(second->plan), planText(first->plan));
    EXPECT_EQ(inBodies(second->graph), inBodies(first->graph));
    options.plan->pairs[0].node = "Loop_1/body/nobody";
    auto lost = quantised(model, options);
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, "plan.node");
}

TEST(QuantizeBodies, ABranchThatNoInputTakesStaysFloat) {
    for (const bool taken : {true, false}) {
        auto done = quantised(modelOf(branching(taken ? "-1000000" : "1000000")), optionsOf());
        ASSERT_TRUE(done) << done.error().text();
        ASSERT_EQ(done->plan.pairs.size(), 2U);
        const std::string entered = taken ? "/then_branch/" : "/else_branch/";
        for (const Pair& pair : done->plan.pairs)
            EXPECT_NE(pair.node.find(entered), std::string::npos) << pair.node;
        size_t left = 0;
        for (const LeftOut& out : done->leftOut)
            left += out.why == "no set of inputs enters the body that it is in" ? 1 : 0;
        EXPECT_EQ(left, 2U);
    }
}

TEST(QuantizeBodies, NodesInThemAreLeftOutByTheirPaths) {
    const app::LoadedModel model = modelOf(looped);
    auto all = quantised(model, optionsOf());
    ASSERT_TRUE(all) << all.error().text();
    QuantizeOptions options = optionsOf();
    options.keepFloat = {all->plan.pairs[0].node};
    auto none = quantised(model, options);
    ASSERT_FALSE(none) << "nothing else is quantised";
    EXPECT_EQ(none.error().code, "quantize.nothing");
    options.keepFloat = {"nobody"};
    auto unknown = quantised(model, options);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, "usage.node");
}

TEST(QuantizeBodies, AWeightThatOthersReadStaysInTheFile) {
    const app::LoadedModel model = modelOf(
        "g (bool c, float[2,2] x) => (float[2,2] y, float[2,2] z) <float[2,2] w = {1, 2, 3, "
        "4}> { z = Add(x, w) y = If (c) <then_branch = t () => (float[2,2] r) { r = "
        "MatMul(x, w) }, else_branch = e () => (float[2,2] q) { q = MatMul(x, w) }> }");
    auto done = quantised(model, optionsOf());
    ASSERT_TRUE(done) << done.error().text();
    auto bytes = model_io::toBytes(done->graph);
    ASSERT_TRUE(bytes);
    auto again = model_io::loadBytes(*bytes, "", {});
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_TRUE(again->isConstant(again->findValue("w"))) << "the sum adds it in float";
}
