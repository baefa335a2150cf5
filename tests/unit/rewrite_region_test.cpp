// SPDX-License-Identifier: Apache-2.0
// Regions and convexity against brute force on random graphs, and regions as chain steps.
#include "tests/unit/rewrite_builder.h"

#include <random>
#include <set>

using namespace fuselage;
using namespace fuselage::test;

namespace {

/// A random graph of pointwise nodes with an opaque MatMul here and there.
Graph randomGraph(std::mt19937& random, int size) {
    Graph graph;
    Type type = tensorType(DType::Float32, {4, 4});
    std::vector<ValueId> values{graph.addInput("x", type), graph.addInput("z", type)};
    auto pick = [&] {
        size_t recent = std::min<size_t>(values.size(), 5);
        return values[values.size() - 1 - random() % recent];
    };
    for (int i = 0; i < size; ++i) {
        int kind = static_cast<int>(random() % 8);
        Op op = kind == 0 ? Op::MatMul : kind < 4 ? Op::Add : Op::Relu;
        std::vector<ValueId> inputs{pick()};
        if (op != Op::Relu)
            inputs.push_back(pick());
        NodeId node =
            graph.addNode({op, "n" + std::to_string(i), inputs, {"v" + std::to_string(i)}});
        values.push_back(graph.node(node).outputs[0]);
        graph.setType(values.back(), type);
    }
    for (size_t i = 2; i < values.size(); ++i)
        if (graph.value(values[i]).uses.empty())
            graph.addOutput(values[i]);
    return graph;
}

/// reach[a] holds all nodes that some path from a leads to.
std::map<NodeId, std::set<NodeId>> reachOf(const Graph& graph) {
    std::map<NodeId, std::set<NodeId>> reach;
    std::vector<NodeId> order = topologicalOrder(graph);
    for (auto it = order.rbegin(); it != order.rend(); ++it)
        for (ValueId output : graph.node(*it).outputs)
            for (const Use& use : graph.value(output).uses) {
                reach[*it].insert(use.node);
                reach[*it].insert(reach[use.node].begin(), reach[use.node].end());
            }
    return reach;
}

bool convexByForce(const Graph& graph, const std::map<NodeId, std::set<NodeId>>& reach,
                   const std::set<NodeId>& set) {
    for (NodeId middle : graph.nodes()) {
        if (set.contains(middle))
            continue;
        bool below = false;
        bool above = false;
        for (NodeId node : set) {
            below = below || (reach.contains(node) && reach.at(node).contains(middle));
            above = above || (reach.contains(middle) && reach.at(middle).contains(node));
        }
        if (below && above)
            return false;
    }
    return true;
}

std::vector<ValueId> liveOutputs(const Graph& graph, const std::set<NodeId>& set) {
    std::vector<ValueId> out;
    for (NodeId node : set)
        for (ValueId output : graph.node(node).outputs) {
            bool live = graph.isGraphOutput(output);
            for (const Use& use : graph.value(output).uses)
                live = live || !set.contains(use.node);
            if (live)
                out.push_back(output);
        }
    return out;
}

RuleBuilder regionRule(uint32_t least, uint32_t most, uint32_t outputs) {
    RuleBuilder b("Region");
    b.define({"y"}, b.region({Op::Add, Op::Relu}, least, most, outputs));
    return b;
}

} // namespace

TEST(Convexity, AgreesWithBruteForce) {
    std::mt19937 random(1);
    int convex = 0;
    int notConvex = 0;
    for (int round = 0; round < 150; ++round) {
        Graph graph = randomGraph(random, 12);
        Convexity convexity(graph);
        auto reach = reachOf(graph);
        for (int i = 0; i < 20; ++i) {
            std::set<NodeId> set;
            for (NodeId node : graph.nodes())
                if (random() % 3 == 0)
                    set.insert(node);
            if (set.empty())
                continue;
            std::vector<NodeId> nodes(set.begin(), set.end());
            bool expected = convexByForce(graph, reach, set);
            (expected ? convex : notConvex)++;
            std::vector<NodeId> path = convexity.cycleOf(nodes, liveOutputs(graph, set));
            ASSERT_EQ(path.empty(), expected);
            if (path.empty())
                continue;
            EXPECT_TRUE(set.contains(path.back()));
            EXPECT_FALSE(set.contains(path.front()));
        }
    }
    EXPECT_GT(convex, 100);
    EXPECT_GT(notConvex, 100);
}

