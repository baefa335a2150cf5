// SPDX-License-Identifier: Apache-2.0
// Folding: what becomes a constant, what must not, and that names of outputs stay.
#include "core/passes/passes.h"
#include "tests/unit/passes_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using fuselage::test::GraphMaker;
using fuselage::test::L;
using fuselage::test::N;

namespace {

void prepare(GraphMaker& m) {
    Progress progress;
    auto done = prepareGraph(m.graph, progress);
    ASSERT_TRUE(done) << done.error().text();
}

/// Entry `index` of Shape(x) as a vector of one element.
ValueId dimOf(GraphMaker& m, ValueId x, int64_t index) {
    const std::string base = m.graph.freshName("dim");
    ValueId shape = m.node(Op::Shape, {x}, base + "_shape");
    return m.node(Op::Gather, {shape, m.ints(base + "_index", {index})}, base);
}

ValueId concat(GraphMaker& m, const std::vector<ValueId>& parts) {
    return m.node(Op::Concat, parts, "target", {{"axis", int64_t(0)}});
}

std::string targetOf(const GraphMaker& m, Op op, size_t slot = 1) {
    for (NodeId id : m.graph.nodes())
        if (m.graph.node(id).op == op && m.graph.isConstant(m.graph.node(id).inputs[slot]))
            return text(m.graph.value(m.graph.node(id).inputs[slot]).constant->toInts());
    return "not constant";
}

} // namespace

TEST(FoldConstants, ConstantExpressionsBecomeInitializers) {
    GraphMaker m;
    ValueId a = m.floats("a", {2}, {1, 2});
    ValueId sum = m.node(Op::Add, {a, m.floats("b", {2}, {10, 20})}, "sum");
    m.output(m.node(Op::Mul, {m.input("x", {N, 2}), sum}, "y"));
    prepare(m);
    EXPECT_EQ(m.graph.nodeCount(), 1U);
    const Node& mul = m.graph.node(m.graph.nodes()[0]);
    ASSERT_TRUE(m.graph.isConstant(mul.inputs[1]));
    EXPECT_EQ(m.graph.value(mul.inputs[1]).constant->at(1), 22);
}

TEST(FoldConstants, WhatOnlyMovesIsMadeOnceForAllThatAsk) {
    GraphMaker m;
    ValueId x = m.input("x", {3});
    ValueId w = m.floats("w", {2, 3}, {1, 2, 3, 4, 5, 6});
    const TensorPtr weights = m.graph.value(w).constant;
    const Attributes::Entry perm{"perm", std::vector<int64_t>{1, 0}};
    m.output(m.node(Op::MatMul, {x, m.node(Op::Transpose, {w}, "a", {perm})}, "y"));
    m.output(m.node(Op::MatMul, {x, m.node(Op::Transpose, {w}, "b", {perm})}, "z"));
    m.output(m.node(Op::Reshape, {w, m.ints("target", {3, 2})}, "v"));
    prepare(m);
    std::vector<TensorPtr> moved;
    for (NodeId id : m.graph.nodes())
        moved.push_back(m.graph.value(m.graph.node(id).inputs[1]).constant);
    ASSERT_EQ(moved.size(), 2U); // of the products
    ASSERT_TRUE(moved[0]);
    EXPECT_EQ(moved[0], moved[1]);
    EXPECT_EQ(text(moved[0]->extents()), "[3,2]");
    EXPECT_EQ(moved[0]->at(1), 4);
    const TensorPtr view = m.graph.value(m.graph.findValue("v")).constant;
    ASSERT_TRUE(view);
    EXPECT_EQ(view->bytes(), weights->bytes()); // no copy
}

TEST(FoldConstants, RandomNumbersAreNotFolded) {
    GraphMaker m;
    ValueId noise = m.node(Op::RandomUniformLike, {m.floats("a", {2}, {1, 2})}, "noise");
    m.output(m.node(Op::Add, {m.input("x", {2}), noise}, "y"));
    prepare(m);
    EXPECT_EQ(m.count(Op::RandomUniformLike), 1U);
}

TEST(FoldConstants, OneSymbolicEntryOfAReshapeBecomesMinusOne) {
    GraphMaker m;
    ValueId x = m.input("x", {N, 197, 768});
    ValueId target = concat(m, {dimOf(m, x, 0), m.ints("rest", {197, 12, 64})});
    m.output(m.node(Op::Reshape, {x, target}, "y"));
    prepare(m);
    EXPECT_EQ(m.graph.nodeCount(), 1U);
    EXPECT_EQ(targetOf(m, Op::Reshape), "[-1,197,12,64]");
}

