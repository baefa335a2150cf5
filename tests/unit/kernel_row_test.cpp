// SPDX-License-Identifier: Apache-2.0
// Row, Window, Copy and Library programs.
#include "core/kernel/layout_work.h"
#include "core/kernel/row_reuse.h"
#include "kernel_support.h"

#include <algorithm>

using namespace fuselage;
using namespace fuselage::testing_kernel;

TEST(LowerRow, SoftmaxPrintsAsStableText) {
    KernelProgram program =
        expectLowers("(float[2,5] x) => (float[2,5] y) { y = Softmax(x) }", "Row");
    EXPECT_EQ(text(program), R"(Row (float[2,5]) => (float[2,5]) exact
  outer [2] inner [5]
  read 0 = in0[d0, d1]
  reduce max
  map:
    r0 = input 0 : float
    return r0
  reduce sum
  map:
    r0 = input 0 : float
    r1 = input 1 : float
    r2 = sub r0 r1 : float
    r3 = exp r2 : float
    return r3
  element:
    r0 = input 0 : float
    r1 = input 1 : float
    r2 = sub r0 r1 : float
    r3 = exp r2 : float
    r4 = input 2 : float
    r5 = div r3 r4 : float
    return r5
  write out0[d0, d1]
)");
}

namespace {

/// Turned elements of a program with one operand, dense, and one result with these strides.
int64_t turned(const std::string& text, const Extents& strides) {
    const KernelProgram program = expectLowers(text, "Row");
    const Extents dense = rowMajorStrides(program.inputs[0].extents);
    return laidWorkOf(program, {{&dense}, {&strides}}).work.turned;
}

} // namespace

TEST(LaidRow, PiecesThatAreWrittenApartCost) {
    const std::string pairs = "(float[512,400,2] x) => (float[512,400,2] y) { y = Softmax(x) }";
    EXPECT_EQ(turned(pairs, {800, 2, 1}), 0);
    EXPECT_GT(turned(pairs, {2, 1024, 1}), 512 * 400 * 2);
    // Whole runs do not.
    EXPECT_EQ(
        turned("(float[512,4,200] x) => (float[512,4,200] y) { y = Softmax(x) }", {200, 102400, 1}),
        0);
}

TEST(LaidRow, WhatLiesAlongALoopOfNoTileIsScattered) {
    const std::string text =
        "(float[384,8,49] x) => (float[384,8,49] y) { y = Softmax<axis = 0>(x) }";
    // Along what is reduced, tiles are turned; along the eight, none has neighbours.
    EXPECT_GT(turned(text, {8, 1, 3072}), 3 * turned(text, {1, 384, 3072}));
}

/// A product writes rows of results: what shall lie across is turned in a pass of its own, which
/// costs more than operands that are packed.
TEST(LaidProduct, ResultsThatLieAcrossAreAPass) {
    const KernelProgram program = expectLowers(
        "(float[32,64] x, float[64,48] w) => (float[32,48] y) { y = MatMul(x, w) }", "Contraction");
    const Extents x = {64, 1}, packed = {1, 32}, w = {48, 1}, y = {48, 1}, across = {1, 32};
    const LaidWork plain = laidWorkOf(program, {{&x, &w}, {&y}});
    const LaidWork turned = laidWorkOf(program, {{&x, &w}, {&across}});
    EXPECT_EQ(plain.work.turned, 0);
    EXPECT_EQ(turned.packed, 32 * 48);
    EXPECT_EQ(turned.work.turned, 2 * turned.packed);
    EXPECT_EQ(laidWorkOf(program, {{&packed, &w}, {&y}}).work.turned, 0);
}