TEST(Convexity, StaysRightWhileNodesAreFused) {
    std::mt19937 random(2);
    for (int round = 0; round < 60; ++round) {
        Graph graph = randomGraph(random, 20);
        Rewritten out = run(graph, {regionRule(2, 4, 2).rule});
        EXPECT_EQ(topologicalOrder(out.graph).size(), out.graph.nodeCount()) << "no cycle";
    }
}

TEST(Region, IsConvexMaximalAndWithinItsOutputs) {
    std::mt19937 random(3);
    size_t found = 0;
    for (int round = 0; round < 100; ++round) {
        Graph graph = randomGraph(random, 16);
        auto reach = reachOf(graph);
        uint32_t outputs = 1 + static_cast<uint32_t>(random() % 3);
        RuleBuilder b = regionRule(2, 64, outputs);
        MatchResult result = matchesOf(graph, b.rule);
        std::set<NodeId> claimed;
        for (const Match& match : result.matches) {
            ++found;
            std::set<NodeId> set(match.nodes.begin(), match.nodes.end());
            for (NodeId node : set) {
                EXPECT_NE(graph.node(node).op, Op::MatMul);
                EXPECT_FALSE(claimed.contains(node)) << "regions of one rule are disjoint";
            }
            EXPECT_TRUE(convexByForce(graph, reach, set));
            EXPECT_LE(liveOutputs(graph, set).size(), outputs);
            // No single neighbour could still join.
            for (NodeId node : set)
                for (ValueId input : graph.node(node).inputs) {
                    NodeId maker = graph.producer(input);
                    if (!maker.valid() || set.contains(maker) || claimed.contains(maker) ||
                        graph.node(maker).op == Op::MatMul)
                        continue;
                    std::set<NodeId> larger = set;
                    larger.insert(maker);
                    EXPECT_FALSE(convexByForce(graph, reach, larger) &&
                                 liveOutputs(graph, larger).size() <= outputs);
                }
            claimed.insert(set.begin(), set.end());
        }
    }
    EXPECT_GT(found, 100U);
}

TEST(Region, WhatIsLeftAfterAnotherRuleIsStillFused) {
    RuleBuilder pair("Pair", 5);
    pair.define({"y"}, pair.pipe(pair.node(Op::MatMul, {pair.value("x"), pair.value("w")}),
                                 pair.step(Op::Relu)));
    Graph graph = graphOf("g (float[4,4] x, float[4,4] w) => (float[4,4] y)"
                          "{ m = MatMul(x, w) a = Relu(m) b = Relu(a) c = Add(b, b) y = Relu(c) }");
    Rule rest = regionRule(2, 8, 1).rule;
    rest.priority = -1;
    Rewritten out = run(graph, {pair.rule, rest});
    auto counts = opCounts(out.graph);
    EXPECT_EQ(counts["Pair"], 1);
    EXPECT_EQ(counts["Region"], 1);
    EXPECT_EQ(out.graph.nodeCount(), 2U);
}

TEST(Region, LongChainIsCutInPiecesOfTheLargestSize) {
    std::string body;
    std::string last = "x";
    for (int i = 0; i < 20; ++i) {
        body += "r" + std::to_string(i) + " = Relu(" + last + ") ";
        last = "r" + std::to_string(i);
    }
    Graph graph = graphOf("g (float[4] x) => (float[4] r19) { " + body + "}");
    Rewritten out = run(graph, {regionRule(2, 8, 1).rule});
    EXPECT_EQ(out.graph.nodeCount(), 3U);
}

TEST(Region, ChainStepGrowsBackToItsSource) {
    RuleBuilder b("Epilogue");
    TermId product = b.node(Op::MatMul, {b.value("x"), b.value("w")});
    b.define({"y"}, b.pipe(product, b.region({Op::Add, Op::Relu}, 1, 8)));
    Graph graph = graphOf("g (float[4,4] x, float[4,4] w, float[4] v) => (float[4,4] y)"
                          "{ m = MatMul(x, w) a = Add(v, m) r = Relu(a) y = Neg(r) }");
    MatchResult found = matchesOf(graph, b.rule);
    size_t largest = 0;
    for (const Match& match : found.matches)
        largest = std::max(largest, match.nodes.size());
    EXPECT_EQ(largest, 3U);
}
