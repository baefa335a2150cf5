// SPDX-License-Identifier: Apache-2.0
// Precision: which values and weights become 16-bit, where Casts stand, what stays in float32.
#include "core/graph/verify.h"
#include "core/passes/passes.h"
#include "core/passes/precision.h"
#include "tests/unit/passes_support.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace fuselage;
using fuselage::test::GraphMaker;

namespace {

PrecisionRecord convert(GraphMaker& m, Precision precision) {
    inferShapes(m.graph);
    auto record = setPrecision(m.graph, precision);
    EXPECT_TRUE(record) << record.error().text();
    auto sound = verify(m.graph);
    EXPECT_TRUE(sound) << sound.error().text();
    return record ? *record : PrecisionRecord{};
}

const Node& producerOf(const GraphMaker& m, const std::string& value) {
    return m.graph.node(m.graph.producer(m.graph.findValue(value)));
}

DType dtypeOf(const GraphMaker& m, const std::string& value) {
    return m.graph.value(m.graph.findValue(value)).type.dtype;
}

} // namespace

TEST(Precision, InputsAndOutputsKeepTypesAndNames) {
    GraphMaker m;
    ValueId a = m.node(Op::Exp, {m.input("x", {2, 3})}, "a");
    m.output(m.node(Op::Neg, {a}, "y"));
    PrecisionRecord record = convert(m, Precision::Fp16);
    EXPECT_EQ(m.typeOf("x"), "float[2,3]");
    EXPECT_EQ(m.typeOf("a"), "float16[2,3]");
    EXPECT_EQ(m.typeOf("y"), "float[2,3]");
    EXPECT_EQ(m.graph.value(m.graph.outputs()[0]).name, "y");
    EXPECT_EQ(producerOf(m, "y").op, Op::Cast);
    EXPECT_EQ(producerOf(m, "y").provenance.rule, "precision");
    EXPECT_EQ(record.casts, 2U);
    EXPECT_EQ(record.narrowed, 2U);
}

TEST(Precision, Fp32AndTf32ChangeNothing) {
    for (Precision precision : {Precision::Fp32, Precision::Tf32}) {
        GraphMaker m;
        m.output(m.node(Op::Exp, {m.input("x", {2})}, "y"));
        EXPECT_EQ(convert(m, precision).casts, 0U);
        EXPECT_EQ(m.graph.nodeCount(), 1U);
    }
}

TEST(Precision, WeightsAreRoundedAndKeepTheirNames) {
    GraphMaker m;
    ValueId w = m.floats("w", {3}, {1, 1.0F / 3, -2});
    m.output(m.node(Op::Mul, {m.input("x", {3}), w}, "y"));
    PrecisionRecord record = convert(m, Precision::Bf16);
    const Tensor& data = *m.graph.value(m.graph.findValue("w")).constant;
    EXPECT_EQ(data.dtype(), DType::BFloat16);
    EXPECT_EQ(data.at(1), roundTo(DType::BFloat16, 1.0F / 3));
    EXPECT_EQ(record.weightBytesBefore, 12);
    EXPECT_EQ(record.weightBytesAfter, 6);
}

TEST(Precision, AWeightOutsideTheRangeOfFloat16IsNamedAndStays) {
    GraphMaker m;
    ValueId w = m.floats("huge", {2}, {1, 70000});
    ValueId a = m.node(Op::Mul, {m.input("x", {2}), w}, "a");
    m.output(m.node(Op::Exp, {a}, "y"));
    GraphMaker other = m;
    PrecisionRecord record = convert(m, Precision::Fp16);
    ASSERT_EQ(record.kept.size(), 1U);
    EXPECT_EQ(record.kept[0].node, "a_node");
    EXPECT_EQ(record.kept[0].reason.code, "precision-weight");
    EXPECT_NE(record.kept[0].reason.message.find("`huge` holds 70000"), std::string::npos);
    EXPECT_EQ(dtypeOf(m, "a"), DType::Float32);
    EXPECT_EQ(dtypeOf(m, "huge"), DType::Float32);
    EXPECT_TRUE(convert(other, Precision::Bf16).kept.empty());
}

TEST(Precision, InfinityIsNoWeightOutsideTheRange) {
    GraphMaker m;
    ValueId fill = m.floats("fill", {}, {-INFINITY});
    m.output(m.node(Op::Add, {m.input("x", {2}), fill}, "y"));
    EXPECT_TRUE(convert(m, Precision::Fp16).kept.empty());
    EXPECT_EQ(m.graph.value(m.graph.findValue("fill")).constant->at(0), -INFINITY);
}

TEST(Precision, AnAddedScalarDoesNotBecomeZero) {
    GraphMaker m;
    ValueId epsilon = m.floats("epsilon", {}, {1e-12F});
    m.output(m.node(Op::Add, {m.input("x", {2}), epsilon}, "y"));
    EXPECT_TRUE(convert(m, Precision::Fp16).kept.empty());
    EXPECT_EQ(m.graph.value(m.graph.findValue("epsilon")).constant->at(0), std::ldexp(1.0, -24));
}

TEST(Precision, AFactorThatWouldBecomeZeroStays) {
    GraphMaker m;
    ValueId scale = m.floats("scale", {}, {1e-12F});
    m.output(m.node(Op::Mul, {m.input("x", {2}), scale}, "y"));
    EXPECT_EQ(convert(m, Precision::Fp16).kept.size(), 1U);
    EXPECT_EQ(dtypeOf(m, "scale"), DType::Float32);
}

