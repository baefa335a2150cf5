// SPDX-License-Identifier: Apache-2.0
// Stored types beyond 8-bit integers: what they hold, how files have them, and that models with
// them load and run.
#include "app/quantize/smooth.h"
#include "core/graph/verify.h"
#include "tests/unit/quantize_support.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace fuselage;
using namespace fuselage::quantize;
using namespace fuselage::testing_quantize;

namespace {

constexpr const char* product =
    "g (float[3,8] x) => (float[3,2] y)"
    "<float[8,2] w = {1, -4, 0.5, 2, 3, 1, -2, 1, 100, 2, 30, -7, 50, 1, 9, 10}>"
    "{ y = MatMul(x, w) }";

QuantizeOptions weightOnly(StoredType weights, int64_t block) {
    QuantizeOptions out = optionsOf();
    out.type = std::nullopt;
    out.weights = weights;
    out.block = block;
    return out;
}

const Node& dequantised(const Graph& graph) {
    for (NodeId id : graph.nodes())
        if (graph.node(id).op == Op::DequantizeLinear)
            return graph.node(id);
    return graph.node(graph.nodes().front());
}

} // namespace

TEST(QuantizeTypes, RangesAndStepsAreThoseOfTheType) {
    const struct {
        StoredType type;
        double high, step;
        int64_t zero;
    } rows[] = {{StoredType::Int16, 32767, 1, 0},      {StoredType::UInt16, 65535 - 100, 1, 100},
                {StoredType::Int4, 7, 1, 0},           {StoredType::UInt4, 10, 1, 5},
                {StoredType::Float8E4M3FN, 896, 2, 0}, {StoredType::Float8E5M2, 57344, 1, 0}};
    for (const auto& row : rows) {
        const Range range{row.zero == 0 ? -row.high : -static_cast<double>(row.zero), row.high};
        const auto scale = scaleOf(row.type, range);
        ASSERT_TRUE(scale) << nameOf(row.type);
        EXPECT_FLOAT_EQ(scale->step, static_cast<float>(row.step)) << nameOf(row.type);
        EXPECT_EQ(scale->zero, row.zero) << nameOf(row.type);
        EXPECT_DOUBLE_EQ(storedValue(row.high, *scale, row.type), row.high) << nameOf(row.type);
        EXPECT_DOUBLE_EQ(storedValue(1e9, *scale, row.type), row.high) << "it saturates";
        EXPECT_EQ(storedTypeFromName(nameOf(row.type)), row.type);
    }
    EXPECT_EQ(storedValue(1.06, {1, 0}, StoredType::Float8E4M3FN), 1);
    EXPECT_EQ(storedValue(1.0625, {1, 0}, StoredType::Float8E4M3FN), 1) << "ties to even";
    EXPECT_EQ(storedValue(1.07, {1, 0}, StoredType::Float8E4M3FN), 1.125);
}

TEST(QuantizeTypes, WeightsAreMadeFloatsOnceThoughNoKernelDoes) {
    for (StoredType type : {StoredType::Int4, StoredType::UInt4, StoredType::Float8E4M3FN}) {
        auto done = quantised(modelOf(product), weightOnly(type, 4));
        ASSERT_TRUE(done) << done.error().text();
        Tensor x(DType::Float32, {3, 8});
        for (int64_t i = 0; i < x.elementCount(); ++i)
            x.set(i, static_cast<double>(i % 5) - 2);
        CompileOptions reference;
        reference.backend = BackendKind::Reference;
        auto compiled = CompiledGraph::compile(done->graph.clone(), {});
        auto judge = CompiledGraph::compile(std::move(done->graph), reference);
        ASSERT_TRUE(compiled && judge);
        EXPECT_NE(compiled->executable().tactic(0).find("once while preparing"), std::string::npos)
            << compiled->executable().tactic(0);
        for (int run = 0; run < 2; ++run) {
            auto made = compiled->run({x}), wanted = judge->run({x});
            ASSERT_TRUE(made && wanted);
            for (int64_t i = 0; i < 6; ++i)
                EXPECT_NEAR((*made)[0].at(i), (*wanted)[0].at(i), 1e-4);
        }
    }
}

