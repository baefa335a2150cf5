// SPDX-License-Identifier: Apache-2.0
// Graph: producers and uses stay consistent under every edit.
#include "core/graph/graph.h"
#include "core/support/memory.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

/// x -> Relu -> a -> Neg -> y
struct Chain {
    Graph graph;
    ValueId x = graph.addInput("x", tensorType(DType::Float32, {2, 3}));
    NodeId relu = graph.addNode({Op::Relu, "relu", {x}, {"a"}});
    ValueId a = graph.node(relu).outputs[0];
    NodeId neg = graph.addNode({Op::Neg, "neg", {a}, {"y"}});
    ValueId y = graph.node(neg).outputs[0];

    Chain() { graph.addOutput(y); }
};

} // namespace

TEST(Graph, ReplaceUsesMovesReadersAndOutputs) {
    Chain c;
    c.graph.replaceUses(c.y, c.a);
    EXPECT_EQ(c.graph.outputs()[0], c.a);
    EXPECT_EQ(c.graph.removeDead(), 1U);
    EXPECT_FALSE(c.graph.alive(c.neg));
    EXPECT_TRUE(c.graph.value(c.a).uses.empty());
}

TEST(Graph, TakeNameKeepsOutputNames) {
    Chain c;
    NodeId abs = c.graph.addNode({Op::Abs, "", {c.a}, {"z"}});
    ValueId z = c.graph.node(abs).outputs[0];
    c.graph.replaceUses(c.y, z);
    c.graph.takeName(z, c.y);
    EXPECT_EQ(c.graph.value(z).name, "y");
    EXPECT_EQ(c.graph.findValue("y"), z);
    EXPECT_NE(c.graph.value(c.y).name, "y");
}

TEST(Graph, NamesAreMadeUnique) {
    Chain c;
    NodeId second = c.graph.addNode({Op::Relu, "relu", {c.x}, {"a"}});
    EXPECT_EQ(c.graph.node(second).name, "relu_1");
    EXPECT_EQ(c.graph.value(c.graph.node(second).outputs[0]).name, "a_1");
}

TEST(Graph, OrderDependsOnStructureOnly) {
    Graph g;
    ValueId x = g.addInput("x", tensorType(DType::Float32, {1}));
    NodeId late = g.addNode({Op::Add, "late", {x, ValueId()}, {"y"}});
    NodeId early = g.addNode({Op::Relu, "early", {x}, {"r"}});
    g.setInput(late, 1, g.node(early).outputs[0]);
    g.addOutput(g.node(late).outputs[0]);
    EXPECT_EQ(topologicalOrder(g), (std::vector<NodeId>{early, late}));
}

TEST(Graph, NodesOnACycleAreLeftOutOfTheOrder) {
    Chain c;
    c.graph.setInput(c.relu, 0, c.y);
    EXPECT_LT(topologicalOrder(c.graph).size(), c.graph.nodeCount());
}

TEST(Graph, MoveOutputKeepsNameAndReaders) {
    Chain c;
    NodeId abs = c.graph.addNode({Op::Abs, "", {c.x}, {"fresh"}});
    c.graph.moveOutput(c.a, abs, 0);
    EXPECT_EQ(c.graph.producer(c.a), abs);
    EXPECT_EQ(c.graph.value(c.a).name, "a");
    EXPECT_FALSE(c.graph.findValue("fresh").valid());
    EXPECT_FALSE(c.graph.node(c.relu).outputs[0].valid());
    EXPECT_EQ(c.graph.node(c.neg).inputs[0], c.a);
}

// Large tensors are not touched before they are filled: the system counts none of them by then.
TEST(Memory, WhatIsHeldIsNotFree) {
    constexpr int64_t large = int64_t(256) << 20;
    ASSERT_TRUE(fitsInMemory(large));
    {
        const HeldMemory others(machineMemory() - large - large / 2);
        EXPECT_TRUE(fitsInMemory(large));
        const Tensor one(DType::Float32, {large / 4});
        EXPECT_FALSE(fitsInMemory(large));
        EXPECT_TRUE(fitsInMemory(int64_t(1) << 20));
    }
    EXPECT_TRUE(fitsInMemory(large));
}