TEST(ReuseInRow, ASoftmaxComputesItsExponentialsOnce) {
    const KernelProgram program = expectLowers(
        "(float[2,5] x, bool[1,5] k) => (float[2,5] y) { c = Constant<value_float=-1e9>() "
        "a = Where(k, x, c)  y = Softmax(a) }",
        "Row");
    const Row& row = std::get<Row>(program.code);
    auto count = [](const Tape& tape, TapeOp op) {
        return std::count_if(tape.code.begin(), tape.code.end(),
                             [&](const TapeInstruction& at) { return at.op == op; });
    };
    const RowReuse all = reuseInRow(row);
    ASSERT_EQ(all.parts.size(), 3U);
    EXPECT_EQ(all.values.size(), 2U) << "what is masked, and its exponential";
    EXPECT_EQ(count(all.parts[0].tape, TapeOp::Select), 1);
    EXPECT_EQ(count(all.parts[1].tape, TapeOp::Select), 0);
    EXPECT_EQ(count(all.parts[1].tape, TapeOp::Exp), 1);
    EXPECT_EQ(count(all.parts[2].tape, TapeOp::Exp), 0);
    EXPECT_EQ(all.parts[1].makes[0].output, 0U) << "it is what the stage sums up";
    const RowReuse dear = reuseInRow(row, {dearToRepeat, true});
    EXPECT_EQ(dear.values.size(), 1U) << "a selection costs less than reading it again";
    EXPECT_EQ(count(dear.parts[1].tape, TapeOp::Select), 1);
    EXPECT_TRUE(reuseInRow(row, {1, false}).parts[2].reads.empty());
}

TEST(ReuseInRow, NothingThatOnlyStoresRound) {
    const KernelProgram program = expectLowers(
        "(float16[2,5] x) => (float16[2,5] y) { m = ReduceMean<axes=[1]>(x)  d = Sub(x, m) "
        "n = ReduceMax<axes=[1]>(d)  y = Div(d, n) }",
        "Row", 1e-3);
    for (DType type : reuseInRow(std::get<Row>(program.code)).values)
        EXPECT_FALSE(isNarrowFloat(type));
}

TEST(LowerRow, SoftmaxWithScaleAndMaskAlongAnyAxis) {
    expectLowers("(float[2,3,4] x, float[3,1] m) => (float[2,3,4] y) "
                 "{ c = Constant<value_float=0.25>()  s = Mul(x, c)  a = Add(s, m) "
                 "y = Softmax<axis=1>(a) }",
                 "Row");
    expectLowers("(float[2,3,4] x) => (float[2,3,4] y) { y = LogSoftmax<axis=0>(x) }", "Row");
}

TEST(LowerRow, AddLayerNormKeepsTheSum) {
    KernelProgram program =
        expectLowers("(float[2,3,8] x, float[2,3,8] r, float[8] g, float[8] b) => "
                     "(float[2,3,8] s, float[2,3,8] y) "
                     "{ s = Add(x, r)  y = LayerNormalization(s, g, b) }",
                     "Row");
    EXPECT_EQ(program.numeric, NumericClass::Reassociated);
    EXPECT_EQ(std::get<Row>(program.code).elementWrites.size(), 2U);
}

TEST(LowerRow, LayerNormalizationHasThreeResults) {
    KernelProgram program = expectLowers("(float[2,3,8] x, float[3,8] g, float[3,8] b) => "
                                         "(float[2,3,8] y, float[2,1,1] mean, float[2,1,1] inv) "
                                         "{ y, mean, inv = LayerNormalization<axis=1>(x, g, b) }",
                                         "Row");
    EXPECT_EQ(std::get<Row>(program.code).rowWrites.size(), 2U);
}

TEST(LowerRow, WrittenOutLayerNorm) {
    KernelProgram program =
        expectLowers("(float[2,3,8] x, float[8] g, float[8] b) => (float[2,3,8] y) "
                     "{ two = Constant<value_float=2.0>()  eps = Constant<value_float=0.00001>() "
                     "m = ReduceMean<axes=[-1]>(x)  d = Sub(x, m)  p = Pow(d, two)  v = "
                     "ReduceMean<axes=[-1]>(p) "
                     "e = Add(v, eps)  r = Sqrt(e)  n = Div(d, r)  s = Mul(n, g)  y = Add(s, b) }",
                     "Row");
    const auto& code = std::get<Row>(program.code);
    EXPECT_EQ(code.stages.size(), 2U);
    EXPECT_EQ(code.stages[1].scalar.outputs.size(), 1U);
}

