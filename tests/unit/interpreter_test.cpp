// SPDX-License-Identifier: Apache-2.0
// interpret(): order, fused bodies, subgraphs with captures, errors that name the node.
#include "core/cpu/observe_bodies.h"
#include "core/graph/subgraph.h"
#include "core/plan/backend.h"
#include "tests/unit/passes_support.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

using namespace fuselage;
using fuselage::test::GraphMaker;

namespace {

ReferenceValue floats(Extents extents, std::vector<double> values) {
    ReferenceValue out = ReferenceValue::tensor(DType::Float32, std::move(extents));
    out.floats = std::move(values);
    return out;
}

Result<std::vector<ReferenceValue>> run(const Graph& graph, std::vector<ReferenceValue> inputs,
                                        const std::vector<ValueId>& keep = {}) {
    ThreadPool threads(1);
    Progress progress;
    return interpret(graph, std::move(inputs), threads, progress, keep);
}

/// y = Neg(x + one)
GraphMaker addThenNegate() {
    GraphMaker m;
    ValueId sum = m.node(Op::Add, {m.input("x", {2}), m.floats("one", {1}, {1})}, "sum");
    m.output(m.node(Op::Neg, {sum}, "y"));
    return m;
}

} // namespace

TEST(Interpret, RunsNodesInOrderAndReturnsKeptValues) {
    GraphMaker m = addThenNegate();
    auto out = run(m.graph, {floats({2}, {1, 5})}, {m.graph.findValue("sum")});
    ASSERT_TRUE(out) << out.error().text();
    ASSERT_EQ(out->size(), 2U);
    EXPECT_EQ((*out)[0].floats, (std::vector<double>{-2, -6}));
    EXPECT_EQ((*out)[1].floats, (std::vector<double>{2, 6}));
}

TEST(Interpret, FusedNodesRunTheirBody) {
    GraphMaker m = addThenNegate();
    std::vector<NodeId> nodes = m.graph.nodes();
    ValueId y = m.graph.findValue("y");
    replaceByFused(m.graph, nodes, cutOut(m.graph, nodes, {y}), "Both", {});
    ASSERT_EQ(m.graph.nodeCount(), 1U);
    auto out = run(m.graph, {floats({2}, {1, 5})});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ((*out)[0].floats, (std::vector<double>{-2, -6}));
}

class Watcher final : public RunObserver {
public:
    void entered(const std::string& path) override { bodies.push_back(path); }

    void computed(const std::string& path, const Graph& graph, ValueId id,
                  const ReferenceValue& value) override {
        seen[path + graph.value(id).name] = value.at(0);
    }

    std::vector<std::string> bodies;
    std::map<std::string, double> seen;
};

TEST(Interpret, BranchesReadWhatTheyCapture) {
    auto branch = [](Op op) {
        GraphMaker inner;
        inner.output(inner.node(op, {inner.graph.addCapture("x", {})}, "r"));
        return std::make_shared<Graph>(inner.graph);
    };
    GraphMaker m;
    ValueId condition = m.input("c", {}, DType::Bool);
    ValueId x = m.input("x", {1});
    ValueId y = m.node(Op::If, {condition}, "y",
                       {{"then_branch", branch(Op::Neg)}, {"else_branch", branch(Op::Abs)}});
    m.graph.appendCapturedInput(m.graph.producer(y), x);
    m.graph.appendCapturedInput(m.graph.producer(y), x);
    m.output(y);
    for (int64_t taken : {0, 1}) {
        ReferenceValue c = ReferenceValue::tensor(DType::Bool, {});
        c.ints[0] = taken;
        auto out = run(m.graph, {c, floats({1}, {3})});
        ASSERT_TRUE(out) << out.error().text();
        EXPECT_EQ((*out)[0].floats[0], taken ? -3 : 3);
        Watcher watcher;
        ThreadPool threads(1);
        Progress progress;
        ASSERT_TRUE(interpretObserved(m.graph, {c, floats({1}, {3})}, threads, progress, watcher));
        const std::string path = taken ? "y_node/then_branch/" : "y_node/else_branch/";
        EXPECT_EQ(watcher.bodies, std::vector<std::string>{path});
        EXPECT_EQ(watcher.seen.at(path + "r"), taken ? -3 : 3);
        EXPECT_EQ(watcher.seen.at("x"), 3);
        EXPECT_EQ(watcher.seen.size(), 5U) << "c, x, y and of the body x and r";
    }
}