TEST(Precision, UnsafeOperatorsComputeInFloat32BetweenCasts) {
    GraphMaker m;
    ValueId a = m.node(Op::Exp, {m.input("x", {4})}, "a");
    ValueId sum = m.node(Op::CumSum, {a, m.scalarInt("axis", 0)}, "sum");
    m.output(m.node(Op::Neg, {sum}, "y"));
    PrecisionRecord record = convert(m, Precision::Bf16);
    ASSERT_EQ(record.kept.size(), 1U);
    EXPECT_EQ(record.kept[0].reason.code, "precision-op");
    EXPECT_EQ(dtypeOf(m, "a"), DType::BFloat16);
    EXPECT_EQ(dtypeOf(m, "sum"), DType::Float32);
    EXPECT_EQ(record.casts, 4U); // x, a up, sum down, y up
}

TEST(Precision, MovementOfFloat32MovesFloat32) {
    GraphMaker m;
    ValueId sum = m.node(Op::CumSum, {m.input("x", {2, 4}), m.scalarInt("axis", 0)}, "sum");
    ValueId turned = m.node(Op::Transpose, {sum}, "turned", {{"perm", std::vector<int64_t>{1, 0}}});
    m.output(m.node(Op::CumSum, {turned, m.scalarInt("axis2", 0)}, "y"));
    EXPECT_EQ(convert(m, Precision::Fp16).casts, 0U);
    EXPECT_EQ(dtypeOf(m, "turned"), DType::Float32);
}

TEST(Precision, OtherTypesAndCastsOfTheModelStay) {
    GraphMaker m;
    ValueId d = m.input("d", {2}, DType::Float64);
    m.output(m.node(Op::Neg, {d}, "e"));
    ValueId f = m.node(Op::Cast, {m.input("i", {2}, DType::Int64)}, "f", {{"to", int64_t(1)}});
    ValueId g = m.node(Op::Exp, {f}, "g");
    m.output(m.node(Op::Cast, {g}, "h", {{"to", int64_t(7)}}));
    convert(m, Precision::Fp16);
    EXPECT_EQ(dtypeOf(m, "e"), DType::Float64);
    EXPECT_EQ(dtypeOf(m, "f"), DType::Float32);
    EXPECT_EQ(dtypeOf(m, "g"), DType::Float16);
    EXPECT_EQ(producerOf(m, "h").inputs[0], m.graph.findValue("g"));
    EXPECT_EQ(m.count(Op::Cast), 3U); // the model's two, one added
}

TEST(Precision, StatisticsOfBatchNormalizationStay) {
    GraphMaker m;
    std::vector<ValueId> inputs{m.input("x", {1, 2, 3})};
    for (const char* name : {"scale", "bias", "mean", "var"})
        inputs.push_back(m.floats(name, {2}, {1, 100000}));
    m.output(m.node(Op::BatchNormalization, inputs, "y"));
    EXPECT_TRUE(convert(m, Precision::Fp16).kept.empty());
    EXPECT_EQ(dtypeOf(m, "var"), DType::Float32);
    EXPECT_EQ(m.graph.value(producerOf(m, "y").inputs[0]).type.dtype, DType::Float16);
}

TEST(Precision, BodiesOfControlFlowStayAndGetFloat32) {
    auto makeBody = [](const std::string& name, Op op) {
        auto body = std::make_shared<Graph>(name);
        ValueId outside = body->addCapture("outside", tensorType(DType::Float32, {2}));
        NodeId node = body->addNode({op, name + "_node", {outside}, {name + "_y"}});
        fillDefaults(body->edit(node));
        body->addOutput(body->node(node).outputs[0]);
        return body;
    };
    GraphMaker m;
    ValueId a = m.node(Op::Exp, {m.input("x", {2})}, "a");
    Attributes attributes;
    attributes.set("then_branch", makeBody("then", Op::Neg));
    attributes.set("else_branch", makeBody("else", Op::Abs));
    NodeId branch = m.graph.addNode(
        {Op::If, "if", {m.input("c", {}, DType::Bool)}, {"b"}, std::move(attributes)});
    m.graph.appendCapturedInput(branch, a);
    m.graph.appendCapturedInput(branch, a);
    m.output(m.node(Op::Exp, {m.graph.node(branch).outputs[0]}, "y"));
    PrecisionRecord record = convert(m, Precision::Fp16);
    ASSERT_EQ(record.kept.size(), 1U);
    EXPECT_EQ(record.kept[0].reason.code, "precision-control-flow");
    EXPECT_EQ(dtypeOf(m, "a"), DType::Float16);
    for (uint32_t slot : {1U, 2U})
        EXPECT_EQ(m.graph.value(m.graph.node(branch).inputs[slot]).type.dtype, DType::Float32);
    EXPECT_EQ(dtypeOf(m, "b"), DType::Float32);
}

TEST(Precision, ShapeQueriesReadTheUncastValue) {
    GraphMaker m;
    ValueId x = m.input("x", {Dim::symbol("N"), 3});
    m.output(m.node(Op::Shape, {x}, "s"));
    m.output(m.node(Op::Exp, {x}, "y"));
    convert(m, Precision::Fp16);
    EXPECT_EQ(producerOf(m, "s").inputs[0], x);
}
