// SPDX-License-Identifier: Apache-2.0
// Small models quantised end to end: where pairs go, which are shared, what is left out.
#include "app/quantize/fold_norm.h"
#include "core/graph/verify.h"
#include "tests/unit/quantize_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using namespace fuselage::quantize;
using namespace fuselage::testing_quantize;

TEST(QuantizeModel, PairsGoWhereTheRulesAskAndReadersOfOneValueShareThem) {
    const app::LoadedModel model = modelOf(residual);
    auto done = quantised(model, optionsOf());
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_TRUE(verify(done->graph));
    auto found = operatorsOf(done->graph);
    EXPECT_EQ(found["QuantizeLinear"], 2) << "x; c for the convolution and the sum";
    EXPECT_EQ(found["DequantizeLinear"], 4) << "and both weights";
    EXPECT_EQ(done->plan.pairs.size(), 5u);
    std::map<std::string, size_t> counts;
    for (const PointCount& count : done->counts)
        counts[count.rule + " " + count.point] = count.placed;
    EXPECT_EQ(counts, (std::map<std::string, size_t>{{"ConvBNReLU INPUT", 1},
                                                     {"ConvBNReLU W", 1},
                                                     {"ConvBNAddReLU INPUT", 1},
                                                     {"ConvBNAddReLU W", 1},
                                                     {"ConvBNAddReLU RESIDUAL_INPUT", 1}}));
    ASSERT_EQ(done->errors.size(), 1u);
    EXPECT_GT(done->errors[0].relative, 0);
    EXPECT_LT(done->errors[0].relative, 0.02);
}

TEST(QuantizeModel, WeightsHaveAScaleForEachOutputChannelOfTheirReader) {
    const struct {
        const char* node;
        int64_t axis;
    } rows[] = {
        {"y = Conv(i, w)", 0},
        {"y = ConvTranspose(i, w)", 1},
    };
    QuantizeOptions everywhere = optionsOf();
    everywhere.everywhere = true;
    for (const auto& row : rows) {
        auto done = quantised(modelOf(std::string("g (float[1,2,4,4] x) => (y) <float[2,2,1,1] w = "
                                                  "{1, 2, 3, 4}> { i = Abs(x) ") +
                                      row.node + " }"),
                              everywhere);
        ASSERT_TRUE(done) << row.node << done.error().text();
        ASSERT_EQ(done->plan.pairs.size(), 2u) << row.node;
        EXPECT_EQ(done->plan.pairs[1].axis, row.axis) << row.node;
    }
    for (const auto& [node, axis] :
         {std::pair("y = MatMul(i, w)", 1), std::pair("y = Gemm(i, w)", 1),
          std::pair("y = Gemm<transB = 1>(i, w)", 0)}) {
        auto done = quantised(
            modelOf(std::string("g (float[3,2] x) => (y) <float[2,2] w = {1, 2, 3, 4}> { i = "
                                "Abs(x) ") +
                    node + " }"),
            optionsOf());
        ASSERT_TRUE(done) << node << done.error().text();
        ASSERT_EQ(done->plan.pairs.size(), 2u) << node;
        EXPECT_EQ(done->plan.pairs[1].axis, axis) << node;
    }
}

TEST(QuantizeModel, WhatNoKernelReadsAsIntegersIsLeftOutUnlessAskedFor) {
    const app::LoadedModel attention =
        modelOf("g (float[2,4,8] q, float[2,4,8] k, float[2,4,8] v) => (float[2,4,8] y) "
                "{ t = Transpose<perm = [0, 2, 1]>(k) s = MatMul(q, t) p = Softmax<axis = -1>(s) "
                "y = MatMul(p, v) }");
    const app::LoadedModel enlarged =
        modelOf("g (float[1,2,4,4] x) => (float[1,1,5,5] y) <float[2,1,2,2] w = "
                "{1, 2, 3, 4, 5, 6, 7, 8}> { c = ConvTranspose(x, w) y = Relu(c) }");
    QuantizeOptions options = optionsOf();
    auto nothing = quantised(attention, options);
    ASSERT_FALSE(nothing);
    EXPECT_EQ(nothing.error().code, "quantize.nothing");
    EXPECT_NE(nothing.error().message.find("two computed values in integers; --everywhere"),
              std::string::npos)
        << nothing.error().message;
    auto weights = quantised(enlarged, options);
    ASSERT_TRUE(weights) << weights.error().text();
    EXPECT_EQ(operatorsOf(weights->graph)["QuantizeLinear"], 0);
    EXPECT_EQ(operatorsOf(weights->graph)["DequantizeLinear"], 1);
    options.everywhere = true;
    auto all = quantised(attention, options);
    ASSERT_TRUE(all) << all.error().text();
    EXPECT_EQ(operatorsOf(all->graph)["QuantizeLinear"], 3);
    auto both = quantised(enlarged, options);
    ASSERT_TRUE(both) << both.error().text();
    EXPECT_EQ(operatorsOf(both->graph)["QuantizeLinear"], 1);
}

