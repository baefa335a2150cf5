// SPDX-License-Identifier: Apache-2.0
// Shape inference: types, symbols, contents of shape arithmetic, subgraphs and fused bodies.
#include "core/graph/subgraph.h"
#include "core/passes/passes.h"
#include "tests/unit/passes_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using fuselage::test::GraphMaker;
using fuselage::test::L;
using fuselage::test::N;

namespace {

/// y = Reshape(x, [Shape(x)[0], 12, -1])
GraphMaker reshapeByBatch() {
    GraphMaker m;
    ValueId x = m.input("x", {N, 24});
    ValueId shape = m.node(Op::Shape, {x}, "shape");
    ValueId batch = m.node(Op::Gather, {shape, m.scalarInt("zero", 0)}, "batch");
    ValueId first = m.node(Op::Unsqueeze, {batch, m.ints("axes", {0})}, "first");
    ValueId target = m.node(Op::Concat, {first, m.ints("rest", {12, -1})}, "target", {{"axis", 0}});
    m.output(m.node(Op::Reshape, {x, target}, "y"));
    return m;
}

} // namespace

TEST(InferShapes, UnknownInputDimensionsGetNames) {
    GraphMaker m;
    ValueId x = m.input("x", {Dim(), -1, 3});
    m.output(m.node(Op::Relu, {x}, "y"));
    EXPECT_TRUE(inferShapes(m.graph).empty());
    EXPECT_EQ(m.typeOf("y"), "float[x.0,x.1,3]");
}

TEST(InferShapes, ShapeArithmeticKeepsSymbols) {
    GraphMaker m = reshapeByBatch();
    EXPECT_TRUE(inferShapes(m.graph).empty());
    EXPECT_EQ(m.contentsOf("target"), "[N,12,-1]");
    EXPECT_EQ(m.typeOf("y"), "float[N,12,2]");
}

TEST(InferShapes, ArithmeticOnDimensionsIsExact) {
    GraphMaker m;
    ValueId shape = m.node(Op::Shape, {m.input("x", {N, L, 8})}, "shape");
    ValueId scaled = m.node(Op::Mul, {shape, m.ints("two", {2})}, "scaled");
    ValueId half = m.node(Op::Div, {scaled, m.ints("four", {4})}, "half");
    ValueId isOpen = m.node(Op::Equal, {shape, m.ints("minus", {-1, -1, 8})}, "isOpen");
    m.output(m.node(Op::Where, {isOpen, m.ints("ones", {1, 1, 1}), half}, "chosen"));
    inferShapes(m.graph);
    EXPECT_EQ(m.contentsOf("scaled"), "[2*N,2*L,16]");
    EXPECT_EQ(m.contentsOf("isOpen"), "[0,0,1]") << "an extent is never -1";
    EXPECT_EQ(m.contentsOf("chosen"), "[floor((2*N)/4),floor((2*L)/4),1]");
}

TEST(InferShapes, NumbersThroughFloatsAreEvaluated) {
    GraphMaker m;
    ValueId shape = m.node(Op::Shape, {m.input("x", {5, 7})}, "shape");
    ValueId real = m.node(Op::Cast, {shape}, "real", {{"to", int64_t(1)}});
    ValueId scaled = m.node(Op::Mul, {real, m.floats("factor", {1}, {2.5F})}, "scaled");
    ValueId low = m.node(Op::Floor, {scaled}, "low");
    ValueId sizes = m.node(Op::Cast, {low}, "sizes", {{"to", int64_t(7)}});
    m.output(m.node(Op::ConstantOfShape, {sizes}, "y"));
    inferShapes(m.graph);
    EXPECT_EQ(m.contentsOf("sizes"), "[12,17]");
    EXPECT_EQ(m.typeOf("y"), "float[12,17]");
}

TEST(InferShapes, DeclaredTypeStaysWhereNothingIsInferred) {
    GraphMaker m;
    ValueId x = m.input("x", {N});
    NodeId custom = m.graph.addNode({Op::Unknown, "custom", {x}, {"y"}});
    m.graph.setType(m.graph.node(custom).outputs[0], tensorType(DType::Float32, {N, 3}));
    m.output(m.graph.node(custom).outputs[0]);
    inferShapes(m.graph);
    EXPECT_EQ(m.typeOf("y"), "float[N,3]");
}

TEST(InferShapes, UnknownInnerDimensionsGetNames) {
    GraphMaker m;
    m.output(m.node(Op::NonZero, {m.input("x", {4, 5})}, "where"));
    inferShapes(m.graph);
    EXPECT_EQ(m.typeOf("where"), "int64[2,where_dim1]");
    inferShapes(m.graph);
    EXPECT_EQ(m.typeOf("where"), "int64[2,where_dim1]") << "the second run agrees with the first";
}