TEST(LowerRow, ReductionsOverOuterDims) {
    KernelProgram program =
        expectLowers("(float[4,3,5] x) => (float[3,5] y) { t = ReduceSum<keepdims=0>(x, a) "
                     "y = Relu(t) a = Constant<value_ints=[0]>() }",
                     "Row");
    const auto& code = std::get<Row>(program.code);
    EXPECT_EQ(code.outer, (Extents{3, 5}));
    EXPECT_EQ(code.inner, (Extents{4}));
}

TEST(LowerRow, EveryReduction) {
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
                           "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"}) {
        SCOPED_TRACE(op);
        expectLowers(std::string("(float[2,3,4] x) => (float[2,1,1] y) { "
                                 "a = Constant<value_ints=[1,2]>()  y = ") +
                         op + "(x, a) }",
                     "Row");
    }
}

TEST(LowerRow, ArgReductions) {
    expectLowers("(float[3,7] x) => (int64[3] y) { y = ArgMax<axis=1, keepdims=0>(x) }", "Row");
    expectLowers("(float[3,7] x) => (int64[1,7] y) { y = ArgMin<axis=0, select_last_index=1>(x) }",
                 "Row");
}

TEST(LowerRow, PoolsOverAllPositions) {
    expectLowers("(float[2,3,4,5] x, float[3,1,1] b) => (float[2,3,1,1] y) "
                 "{ t = GlobalAveragePool(x)  y = Add(t, b) }",
                 "Row");
}

TEST(LowerRow, InstanceAndGroupNormalization) {
    expectLowers("(float[2,4,3,3] x, float[4] s, float[4] b) => (float[2,4,3,3] y) "
                 "{ t = InstanceNormalization(x, s, b)  y = Relu(t) }",
                 "Row");
    LowerRequest grouped = bodyFrom("(float[2,4,3,3] x, float[4] s, float[4] b) => "
                                    "(float[2,4,3,3] y) "
                                    "{ y = GroupNormalization<num_groups=2>(x, s, b) }");
    KernelProgram program = expectLowers(grouped, "Row");
    EXPECT_EQ(std::get<Row>(program.code).outer, (Extents{2, 2}));
    expectLowers("(float[2,4,3,3] x) => (float[2,4,3,3] y) "
                 "{ y = LpNormalization<axis=1, p=2>(x) }",
                 "Row");
    for (const char* p : {"1", "2"}) // rows of zeros stay zeros
        expectLowers(std::string("(float[2,3] x) => (float[2,3] y) { z = Sub(x, x) "
                                 "y = LpNormalization<axis=1, p=") +
                         p + ">(z) }",
                     "Row");
}

TEST(LowerRow, NarrowRowsOfTwoReductions) {
    expectLowers("(float[2,6] x) => (float[2,1] y) { m = ReduceMax<axes=[1]>(x) "
                 "a = Constant<value_ints=[1]>()  s = ReduceSum(x, a)  y = Sub(m, s) }",
                 "Row");
}

TEST(LowerRow, OperandOfTheReductionIsWrittenToo) {
    KernelProgram program =
        expectLowers("(float[2,3,8] x, float[2,3,8] r) => (float[2,3,8] s, float[2,3,1] y) "
                     "{ s = Add(x, r)  m = ReduceMean<axes=[-1]>(s)  y = Sqrt(m) }",
                     "Row");
    EXPECT_EQ(std::get<Row>(program.code).elementWrites.size(), 1U);
    EXPECT_EQ(std::get<Row>(program.code).rowWrites.size(), 1U);
}

TEST(LowerRow, ReductionsOverDifferentDimsAreRefused) {
    Reason reason = refusalOf("(float[4,5] x) => (float[4,5] y) "
                              "{ t = Softmax<axis=1>(x)  y = Softmax<axis=0>(t) }");
    EXPECT_EQ(reason.code, "kind");
    EXPECT_EQ(reason.facts[0], (ReasonFact{"producer", "Row"}));
}