TEST(QuantizeModel, APairStandsInFrontOfWhatOnlyGivesAnotherShape) {
    const auto maker = [](const std::string& views) {
        auto done = quantised(modelOf("g (float[2,2,1,1] x) => (y) <float[2,2] w = {1, 2, 3, 4}, "
                                      "int64[2] s = {2, 2}> { i = Relu(x) " +
                                      views + " y = MatMul(f, w) }"),
                              optionsOf());
        EXPECT_TRUE(done) << (done ? "" : done.error().text());
        const Graph& graph = done->graph;
        EXPECT_EQ(done->plan.pairs.size(), 2u);
        EXPECT_EQ(done->plan.pairs[0].operand, 0u) << "the plan names the read of the product";
        EXPECT_TRUE(verify(graph));
        for (NodeId id : graph.nodes())
            if (graph.node(id).op == Op::QuantizeLinear)
                return std::string(nameOf(graph.node(graph.producer(graph.node(id).inputs[0])).op));
        return std::string();
    };
    EXPECT_EQ(maker("f = Flatten(i)"), "Relu");
    EXPECT_EQ(maker("r = Flatten<axis = 2>(i) f = Reshape(r, s)"), "Relu");
    EXPECT_EQ(maker("t = Flatten(i) f = Transpose<perm = [1, 0]>(t)"), "Transpose");
}

TEST(QuantizeModel, AShapeThatOthersReadKeepsItsPairBehind) {
    auto done = quantised(modelOf("g (float[2,2,1,1] x) => (y, z) <float[2,2] w = {1, 2, 3, 4}> "
                                  "{ i = Relu(x) f = Flatten(i) y = MatMul(f, w) z = Neg(f) }"),
                          optionsOf());
    ASSERT_TRUE(done) << done.error().text();
    for (NodeId id : done->graph.nodes())
        if (const Node& node = done->graph.node(id); node.op == Op::QuantizeLinear)
            EXPECT_EQ(done->graph.node(done->graph.producer(node.inputs[0])).op, Op::Flatten);
}

TEST(QuantizeModel, ValuesWrittenOutAreThoseOfTheDefinition) {
    auto done =
        quantised(modelOf("g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, -4, 0.5, 2}>"
                          "{ y = MatMul(x, w) }"),
                  optionsOf());
    ASSERT_TRUE(done) << done.error().text();
    const ValueId stored = done->graph.findValue("w_quantized");
    ASSERT_TRUE(stored.valid());
    EXPECT_EQ(done->graph.value(stored).constant->toInts(),
              (std::vector<int64_t>{127, -127, 64, 64})); // 63.5 to even
    const Tensor& scales = *done->graph.value(done->graph.findValue("w_scale")).constant;
    EXPECT_FLOAT_EQ(static_cast<float>(scales.at(0)), 1.0F / 127);
    EXPECT_FLOAT_EQ(static_cast<float>(scales.at(1)), 4.0F / 127);
}

TEST(QuantizeModel, AFoldedNormalisationComputesTheSame) {
    const char* text =
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y)"
        "<float[2,2,1,1] w = {1, 2, 3, 4}, float[2] s = {1, -2}, float[2] b = {3, 4},"
        " float[2] m = {5, 6}, float[2] v = {7, 8}>"
        "{ c = Conv(x, w) n = BatchNormalization(c, s, b, m, v) y = Relu(n) }";
    const app::LoadedModel model = modelOf(text);
    Graph folded = model.graph.clone();
    EXPECT_EQ(foldNormalisation(folded), 1u);
    EXPECT_TRUE(verify(folded));
    EXPECT_EQ(operatorsOf(folded), (std::map<std::string, int>{{"Conv", 1}, {"Relu", 1}}));
    Progress quiet;
    const InputSets sets = InputSets::generated(1, 2);
    auto judge = OutputJudge::make(model.graph, {&sets, {}, {}}, 2, quiet);
    ASSERT_TRUE(judge) << judge.error().text();
    auto errors = judge->compare(folded, quiet);
    ASSERT_TRUE(errors) << errors.error().text();
    EXPECT_LT(worst(*errors), 1e-6);
    // Somebody else reads the convolution: it stays as it is.
    Graph read = modelOf("g (float[1,1,2,2] x) => (y, c) <float[1,1,1,1] w = {2}, float[1] s = {1}>"
                         "{ c = Conv(x, w) y = BatchNormalization(c, s, s, s, s) }")
                     .graph;
    EXPECT_EQ(foldNormalisation(read), 0u);
}

TEST(QuantizeModel, MergedProjectionsAreTakenApartAgain) {
    auto done = quantised(
        modelOf("g (float[4,2] x) => (float[4,2] a, float[4,2] b, float[4,2] c)"
                "<float[2,2] u = {1,2,3,4}, float[2,2] v = {2,3,4,5}, float[2,2] w = {3,4,5,6}>"
                "{ a = MatMul(x, u) b = MatMul(x, v) c = MatMul(x, w) }"),
        optionsOf());
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->plan.pairs.size(), 6u);
    EXPECT_EQ(operatorsOf(done->graph),
              (std::map<std::string, int>{
                  {"MatMul", 3}, {"QuantizeLinear", 1}, {"DequantizeLinear", 4}}));
}