TEST(QuantizeTypes, FourBitWeightsHaveAScaleForEachBlock) {
    for (StoredType type : {StoredType::Int4, StoredType::UInt4}) {
        auto done = quantised(modelOf(product), weightOnly(type, 4));
        ASSERT_TRUE(done) << done.error().text();
        EXPECT_TRUE(verify(done->graph));
        EXPECT_EQ(operatorsOf(done->graph),
                  (std::map<std::string, int>{{"MatMul", 1}, {"DequantizeLinear", 1}}))
            << "only weights";
        const Node& node = dequantised(done->graph);
        EXPECT_EQ(node.attributes.integer("block_size"), 4);
        EXPECT_EQ(node.attributes.integer("axis"), 0);
        const Tensor& scales = *done->graph.value(node.inputs[1]).constant;
        EXPECT_EQ(scales.extents(), (Extents{2, 2}));
        const Tensor& stored = *done->graph.value(node.inputs[0]).constant;
        if (type == StoredType::Int4) {
            EXPECT_FLOAT_EQ(static_cast<float>(scales.at(0)), 3.0F / 7);
            EXPECT_EQ(stored.toInts(),
                      (std::vector<int64_t>{2, -7, 1, 3, 7, 2, -5, 2, 7, 1, 2, -5, 4, 1, 1, 7}));
        }
        ASSERT_EQ(done->errors.size(), 1U);
        EXPECT_GT(done->errors[0].relative, 0);
        EXPECT_LT(done->errors[0].relative, 0.1);
    }
    auto whole = quantised(modelOf(product), weightOnly(StoredType::Int4, 0));
    ASSERT_TRUE(whole) << whole.error().text();
    EXPECT_EQ(whole->plan.pairs[0].axis, 1) << "one scale for each output channel";
}

TEST(QuantizeTypes, WhatIsSavedHasTheOpsetItNeedsAndLoadsTheSame) {
    const struct {
        std::optional<StoredType> type;
        StoredType weights;
        int64_t opset;
    } rows[] = {{StoredType::Int8, StoredType::Int8, 17},
                {StoredType::Int16, StoredType::Int8, 21},
                {StoredType::UInt16, StoredType::Int8, 21},
                {StoredType::Float8E4M3FN, StoredType::Float8E4M3FN, 19},
                {StoredType::Float8E5M2, StoredType::Float8E4M3FN, 19},
                {std::nullopt, StoredType::Int4, 21},
                {StoredType::UInt8, StoredType::UInt4, 21}};
    for (const auto& row : rows) {
        QuantizeOptions options = weightOnly(row.weights, 4);
        options.type = row.type;
        auto done = quantised(modelOf(product), options);
        ASSERT_TRUE(done) << nameOf(row.weights) << done.error().text();
        EXPECT_LT(worst(done->errors), 0.12) << nameOf(row.weights);
        auto bytes = model_io::toBytes(done->graph);
        ASSERT_TRUE(bytes) << bytes.error().text();
        auto again = model_io::loadBytes(*bytes, "", {});
        ASSERT_TRUE(again) << again.error().text();
        EXPECT_EQ(again->opsetImports[""], row.opset) << nameOf(row.weights);
        EXPECT_EQ(text(*again), text(done->graph)) << nameOf(row.weights);
        QuantizeOptions replay = optionsOf();
        auto plan = parsePairPlan(planText(done->plan));
        ASSERT_TRUE(plan) << plan.error().text();
        replay.plan = *plan;
        auto second = quantised(modelOf(product), replay);
        ASSERT_TRUE(second) << second.error().text();
        EXPECT_EQ(text(second->graph), text(done->graph)) << planText(done->plan);
    }
}

TEST(QuantizeTypes, FourBitsAreOfConstants) {
    QuantizeOptions options = optionsOf();
    auto plan = parsePairPlan("quantize 1\n\"MatMul\"[0] INPUT: int4 minmax -1 .. 1 by hand\n");
    ASSERT_TRUE(plan) << plan.error().text();
    options.plan = *plan;
    auto done = quantised(modelOf(product), options);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "plan.type") << done.error().text();
}

