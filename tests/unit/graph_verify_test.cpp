// SPDX-License-Identifier: Apache-2.0
// verify() finds what must never be in a graph.
#include "core/graph/verify.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

struct Pair {
    Graph graph;
    ValueId x = graph.addInput("x", tensorType(DType::Float32, {1}));
    NodeId relu = graph.addNode({Op::Relu, "relu", {x}, {"a"}});
    NodeId neg = graph.addNode({Op::Neg, "neg", {graph.node(relu).outputs[0]}, {"y"}});

    Pair() { graph.addOutput(graph.node(neg).outputs[0]); }

    std::string code() const {
        auto ok = verify(graph);
        return ok ? "" : ok.error().code;
    }
};

} // namespace

TEST(Verify, AcceptsAGoodGraph) {
    EXPECT_EQ(Pair().code(), "");
}

TEST(Verify, FindsCycles) {
    Pair pair;
    pair.graph.setInput(pair.relu, 0, pair.graph.node(pair.neg).outputs[0]);
    EXPECT_EQ(pair.code(), "graph.cycle");
}

TEST(Verify, FindsUnrecordedReads) {
    Pair pair;
    pair.graph.edit(pair.neg).inputs[0] = pair.x;
    EXPECT_EQ(pair.code(), "graph.uses");
}

TEST(Verify, FindsValuesThatNothingMakes) {
    Pair pair;
    pair.graph.removeInput(0);
    EXPECT_EQ(pair.code(), "graph.undefined");
}

TEST(Verify, FindsSubgraphsWithUnboundCaptures) {
    Pair pair;
    auto body = std::make_shared<Graph>("body");
    ValueId captured = body->addCapture("x", tensorType(DType::Float32, {1}));
    body->addOutput(body->node(body->addNode({Op::Abs, "", {captured}, {"b"}})).outputs[0]);
    pair.graph.edit(pair.neg).attributes.set("then_branch", body);
    EXPECT_EQ(pair.code(), "graph.captures");
    pair.graph.appendCapturedInput(pair.neg, pair.x);
    EXPECT_EQ(pair.code(), "");
}

TEST(Verify, FindsFusedNodesWithoutBody) {
    Pair pair;
    pair.graph.edit(pair.neg).op = Op::Fused;
    EXPECT_EQ(pair.code(), "graph.body");
}

TEST(Verify, FindsWhatIsNoOperator) {
    Pair pair;
    pair.graph.edit(pair.neg).op = Op::Count_;
    EXPECT_EQ(pair.code(), "graph.operator");
}

TEST(Verify, FindsValuesThatWereNeverAdded) {
    Pair pair;
    pair.graph.addNode({Op::Relu, "far", {ValueId(999)}, {"z"}});
    EXPECT_EQ(pair.code(), "graph.undefined");
}

TEST(Verify, FindsConstantsWithoutData) {
    Pair pair;
    const ValueId none = pair.graph.addConstant("k", nullptr);
    pair.graph.addNode({Op::Add, "sum", {pair.x, none}, {"z"}});
    EXPECT_EQ(pair.code(), "graph.undefined");
}

TEST(Verify, FindsNegativeDimensions) {
    Pair pair;
    pair.graph.setType(pair.x, tensorType(DType::Float32, {2, -3}));
    EXPECT_EQ(pair.code(), "graph.shape");
}