TEST(QuantizeModel, WhatAPersonLeavesOutIsCounted) {
    const app::LoadedModel model = modelOf(residual);
    const struct {
        const char* skip;
        size_t left;
    } rows[] = {{"rule:ConvBNReLU", 3},  {"point:RESIDUAL_INPUT", 4},
                {"op:Conv", 1},          {"op:Conv group==1", 1},
                {"node:Conv_*", 3},      {"rule:*ReLU", 0},
                {"op:Conv group<=1", 1}, {"point:W", 3}};
    for (const auto& row : rows) {
        QuantizeOptions options = optionsOf();
        options.skip = {row.skip};
        auto done = quantised(model, options);
        if (row.left == 0) {
            ASSERT_FALSE(done) << row.skip;
            EXPECT_EQ(done.error().code, "quantize.nothing");
            continue;
        }
        ASSERT_TRUE(done) << row.skip << done.error().text();
        EXPECT_EQ(done->plan.pairs.size(), row.left) << row.skip;
        EXPECT_EQ(done->leftOut.size(), 5 - row.left) << row.skip;
    }
    for (const char* skip : {"rule:ConvBN", "op:Gemm", "op:Conv group>1", "node:Conv_9", "Conv",
                             "size:3", "op:Conv group", "op:Conv group=>1", "op:Conv group>x"}) {
        QuantizeOptions options = optionsOf();
        options.skip = {skip};
        auto done = quantised(model, options);
        ASSERT_FALSE(done) << skip;
        EXPECT_EQ(done.error().code, "usage.skip") << skip;
    }
    QuantizeOptions options = optionsOf();
    options.keepFloat = {"Conv_1"};
    auto done = quantised(model, options);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->plan.pairs.size(), 3u);
    options.keepFloat = {"Conv_9"};
    EXPECT_EQ(quantised(model, options).error().code, "usage.node");
}

TEST(QuantizeModel, AChoiceOfNodesIsNoNodeAndTheAnswerSaysWhoTakesIt) {
    QuantizeOptions options = optionsOf();
    for (const char* name : {"op:Conv", "rule:ConvBNReLU", "Conv_*"}) {
        options.keepFloat = {name};
        auto done = quantised(modelOf(residual), options);
        ASSERT_FALSE(done) << name;
        EXPECT_EQ(done.error().code, "usage.node");
        EXPECT_NE(done.error().fix.find(std::string("--skip '") + name), std::string::npos)
            << done.error().fix;
    }
}

TEST(QuantizeModel, WhyNothingIsLeftToQuantiseIsSaid) {
    const struct {
        const char* text;
        const char* says;
    } rows[] = {
        {"g (float[4,2] x) => (float[4,2] y) <int8[2,2] w = {1, 2, 3, 4}> {"
         " q, s, z = DynamicQuantizeLinear(x) m = MatMulInteger(q, w, z) f = Cast<to = 1>(m)"
         " y = Mul(f, s) }",
         "1 MatMulInteger"},
        {"g (float[4,2] x) => (float[4,2] y) { y = Exp(x) }", "no rule asks"},
    };
    for (const auto& row : rows) {
        auto done = quantised(modelOf(row.text), optionsOf());
        ASSERT_FALSE(done) << row.text;
        EXPECT_EQ(done.error().code, "quantize.nothing");
        EXPECT_NE(done.error().message.find(row.says), std::string::npos) << done.error().text();
    }
    QuantizeOptions options = optionsOf();
    options.skip = {"rule:*"};
    EXPECT_NE(quantised(modelOf(residual), options).error().message.find("5 --skip rule:*"),
              std::string::npos);
}

TEST(QuantizeModel, ARuleOfOnesOwnLeavesDepthwiseConvolutionsOut) {
    const app::RuleLibrary rules =
        libraryOf("rule Mine { match { y = Conv(x, w: const) -> Relu; } "
                  "qdq { INPUT: x if w.shape[1] > 1; W: w axis 0 if w.shape[1] > 1; } }");
    auto done =
        quantised(modelOf("g (float[1,2,4,4] x) => (y, z) <float[2,2,1,1] v = {1, 2, 3, 4}, "
                          "float[2,1,1,1] w = {1, 2}>"
                          "{ a = Conv(x, v) y = Relu(a) b = Conv<group = 2>(x, w) z = Relu(b) }"),
                  optionsOf(), rules);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->plan.pairs.size(), 2u);
    ASSERT_EQ(done->leftOut.size(), 2u);
    EXPECT_EQ(done->leftOut[0].why, "its condition is false");
}

TEST(QuantizeModel, BiasesMayBeIntegers) {
    const app::LoadedModel model = modelOf(residual);
    QuantizeOptions options = optionsOf();
    options.bias = BiasForm::Integer;
    auto done = quantised(model, options);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->inserted.biases, 1u);
    EXPECT_LT(done->errors[0].relative, 0.02);
}