TEST(LowerWindow, PoolsWithWorkAround) {
    KernelProgram program = expectLowers(
        "(float[1,2,6,7] x, float[2,1,1] b) => (float[1,2,3,3] y) "
        "{ t = Mul(x, b)  p = MaxPool<kernel_shape=[3,2], strides=[2,2], pads=[1,0,0,0]>(t) "
        "y = Relu(p) }",
        "Window");
    EXPECT_TRUE(std::get<Window>(program.code).prologue.has_value());
    expectLowers("(float[1,2,6,6] x) => (float[1,2,3,3] y) { y = AveragePool<kernel_shape=[3,3], "
                 "strides=[2,2], pads=[1,1,0,0], count_include_pad=1>(x) }",
                 "Window");
    expectLowers("(float[1,2,6,6] x) => (float[1,2,6,6] y) "
                 "{ y = AveragePool<kernel_shape=[3,3], auto_pad=\"SAME_LOWER\">(x) }",
                 "Window");
}

TEST(LaidWindow, OperandsInAnotherOrderThanResultsPassThroughACopy) {
    const KernelProgram program = expectLowers(
        "(float[1,64,24,24] x) => (float[1,64,12,12] y) { y = MaxPool<kernel_shape=[2,2], "
        "strides=[2,2]>(x) }",
        "Window");
    const Extents &from = program.inputs[0].extents, &to = program.outputs[0].extents;
    const Extents dense = rowMajorStrides(from), last = channelsLast(from),
                  denseTo = rowMajorStrides(to), lastTo = channelsLast(to);
    EXPECT_EQ(laidWorkOf(program, {{&last}, {&lastTo}}).packed, 0);
    EXPECT_EQ(laidWorkOf(program, {{&dense}, {&lastTo}}).packed, 64 * 24 * 24);
    EXPECT_EQ(laidWorkOf(program, {{&last}, {&denseTo}}).packed, 64 * 24 * 24);
}

TEST(LowerWindow, TwoPoolsAreRefused) {
    Reason reason = refusalOf("(float[1,2,8,8] x) => (float[1,2,2,2] y) "
                              "{ t = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) "
                              "y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(t) }");
    EXPECT_EQ(reason.code, "kind");
    EXPECT_EQ(reason.facts[0], (ReasonFact{"producer", "Window"}));
}

TEST(LowerCopy, ConcatIsAPieceForEachOperand) {
    KernelProgram program = expectLowers(
        "(float[2,3] x, float[2,1] z) => (float[2,4] y) { y = Concat<axis=1>(x, z) }", "Copy");
    EXPECT_EQ(text(program), R"(Copy (float[2,3], float[2,1]) => (float[2,4]) exact
  piece [2,3] in0[d0, d1] -> out0[d0, d1]
  piece [2,1] in1[d0, 0] -> out0[d0, 3]
)");
}

TEST(LowerCopy, PadFillsItsBorder) {
    expectLowers("(float[2,3] x) => (float[4,5] y) { p = Constant<value_ints=[1,0,1,2]>() "
                 "v = Constant<value_float=7.0>()  y = Pad(x, p, v) }",
                 "Copy");
    expectLowers("(float[4,4] x) => (float[3,5] y) { p = Constant<value_ints=[-1,1,0,0]>() "
                 "y = Pad(x, p) }",
                 "Copy");
}