TEST(Interpret, MissingReferenceFunctionNamesTheNode) {
    GraphMaker m;
    NodeId custom = m.graph.addNode({Op::Unknown, "blur", {m.input("x", {2})}, {"y"}});
    m.graph.edit(custom).customOp = "Blur";
    m.output(m.graph.node(custom).outputs[0]);
    auto out = run(m.graph, {floats({2}, {1, 2})});
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "reference.op");
    EXPECT_EQ(out.error().text(), "no reference function for `Blur` (node `blur`)");
}

TEST(Interpret, InputOfAnotherTypeIsRefused) {
    GraphMaker m = addThenNegate();
    auto out = run(m.graph, {ReferenceValue::ofInts({1, 2})});
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().text(), "x: the input is float[2], int64 was given");
}

TEST(Interpret, MissingInputsAreRefused) {
    GraphMaker m = addThenNegate();
    auto out = run(m.graph, {});
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "reference.inputs");
}

/// A Loop that asks for all iterations there are, of a body without nodes.
GraphMaker endless() {
    auto body = std::make_shared<Graph>("body");
    body->addInput("i", tensorType(DType::Int64, {}));
    body->addOutput(body->addInput("go", tensorType(DType::Bool, {})));
    body->addOutput(body->addInput("carried", tensorType(DType::Float32, {Dim(1)})));
    GraphMaker m;
    m.output(m.node(Op::Loop,
                    {m.scalarInt("trips", INT64_MAX), m.boolean("start", true), m.input("x", {1})},
                    "y", {{"body", body}}));
    return m;
}

TEST(Interpret, ALoopWithoutNodesCanBeCancelled) {
    GraphMaker m = endless();
    ThreadPool threads(1);
    Progress progress;
    std::thread other([&] { progress.cancel(); });
    auto out = interpret(m.graph, {floats({1}, {1})}, threads, progress);
    other.join();
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "cancelled");
}

TEST(Interpret, CancelStops) {
    GraphMaker m = addThenNegate();
    ThreadPool threads(1);
    Progress progress;
    progress.cancel();
    auto out = interpret(m.graph, {floats({2}, {1, 5})}, threads, progress);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "cancelled");
}

namespace {

Result<std::vector<ReferenceValue>> runRounded(const Graph& graph,
                                               std::vector<ReferenceValue> inputs, uint64_t seed) {
    ThreadPool threads(1);
    Progress progress;
    return interpret(graph, std::move(inputs), threads, progress, {}, seed);
}

} // namespace

TEST(Interpret, RoundingNoiseIsAFewRoundingsAndRepeats) {
    GraphMaker m;
    m.output(m.node(Op::Div, {m.input("x", {3}), m.floats("three", {1}, {3})}, "y"));
    auto exact = run(m.graph, {floats({3}, {1, 3, 2e6})});
    auto moved = runRounded(m.graph, {floats({3}, {1, 3, 2e6})}, 1);
    auto again = runRounded(m.graph, {floats({3}, {1, 3, 2e6})}, 1);
    auto other = runRounded(m.graph, {floats({3}, {1, 3, 2e6})}, 2);
    ASSERT_TRUE(exact && moved && again && other);
    const auto &want = exact->front().floats, &have = moved->front().floats;
    EXPECT_EQ(have, again->front().floats);
    EXPECT_NE(have, other->front().floats);
    EXPECT_EQ(have[1], 1) << "float32 holds it";
    for (size_t i : {0, 2}) {
        EXPECT_NE(have[i], want[i]);
        EXPECT_NEAR(have[i] / want[i], 1, 0x1p-22);
    }
}

TEST(Interpret, RoundingNoiseOfSumsIsThatOfTheLargest) {
    GraphMaker m;
    ValueId third = m.floats("w", {1, 2}, {1.0F / 3, 1e-6F / 3});
    m.output(m.node(Op::MatMul, {m.input("x", {1, 1}), third}, "y"));
    auto exact = run(m.graph, {floats({1, 1}, {7})});
    auto moved = runRounded(m.graph, {floats({1, 1}, {7})}, 1);
    ASSERT_TRUE(exact && moved);
    const double lost = std::abs(moved->front().floats[1] - exact->front().floats[1]);
    EXPECT_GT(lost, 1e-6 * 0x1p-22);
    EXPECT_LT(lost, 3 * 0x1p-22);
}
