// SPDX-License-Identifier: Apache-2.0
// Precision: which values and weights become 16-bit, where Casts stand, what stays in float32.
#include "core/graph/verify.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/passes/precision.h"
#include "core/plan/backend.h"
#include "core/support/file.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/passes_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

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

/// The same with exceptions, "NODES=PRECISION".
PrecisionRecord convertBut(GraphMaker& m, Precision precision, std::vector<std::string> of) {
    inferShapes(m.graph);
    auto choice = parsePrecisionChoice(precision, of);
    EXPECT_TRUE(choice) << choice.error().text();
    auto record = setPrecision(m.graph, *choice);
    EXPECT_TRUE(record) << record.error().text();
    EXPECT_TRUE(verify(m.graph));
    return *record;
}

std::vector<double> interpreted(const Graph& graph, const Tensor& input) {
    ThreadPool pool(1);
    Progress progress;
    auto values = interpret(graph, {ReferenceValue::from(input)}, pool, progress);
    EXPECT_TRUE(values) << values.error().text();
    return values->front().floats;
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
    ASSERT_EQ(record.kept.size(), 2U);
    EXPECT_EQ(record.kept[0].node, "a_node");
    EXPECT_EQ(record.kept[1].reason.code, "precision-range");
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

TEST(Precision, WhatReadsALargeValueComputesInFloat32UntilItIsSmallAgain) {
    GraphMaker m;
    ValueId x = m.input("x", {4});
    ValueId large = m.node(Op::Mul, {x, m.floats("huge", {}, {1e6F})}, "large");
    ValueId moved = m.node(Op::Relu, {large}, "moved");
    ValueId small = m.node(Op::Div, {moved, m.floats("back", {}, {1e5F})}, "small");
    ValueId other = m.node(Op::Sigmoid, {large}, "other");
    m.output(m.node(Op::Add, {m.node(Op::Exp, {small}, "a"), m.node(Op::Neg, {other}, "b")}, "y"));
    PrecisionRecord record = convert(m, Precision::Fp16);
    std::vector<std::string> kept;
    for (const KeptNode& node : record.kept)
        kept.push_back(node.node);
    EXPECT_EQ(kept,
              (std::vector<std::string>{"large_node", "moved_node", "small_node", "other_node"}));
    EXPECT_EQ(dtypeOf(m, "moved"), DType::Float32);
    EXPECT_EQ(dtypeOf(m, "a"), DType::Float16);
    EXPECT_EQ(dtypeOf(m, "b"), DType::Float16);
}

TEST(Precision, SumsOfIntegersAreReadInFloat32) {
    for (Precision precision : {Precision::Fp16, Precision::Bf16}) {
        GraphMaker m;
        ValueId sums = m.node(
            Op::MatMulInteger,
            {m.input("x", {2, 64}, DType::UInt8), m.input("w", {64, 3}, DType::Int8)}, "sums");
        ValueId floats = m.node(Op::Cast, {sums}, "floats", {{"to", int64_t{1}}});
        m.output(m.node(Op::Relu, {m.node(Op::Mul, {floats, m.input("s", {})}, "scaled")}, "y"));
        const PrecisionRecord record = convert(m, precision);
        EXPECT_EQ(m.typeOf("floats"), "float[2,3]");
        EXPECT_EQ(record.kept.size(), precision == Precision::Fp16 ? 1U : 0U);
        if (precision == Precision::Fp16) {
            EXPECT_EQ(record.kept[0].reason.code, "precision-range");
            EXPECT_EQ(producerOf(m, "scaled").op, Op::Mul);
        }
    }
}

TEST(Precision, WhatLiesBetweenPairsStaysForIntegers) {
    const char* text = "g (float[1,8,4,4] x, int8[8,8,1,1] w, int32[8] b)"
                       " => (float[1,8,4,4] y, float[1,8,4,4] z)"
                       " <float s = {0.5}, int8 o = {0}> {"
                       " q = QuantizeLinear(x, s, o) d = DequantizeLinear(q, s, o)"
                       " v = DequantizeLinear(w, s, o) c = DequantizeLinear(b, s)"
                       " p = Conv(d, v, c) r = Relu(p) a = Add(r, d)"
                       " k = QuantizeLinear(a, s, o) e = DequantizeLinear(k, s, o)"
                       " m = MaxPool<kernel_shape = [1, 1]>(e) n = QuantizeLinear(m, s, o)"
                       " f = DequantizeLinear(n, s, o) y = Sigmoid(f)"
                       " t = Transpose<perm = [1, 0, 2, 3]>(v) h = Conv(f, t) z = Tanh(h) }";
    auto graph = model_io::loadText(text);
    ASSERT_TRUE(graph) << graph.error().text();
    GraphMaker m;
    m.graph = std::move(*graph);
    const PrecisionRecord record = convert(m, Precision::Fp16);
    std::set<std::string> kept;
    for (const KeptNode& each : record.kept)
        if (each.reason.code == "precision-pair")
            kept.insert(each.node);
    EXPECT_EQ(kept.size(), 6U);     // both Conv, Relu, Add, MaxPool, Transpose
    EXPECT_EQ(record.narrowed, 2U); // Sigmoid, Tanh
}

/// The product of two small scales is below what float16 holds with all its digits.
TEST(Precision, ScalesThatAreFoundWhileRunningStayFloats) {
    const char* text = "g (float[2,8] x, uint8[8,4] w) => (float[2,4] y, float[2,4] z)"
                       " <float v = {0.0004}, uint8 o = {128}, int64[1] one = {1}> {"
                       " q, s, p = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, p, o)"
                       " f = Cast<to = 1>(i) t = Mul(s, v) r = Reshape(t, one)"
                       " c = Concat<axis = 0>(r, r) k = ReduceMax<keepdims = 0>(c)"
                       " e = Expand(k, one) n = Mul(e, v) m = Mul(f, n)"
                       " y = Tanh(m) h = Mul(y, v) z = Exp(h) }";
    for (Precision precision : {Precision::Fp16, Precision::Bf16}) {
        auto graph = model_io::loadText(text);
        ASSERT_TRUE(graph) << graph.error().text();
        GraphMaker m;
        m.graph = std::move(*graph);
        const PrecisionRecord record = convert(m, precision);
        std::set<std::string> kept;
        for (const KeptNode& each : record.kept)
            if (each.reason.code == "precision-scale")
                kept.insert(each.node);
        EXPECT_EQ(kept.size(), 6U); // both products of scales, and what is between them
        EXPECT_EQ(dtypeOf(m, "t"), DType::Float32);
        EXPECT_EQ(dtypeOf(m, "n"), DType::Float32);
        EXPECT_EQ(dtypeOf(m, "h"), storageOf(precision)) << "no scale, though a small constant";
    }
}

TEST(Precision, AMaskOfVeryLowNumbersSaturates) {
    for (auto [precision, fill] : {std::pair{Precision::Fp16, -1e9F},
                                   {Precision::Fp16, -3.4028235e38F},
                                   {Precision::Bf16, -3.4028235e38F}}) {
        GraphMaker m;
        ValueId mask =
            m.node(Op::Mul, {m.input("m", {1, 4}), m.floats("fill", {}, {fill})}, "mask");
        ValueId scores = m.node(Op::Add, {m.input("x", {4, 4}), mask}, "scores");
        m.output(m.node(Op::Softmax, {scores}, "y"));
        EXPECT_TRUE(convert(m, precision).kept.empty());
        EXPECT_EQ(m.graph.value(m.graph.findValue("fill")).constant->at(0),
                  precision == Precision::Fp16 ? -65504.0 : -3.3895313892515355e38);
    }
    GraphMaker m; // the same number where its size counts
    ValueId scaled = m.node(Op::Mul, {m.input("x", {4}), m.floats("fill", {}, {-1e9F})}, "scaled");
    m.output(m.node(Op::Relu, {scaled}, "y"));
    EXPECT_FALSE(convert(m, Precision::Fp16).kept.empty());
}

TEST(Precision, SingleNodesAreAskedFor) {
    auto chain = [](GraphMaker& m) {
        ValueId a = m.node(Op::Exp, {m.input("x", {4})}, "a");
        ValueId b = m.node(Op::Neg, {a}, "b");
        m.output(m.node(Op::Exp, {b}, "y"));
    };
    GraphMaker byName, byOperator, last, narrow;
    chain(byName);
    PrecisionRecord record = convertBut(byName, Precision::Fp16, {"b_*=fp32"});
    ASSERT_EQ(record.kept.size(), 1U);
    EXPECT_EQ(record.kept[0].node, "b_node");
    EXPECT_EQ(record.kept[0].reason.code, "precision-asked");
    EXPECT_EQ(dtypeOf(byName, "b"), DType::Float32);
    chain(byOperator);
    EXPECT_EQ(convertBut(byOperator, Precision::Bf16, {"op:Exp=fp32"}).kept.size(), 2U);
    chain(last);
    EXPECT_EQ(convertBut(last, Precision::Fp16, {"op:Exp=fp32", "a_node=fp16"}).kept.size(), 1U);
    chain(narrow); // a float32 model with one 16-bit node
    EXPECT_EQ(convertBut(narrow, Precision::Fp32, {"b_node=fp16"}).narrowed, 1U);
    EXPECT_EQ(dtypeOf(narrow, "a"), DType::Float32);
    EXPECT_EQ(producerOf(narrow, "b").inputs.size(), 1U);
    EXPECT_EQ(dtypeOf(narrow, "b"), DType::Float16);
}

TEST(Precision, AnExceptionThatSaysNothingIsRefused) {
    GraphMaker m;
    ValueId a = m.node(Op::CumSum, {m.input("x", {4}), m.scalarInt("axis", 0)}, "a");
    m.output(m.node(Op::Exp, {a}, "y"));
    PrecisionRecord record =
        convertBut(m, Precision::Fp16, {"nothing=fp32", "op:Conv group>1=fp32", "a_node=fp16"});
    ASSERT_EQ(record.refused.size(), 3U);
    EXPECT_NE(record.refused[0].text().find("a sum that goes on"), std::string::npos);
    EXPECT_NE(record.refused[1].message.find("`nothing` names no node"), std::string::npos);
    EXPECT_NE(record.refused[2].message.find("`op:Conv group>1` names"), std::string::npos);
    for (const char* text :
         {"a", "=fp32", "a=fp64", "a=tf32", "op:=fp16", "op:Conv group=fp16", "@/nowhere"})
        EXPECT_FALSE(parsePrecisionChoice(Precision::Fp16, {text})) << text;
    EXPECT_FALSE(parsePrecisionChoice(Precision::Fp16, {"a=bf16"}));
    EXPECT_FALSE(parsePrecisionChoice(Precision::Fp32, {"a=bf16", "b=fp16"}));
    for (Precision wide : {Precision::Fp32, Precision::Tf32}) {
        auto nothing = parsePrecisionChoice(wide, {"op:Softmax=fp32"});
        ASSERT_FALSE(nothing) << "nothing is in 16 bits";
        EXPECT_NE(nothing.error().text().find("op:Softmax=fp32"), std::string::npos);
    }
}

TEST(Precision, ALineOfAFileIsNamedWhereItIsWrong) {
    const testing_support::TemporaryFolder folder;
    const std::string path = folder.path() + "/nodes.txt";
    for (const char* line : {"b", "=fp32", "b=fp64", "op:Conv group=fp32", "b=bf16"}) {
        ASSERT_TRUE(writeFile(std::string("# mine\n\na=fp32\n") + line + "\n", path));
        auto choice = parsePrecisionChoice(Precision::Fp16, {"@" + path});
        ASSERT_FALSE(choice) << line;
        EXPECT_EQ(choice.error().where, path + ":4: " + line) << choice.error().text();
    }
}

TEST(Precision, LargeWeightsGiveNoInfinities) {
    std::mt19937 random(5);
    auto below = [&](size_t bound) { return random() % bound; };
    size_t kept = 0;
    for (int round = 0; round < 400; ++round) {
        GraphMaker m;
        ValueId value = m.input("x", {64});
        std::string chain;
        for (size_t i = 0, length = 3 + below(5); i < length; ++i) {
            constexpr float sizes[] = {1e5F, 3e6F, 2e9F, 0.25F, 3, 2, 0.5F, 1};
            const float number = sizes[below(std::size(sizes))] * (below(2) ? 1 : -1);
            ValueId constant = m.floats("c" + std::to_string(i), {}, {number});
            constexpr Op binary[] = {Op::Mul, Op::Div, Op::Add, Op::Sub, Op::Max};
            constexpr Op unary[] = {Op::Relu, Op::Sigmoid, Op::Tanh, Op::Abs, Op::Neg};
            const bool two = below(3) > 0;
            const Op op = two ? binary[below(5)] : unary[below(5)];
            chain += std::string(nameOf(op)) + (two ? fmt::format("({}) ", number) : " ");
            std::vector<ValueId> operands = {value};
            if (two)
                operands.push_back(constant);
            value = m.node(op, operands, "v" + std::to_string(i));
        }
        m.output(value);
        Graph wide = m.graph.clone();
        inferShapes(wide);
        kept += convert(m, Precision::Fp16).kept.size();
        Tensor x(DType::Float32, {64});
        for (size_t i = 0; i < 64; ++i)
            x.as<float>()[i] = 8.0F * (static_cast<float>(below(2001)) / 1000 - 1);
        const std::vector<double> expected = interpreted(wide, x), found = interpreted(m.graph, x);
        for (size_t i = 0; i < 64; ++i)
            ASSERT_EQ(std::isfinite(found[i]), std::isfinite(expected[i])) << chain << x.at(i);
    }
    EXPECT_GT(kept, 400U);
}