TEST(QuantizeTypes, ScalesThatMoveIntoWeightsLeaveTheModelAndTakeTheOutliers) {
    // Two channels of eight are a hundred times the others, which eight bits for all would lose.
    const app::LoadedModel model = modelOf(
        "g (float[6,8] x) => (float[6,3] y, float[6,2] z)"
        "<float[8] s = {1, 100, 1, 1, 1, -80, 1, 1}, float[8] b = {0, 1, 0.5, 0, -1, 0, 0, 1},"
        " float[8,3] v = {1, 2, 3, 0.01, -0.02, 0.01, 2, -1, 1, 1, 1, 2, 3, 1, -2, 0.01, 0.03,"
        "                 -0.02, 1, 2, 1, -1, 2, 3},"
        " float[2,8] w = {1, 0.02, 2, 1, -1, 0.01, 2, 1, 2, -0.01, 1, 3, 1, 0.02, -1, 1}>"
        "{ n = LayerNormalization(x, s, b) y = MatMul(n, v) z = Gemm<transB = 1>(n, w) }");
    QuantizeOptions options = optionsOf();
    auto plain = quantised(model, options);
    ASSERT_TRUE(plain) << plain.error().text();
    options.smooth = 0.5;
    auto smooth = quantised(model, options);
    ASSERT_TRUE(smooth) << smooth.error().text();
    EXPECT_EQ(smooth->smoothed, 1U);
    EXPECT_LT(worst(smooth->errors), worst(plain->errors) / 3);
    auto plan = parsePairPlan(planText(smooth->plan));
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ(plan->smooth, 0.5);
    QuantizeOptions replay = optionsOf();
    replay.plan = *plan;
    auto again = quantised(model, replay);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(text(again->graph), text(smooth->graph));
    replay.plan->data = "other";
    EXPECT_EQ(quantised(model, replay).error().code, "plan.smooth");
}

TEST(QuantizeTypes, MovedScalesComputeTheSameAndOnlyWhereAllReadersAreProducts) {
    Graph graph = modelOf("g (float[4,4] x) => (float[4,2] y, float[4,4] r)"
                          "<float[4] s = {1, 9, 2, 3}, float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}>"
                          "{ n = LayerNormalization(x, s) y = MatMul(n, w)"
                          "  m = Mul(x, s) r = Relu(m) }")
                      .graph;
    const Graph before = graph.clone();
    const InputSets sets = InputSets::generated(1, 2);
    Progress quiet;
    auto moved = migrateScales(graph, {&sets, {}, {}}, 0.5, quiet);
    ASSERT_TRUE(moved) << moved.error().text();
    EXPECT_EQ(*moved, 1U) << "the product with s has another reader";
    EXPECT_TRUE(verify(graph));
    auto judge = OutputJudge::make(before, {&sets, {}, {}}, 2, quiet);
    ASSERT_TRUE(judge) << judge.error().text();
    auto errors = judge->compare(graph, quiet);
    ASSERT_TRUE(errors) << errors.error().text();
    EXPECT_LT(worst(*errors), 1e-6);
}

TEST(QuantizeTypes, CastsToEightBitFloatsSaturateUnlessTheySayOtherwise) {
    const struct {
        const char* cast;
        std::vector<double> wanted; ///< of 500, -1e6, 0.3, 2^-9, 2^-11
    } rows[] = {
        {"Cast<to = 17>", {448, -448, 0.3125, 0x1p-9, 0}},
        {"Cast<to = 19>", {512, -57344, 0.3125, 0x1p-9, 0x1p-11}},
        {"Cast<to = 17, saturate = 0>", {NAN, NAN, 0.3125, 0x1p-9, 0}},
        {"Cast<to = 19, saturate = 0>", {512, -INFINITY, 0.3125, 0x1p-9, 0x1p-11}},
        {"Cast<to = 22>", {4, 0, 0, 0, 0}},
        {"Cast<to = 21>", {4, 0, 0, 0, 0}},
    };
    for (const auto& row : rows) {
        auto graph = model_io::loadText("<ir_version: 10, opset_import: [\"\" : 21]> "
                                        "g (float[5] x) => (float[5] y) { c = " +
                                        std::string(row.cast) + "(x) y = Cast<to = 1>(c) }");
        ASSERT_TRUE(graph) << graph.error().text();
        auto compiled = CompiledGraph::compile(std::move(*graph), {});
        ASSERT_TRUE(compiled) << row.cast << compiled.error().text();
        auto out = compiled->run({Tensor::ofFloats({5}, {500, -1e6F, 0.3F, 0x1p-9F, 0x1p-11F})});
        ASSERT_TRUE(out) << row.cast << out.error().text();
        for (int64_t i = 0; i < 5; ++i) {
            const double wanted = row.wanted[static_cast<size_t>(i)], found = out->front().at(i);
            EXPECT_TRUE(found == wanted || (std::isnan(found) && std::isnan(wanted)))
                << row.cast << " of element " << i << ": " << found << ", not " << wanted;
        }
    }
}