TEST(FoldConstants, SeveralSymbolicEntriesOfAReshapeAreCopied) {
    GraphMaker m;
    ValueId x = m.input("x", {N, L, 768});
    ValueId target = concat(m, {dimOf(m, x, 0), dimOf(m, x, 1), m.ints("rest", {12, 64})});
    m.output(m.node(Op::Reshape, {x, target}, "y"));
    prepare(m);
    EXPECT_EQ(m.graph.nodeCount(), 1U);
    EXPECT_EQ(targetOf(m, Op::Reshape), "[0,0,12,64]");
    EXPECT_EQ(m.typeOf("y"), "float[N,L,12,64]");
}

TEST(FoldConstants, UndecidedReshapeStaysAsItIs) {
    GraphMaker m;
    ValueId x = m.input("x", {N, L});
    ValueId target = concat(m, {dimOf(m, x, 1), dimOf(m, x, 0)});
    m.output(m.node(Op::Reshape, {x, target}, "y"));
    prepare(m);
    EXPECT_EQ(targetOf(m, Op::Reshape), "not constant");
}

TEST(FoldConstants, SliceToTheEndOfASymbolicDimensionDisappears) {
    GraphMaker m;
    ValueId x = m.input("x", {N, L, 8});
    ValueId all =
        m.node(Op::Slice, {x, m.ints("starts", {0}), dimOf(m, x, 1), m.ints("axes", {1})}, "all");
    m.output(m.node(Op::Relu, {all}, "y"));
    prepare(m);
    EXPECT_EQ(m.graph.nodeCount(), 1U);
}

TEST(FoldConstants, SliceFromAnIndexKeepsItsConstantEnd) {
    GraphMaker m;
    ValueId x = m.input("x", {N, L, 8});
    m.output(
        m.node(Op::Slice, {x, m.ints("starts", {1}), dimOf(m, x, 1), m.ints("axes", {1})}, "y"));
    prepare(m);
    EXPECT_EQ(m.graph.nodeCount(), 1U);
    EXPECT_EQ(targetOf(m, Op::Slice, 2), text(Extents{INT64_MAX}));
}

TEST(FoldConstants, TransposeWithEqualExtentsIsNoIdentity) {
    GraphMaker m;
    m.output(
        m.node(Op::Transpose, {m.input("x", {4, 4})}, "y", {{"perm", std::vector<int64_t>{1, 0}}}));
    prepare(m);
    EXPECT_EQ(m.count(Op::Transpose), 1U);
}

TEST(FoldConstants, IdentityBeforeAnOutputKeepsTheOutputsName) {
    GraphMaker m;
    ValueId r = m.node(Op::Relu, {m.input("x", {N})}, "r");
    m.output(m.node(Op::Identity, {r}, "wanted"));
    prepare(m);
    EXPECT_EQ(m.graph.nodeCount(), 1U);
    EXPECT_EQ(m.graph.value(m.graph.outputs()[0]).name, "wanted");
}

TEST(FoldConstants, IdentityFromInputToOutputStays) {
    GraphMaker m;
    m.output(m.node(Op::Identity, {m.input("x", {N})}, "y"));
    prepare(m);
    EXPECT_EQ(m.count(Op::Identity), 1U);
}

TEST(FoldConstants, ConstantsSharedThroughIdentityAreReadDirectly) {
    GraphMaker m;
    ValueId weight = m.floats("w", {2}, {3, 4});
    ValueId copy = m.node(Op::Identity, {weight}, "copy");
    m.output(m.node(Op::Mul, {m.input("x", {N, 2}), copy}, "y"));
    prepare(m);
    EXPECT_EQ(m.graph.node(m.graph.nodes()[0]).inputs[1], weight);
}

TEST(FoldConstants, LargeFillsAreNotWrittenDown) {
    GraphMaker m;
    ValueId big = m.node(Op::ConstantOfShape, {m.ints("shape", {1024, 1024})}, "big");
    m.output(m.node(Op::Add, {m.input("x", {1024, 1024}), big}, "y"));
    prepare(m);
    EXPECT_EQ(m.count(Op::ConstantOfShape), 1U);
}

TEST(FoldConstants, ResultsAboveTheLimitAreNotMaterialised) {
    GraphMaker m;
    ValueId a = m.floats("a", {4}, {1, 2, 3, 4});
    m.output(m.node(Op::Mul, {m.input("x", {4}), m.node(Op::Neg, {a}, "n")}, "y"));
    Progress progress;
    auto removed = foldConstants(m.graph, {.maxBytes = 8}, progress);
    ASSERT_TRUE(removed);
    EXPECT_EQ(*removed, 0U);
}

TEST(FoldConstants, QuantisedWeightsStayQuantised) {
    GraphMaker m;
    auto data = std::make_shared<Tensor>(DType::Int8, Extents{4});
    ValueId w = m.graph.addConstant("w", data);
    ValueId wide = m.node(Op::DequantizeLinear, {w, m.floats("scale", {}, {0.5F})}, "wide");
    m.output(m.node(Op::Mul, {m.input("x", {4}), wide}, "y"));
    Progress progress;
    ASSERT_TRUE(foldConstants(m.graph, {}, progress));
    EXPECT_EQ(m.count(Op::DequantizeLinear), 1U);
}