TEST(InferShapes, DeclaredOutputThatContradictsIsAWarning) {
    GraphMaker m;
    ValueId y = m.node(Op::Relu, {m.input("x", {2, 3})}, "y");
    m.graph.setType(y, tensorType(DType::Float32, {2, 4}));
    m.output(y);
    auto problems = inferShapes(m.graph);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems[0].warning());
    EXPECT_EQ(problems[0].message, "output `y` is declared as float[2,4], but is float[2,3]");
    EXPECT_EQ(m.typeOf("y"), "float[2,3]");
}

TEST(InferShapes, OperandsThatDoNotFitAreAProblem) {
    GraphMaker m;
    ValueId a = m.input("a", {2, 3});
    m.output(m.node(Op::Add, {a, m.input("b", {2, 4})}, "y"));
    auto problems = inferShapes(m.graph);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_FALSE(problems[0].warning());
    EXPECT_EQ(m.graph.node(problems[0].node).name, "y_node");
}

/// What ONNX Runtime refuses and nothing here computed in the way that the file means.
TEST(InferShapes, AttributesThatContradictTheOperandsAreAProblem) {
    using Ints = std::vector<int64_t>;
    const auto problemOf = [](GraphMaker& m) {
        const auto problems = inferShapes(m.graph);
        return problems.empty() ? std::string("none") : problems[0].message;
    };
    const auto conv = [&](const char* name, const AttributeValue& value) {
        GraphMaker m;
        m.output(m.node(Op::Conv, {m.input("x", {1, 3, 9, 9}), m.input("w", {4, 3, 3, 3})}, "y",
                        {{name, value}}));
        return problemOf(m);
    };
    EXPECT_EQ(conv("kernel_shape", Ints{3, 3}), "none");
    EXPECT_EQ(conv("kernel_shape", Ints{5, 5}), "Conv: `kernel_shape` is [5,5], W is [4,3,3,3]");
    EXPECT_EQ(conv("auto_pad", std::string("SAME_LOWER")), "none");
    EXPECT_EQ(conv("auto_pad", std::string("SAME")),
              "Conv: `auto_pad` is \"SAME\", not NOTSET, SAME_UPPER, SAME_LOWER or VALID");
    GraphMaker blocks;
    blocks.output(blocks.node(Op::DepthToSpace, {blocks.input("x", {1, 3, 4, 4})}, "y",
                              {{"blocksize", int64_t(2)}}));
    EXPECT_EQ(problemOf(blocks), "3 channels do not make blocks of 2 x 2");
    GraphMaker both;
    const ValueId x = both.input("x", {1, 3, 4, 4});
    both.output(both.node(
        Op::Resize,
        {x, ValueId(), both.floats("f", {4}, {1, 1, 2, 2}), both.ints("s", {1, 3, 8, 8})}, "y"));
    EXPECT_EQ(problemOf(both), "scales and sizes are both given");
}

TEST(InferShapes, FusedNodesInferThroughTheirBody) {
    GraphMaker m = reshapeByBatch();
    ValueId y = m.graph.findValue("y");
    ValueId relu = m.node(Op::Relu, {y}, "r");
    m.graph.setOutput(0, relu);
    inferShapes(m.graph);
    std::vector<NodeId> both{m.graph.producer(y), m.graph.producer(relu)};
    NodeId fused = replaceByFused(m.graph, both, cutOut(m.graph, both, {relu}), "Both", {});
    ASSERT_TRUE(bindDimensions(m.graph, {{"N", 4}}));
    EXPECT_EQ(m.typeOf("r"), "float[4,12,2]");
    const Graph& body = *m.graph.node(fused).body;
    EXPECT_EQ(body.value(body.outputs()[0]).type.text(), "float[4,12,2]");
}

TEST(InferShapes, SubgraphsSeeTheTypesOfWhatTheyCapture) {
    GraphMaker inner;
    ValueId seen = inner.graph.addCapture("x", {});
    inner.output(inner.node(Op::Relu, {seen}, "r"));
    GraphMaker m;
    ValueId x = m.input("x", {N, 3});
    auto branch = std::make_shared<Graph>(inner.graph);
    ValueId y = m.node(Op::If, {m.input("c", {}, DType::Bool)}, "y",
                       {{"then_branch", branch}, {"else_branch", branch}});
    NodeId node = m.graph.producer(y);
    m.graph.appendCapturedInput(node, x);
    m.graph.appendCapturedInput(node, x);
    m.output(y);
    inferShapes(m.graph);
    auto then = m.graph.node(node).attributes.graph("then_branch");
    EXPECT_EQ(then->value(then->outputs()[0]).type.text(), "float[N,3]");
    EXPECT_EQ(branch->value(branch->outputs()[0]).type.text(), "undefined[...]")
        << "a shared subgraph is copied, not changed";
}