TEST(LowerCopy, MovementOperators) {
    expectLowers("(float[2,3,4] x) => (float[4,2,3] y) { y = Transpose<perm=[2,0,1]>(x) }", "Copy");
    expectLowers("(float[1,8,2,3] x) => (float[1,2,4,6] y) { y = DepthToSpace<blocksize=2>(x) }",
                 "Copy");
    expectLowers("(float[1,8,2,3] x) => (float[1,2,4,6] y) "
                 "{ y = DepthToSpace<blocksize=2, mode=\"CRD\">(x) }",
                 "Copy");
    expectLowers("(float[1,2,4,6] x) => (float[1,8,2,3] y) { y = SpaceToDepth<blocksize=2>(x) }",
                 "Copy");
    expectLowers("(float[2,3] x) => (float[4,9] y) { r = Constant<value_ints=[2,3]>() "
                 "y = Tile(x, r) }",
                 "Copy");
    expectLowers("(float[3,1] x) => (float[2,3,4] y) { s = Constant<value_ints=[2,3,4]>() "
                 "y = Expand(x, s) }",
                 "Copy");
    expectLowers("(float[5,3] x) => (float[2,3] y) { i = Constant<value_ints=[1,3]>() "
                 "y = Gather(x, i) }",
                 "Copy");
    expectLowers("(float[5,3] x) => (float[5] y) { i = Constant<value_int=2>() "
                 "y = Gather<axis=1>(x, i) }",
                 "Copy");
}

TEST(LowerCopy, SplitHasOneAccessForEachResult) {
    expectLowers("(float[2,6] x) => (float[2,2] a, float[2,4] b) "
                 "{ s = Constant<value_ints=[2,4]>()  a, b = Split<axis=1>(x, s) }",
                 "Copy");
}

TEST(LowerCopy, ConcatOfTransposedParts) {
    expectLowers("(float[2,3] x, float[3,2] z) => (float[2,2,3] y) "
                 "{ t = Transpose<perm=[1,0]>(z)  c = Concat<axis=0>(x, t) "
                 "s = Constant<value_ints=[2,2,3]>()  y = Reshape(c, s) }",
                 "Copy");
}

TEST(LowerLibrary, OtherOperatorsAreRoutines) {
    expectLowers("(float[4,5] x) => (float[4,5] y) { y = CumSum(x, a) "
                 "a = Constant<value_int=1>() }",
                 "Library");
    Reason reason = refusalOf("(float[4,5] x) => (float[4,5] y) { t = CumSum(x, a) "
                              "a = Constant<value_int=1>()  y = Relu(t) }");
    EXPECT_EQ(reason.code, "unsupported-op");
}

TEST(Lower, DynamicDimsAreRefused) {
    Reason reason = refusalOf("(float[N,5] x) => (float[N,5] y) { y = Relu(x) }");
    EXPECT_EQ(reason.code, "dynamic-dim");
}

TEST(Lower, DeclaredShapesThatLieAreRefused) {
    Graph graph;
    ValueId x = graph.addInput("x", tensorType(DType::Float32, {1, 2, 5, 5}));
    ValueId w = graph.addInput("w", tensorType(DType::Float32, {3, 2, 3, 3}));
    NodeId conv = graph.addNode({Op::Conv, "conv", {x, w}, {"c"}});
    ValueId c = graph.node(conv).outputs[0];
    graph.setType(c, tensorType(DType::Float32, {1, 3, 500, 500}));
    NodeId relu = graph.addNode({Op::Relu, "relu", {c}, {"y"}});
    ValueId y = graph.node(relu).outputs[0];
    graph.setType(y, tensorType(DType::Float32, {1, 3, 500, 500}));
    graph.addOutput(y);
    LowerRequest request;
    request.body = std::make_shared<const Graph>(graph);
    request.constants.resize(2);
    LowerResult result = lower(request);
    ASSERT_TRUE(std::holds_alternative<Reason>(result));
    EXPECT_EQ(std::get<Reason>(result).code, "shape-mismatch");
}

TEST(Lower, BodyOfANodeNamesItsOperandsOnce) {
    Graph graph;
    ValueId x = graph.addInput("x", tensorType(DType::Float32, {4}));
    NodeId node = graph.addNode({Op::Mul, "", {x, x}, {"y"}});
    ValueId y = graph.node(node).outputs[0];
    graph.setType(y, tensorType(DType::Float32, {4}));
    LowerRequest request = bodyOf(graph, node);
    EXPECT_EQ(request.operands, std::vector<ValueId>{x});
    EXPECT_EQ(request.results, std::vector<ValueId>{y});
    expectLowers(request, "Pointwise");
}