TEST(FoldConstants, InferenceDropoutDisappears) {
    GraphMaker m;
    ValueId x = m.input("x", {N});
    ValueId ratio = m.floats("ratio", {}, {0.5F});
    ValueId dropped = m.node(Op::Dropout, {x, ratio, m.boolean("training", false)}, "d");
    m.output(m.node(Op::Relu, {dropped}, "y"));
    prepare(m);
    EXPECT_EQ(m.graph.nodeCount(), 1U);
}

TEST(FoldConstants, TrainingDropoutStays) {
    GraphMaker m;
    ValueId x = m.input("x", {N});
    ValueId ratio = m.floats("ratio", {}, {0.5F});
    m.output(m.node(Op::Dropout, {x, ratio, m.boolean("training", true)}, "y"));
    prepare(m);
    EXPECT_EQ(m.count(Op::Dropout), 1U);
}

TEST(FoldConstants, KnownBranchIsInlinedUnderTheOutputsName) {
    auto branch = [](Op op) {
        GraphMaker inner;
        ValueId seen = inner.graph.addCapture("x", {});
        inner.output(inner.node(op, {seen}, "r"));
        return std::make_shared<Graph>(inner.graph);
    };
    GraphMaker m;
    ValueId x = m.input("x", {N, 3});
    ValueId y = m.node(Op::If, {m.boolean("c", false)}, "y",
                       {{"then_branch", branch(Op::Relu)}, {"else_branch", branch(Op::Neg)}});
    m.graph.appendCapturedInput(m.graph.producer(y), x);
    m.graph.appendCapturedInput(m.graph.producer(y), x);
    m.output(y);
    prepare(m);
    ASSERT_EQ(m.graph.nodeCount(), 1U);
    EXPECT_EQ(m.count(Op::Neg), 1U);
    EXPECT_EQ(m.graph.value(m.graph.outputs()[0]).name, "y");
    EXPECT_EQ(m.typeOf("y"), "float[N,3]");
}

TEST(FoldConstants, FlattenedSoftmaxOverOneDimensionIsASoftmax) {
    GraphMaker m;
    ValueId x = m.input("x", {N, 12, L, L});
    ValueId flat = m.node(Op::Flatten, {x}, "flat", {{"axis", int64_t(3)}});
    ValueId rows = m.node(Op::Softmax, {flat}, "rows", {{"axis", int64_t(-1)}});
    m.output(m.node(Op::Reshape, {rows, m.node(Op::Shape, {x}, "shape")}, "y"));
    prepare(m);
    ASSERT_EQ(m.graph.nodeCount(), 1U);
    const Node& softmax = m.graph.node(m.graph.nodes()[0]);
    EXPECT_EQ(softmax.op, Op::Softmax);
    EXPECT_EQ(softmax.attributes.integer("axis"), -1);
}

TEST(FoldConstants, FlattenedSoftmaxOverTwoDimensionsStays) {
    GraphMaker m;
    ValueId x = m.input("x", {N, 4, 4});
    ValueId flat = m.node(Op::Flatten, {x}, "flat", {{"axis", int64_t(1)}});
    ValueId rows = m.node(Op::Softmax, {flat}, "rows", {{"axis", int64_t(-1)}});
    m.output(m.node(Op::Reshape, {rows, m.node(Op::Shape, {x}, "shape")}, "y"));
    prepare(m);
    EXPECT_EQ(m.count(Op::Flatten), 1U);
}

TEST(FoldConstants, CancellingStops) {
    GraphMaker m;
    m.output(m.node(Op::Relu, {m.input("x", {N})}, "y"));
    Progress progress;
    progress.cancel();
    auto removed = foldConstants(m.graph, {}, progress);
    ASSERT_FALSE(removed);
    EXPECT_EQ(removed.error().code, "cancelled");
}

TEST(PrepareGraph, ContradictionNamesTheNode) {
    GraphMaker m;
    m.output(m.node(Op::Add, {m.input("a", {2}), m.input("b", {3})}, "y"));
    Progress progress;
    auto done = prepareGraph(m.graph, progress);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "infer.contradiction");
    EXPECT_EQ(done.error().where, "y_node");
}

TEST(PrepareGraph, ManyNodesThatShareOneConstantTakeLinearTime) {
    GraphMaker m;
    ValueId one = m.floats("one", {1}, {1});
    ValueId last = m.input("x", {N});
    for (int i = 0; i < 50000; ++i)
        last = m.node(Op::Identity, {m.node(Op::Add, {last, one}, "a")}, "b");
    m.output(last);
    prepare(m);
    EXPECT_EQ(m.graph.nodeCount(), 50000U);
}
