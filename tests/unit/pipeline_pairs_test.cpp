// SPDX-License-Identifier: Apache-2.0
// What pairs open and block: the kernel that reads the stored numbers, what only converts, and the
// fusion that a pair stands in the way of.
#include "app/pipeline/analysis.h"
#include "app/pipeline/pair_effects.h"
#include "app/report/pairs_text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/unit/library_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using app::PairReport;

namespace {

std::vector<PairReport> effectsOf(const std::string& body) {
    auto graph = model_io::loadText(
        "g (float[1,2,4,4] x) => (y) <float s = {0.5}, int8 z = {0}, float[2] t = {0.5, 0.25}, "
        "int8[2] zz = {0, 0}, int8[2,2,1,1] k = {1, -2, 3, -4}> { " +
        body + " }");
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    app::LoadedModel model;
    model.graph = std::move(*graph);
    Progress quiet;
    EXPECT_TRUE(prepareGraph(model.graph, quiet));
    app::AnalysisOptions options;
    options.fuse.decide = Decide::Rules;
    options.profile = *deviceProfile("cpu");
    const app::RuleLibrary& library = testing_rules::standardLibrary();
    auto analysis = app::analyse(model, library, options, quiet);
    EXPECT_TRUE(analysis) << (analysis ? "" : analysis.error().text());
    auto out = app::pairEffects(model, library, options.fuse, *analysis->fused,
                                *analysis->after.plan, quiet);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return std::move(*out);
}

const PairReport& named(const std::vector<PairReport>& pairs, const std::string& load) {
    for (const PairReport& pair : pairs)
        if (pair.load == load)
            return pair;
    ADD_FAILURE() << "no pair " << load;
    return pairs.front();
}

constexpr const char* input = "xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) "
                              "w = DequantizeLinear<axis=0>(k, t, zz) ";

} // namespace

TEST(PairEffects, AFloatModelHasNone) {
    EXPECT_TRUE(effectsOf("y = Relu(x)").empty());
    EXPECT_EQ(app::renderPairs({}, 10), "");
}

TEST(PairEffects, AProductOfStoredValuesIsOpenedByBothItsPairs) {
    const auto pairs = effectsOf(input + std::string("c = Conv(xf, w) a = Relu(c) "
                                                     "yq = QuantizeLinear(a, s, z) "
                                                     "y = DequantizeLinear(yq, s, z)"));
    ASSERT_EQ(pairs.size(), 3U);
    const PairReport& x = named(pairs, "DequantizeLinear");
    EXPECT_EQ(x.value, "x");
    EXPECT_EQ(x.type, "int8");
    EXPECT_EQ(x.scale, "0.5");
    EXPECT_EQ(x.range, "-64 .. 63.5");
    ASSERT_EQ(x.readers.size(), 1U);
    EXPECT_EQ(x.readers[0].kernel, "Contraction of int8");
    EXPECT_EQ(x.readers[0].rule, "QuantizedConv");
    EXPECT_TRUE(x.blockedNodes.empty());
    const PairReport& w = named(pairs, "DequantizeLinear_1");
    EXPECT_TRUE(w.store.empty());
    EXPECT_EQ(w.scale, "2 along axis 0");
    EXPECT_TRUE(w.opens());
    const PairReport& y = named(pairs, "DequantizeLinear_2");
    EXPECT_TRUE(y.readers.empty());
    EXPECT_GT(y.reformatBytes, 0) << "the output is float: a kernel only converts";
    const std::string text = app::renderPairs(pairs, 10);
    EXPECT_NE(text.find("2 of 3 are read as stored: 2 Contraction of int8"), std::string::npos)
        << text;
    EXPECT_NE(text.find("an output of the model"), std::string::npos) << text;
}

TEST(PairEffects, APairBetweenAConvolutionAndItsActivationBlocksTheirFusion) {
    const std::string tail =
        "cq = QuantizeLinear(c, s, z) cf = DequantizeLinear(cq, s, z) "
        "a = Relu(cf) y = CumSum(a, axis) axis = Constant<value = int64 {0}>()";
    const auto pairs = effectsOf(input + ("c = Conv(xf, w) " + tail));
    const PairReport& blocked = named(pairs, "DequantizeLinear_2");
    EXPECT_EQ(blocked.blockedNodes, (std::vector<std::string>{"Conv", "Relu"}));
    EXPECT_FALSE(blocked.blockedRule.empty());
    EXPECT_NE(app::renderPairs(pairs, 10).find("blocks: " + blocked.blockedRule),
              std::string::npos);
    const auto without = effectsOf(input + std::string("c = Conv(xf, w) a = Relu(c) "
                                                       "y = CumSum(a, axis) "
                                                       "axis = Constant<value = int64 {0}>()"));
    for (const PairReport& pair : without)
        EXPECT_TRUE(pair.blockedNodes.empty()) << pair.value;
}

TEST(PairEffects, PairsOfAnAttentionSayWhichProductNoKernelComputes) {
    const auto pairs = effectsOf(
        "qq = QuantizeLinear(x, s, z) qf = DequantizeLinear(qq, s, z) "
        "kq = QuantizeLinear(x, s, z) kf = DequantizeLinear(kq, s, z) "
        "kt = Transpose<perm=[0,1,3,2]>(kf) h = MatMul(qf, kt) p = Softmax<axis=-1>(h) "
        "pq = QuantizeLinear(p, s, z) pf = DequantizeLinear(pq, s, z) "
        "vq = QuantizeLinear(x, s, z) vf = DequantizeLinear(vq, s, z) y = MatMul(pf, vf)");
    ASSERT_EQ(pairs.size(), 4U);
    for (const PairReport& pair : pairs) {
        EXPECT_FALSE(pair.opens()) << pair.load;
        const std::string text = app::opensText(pair);
        EXPECT_NE(text.find(" kernel computes a product of two computed values"), std::string::npos)
            << text;
    }
    EXPECT_NE(app::opensText(named(pairs, "DequantizeLinear_1")).find("`MatMul`"),
              std::string::npos)
        << "the product stands behind the Transpose that reads the pair";
    const std::string text = app::renderPairs(pairs, 10);
    EXPECT_NE(text.find("0 of 4 are read as stored"), std::string::npos) << text;
}

TEST(PairEffects, AWeightBehindATransposeIsNoComputedValue) {
    const auto pairs = effectsOf("wf = DequantizeLinear<axis=0>(m, t, zz) "
                                 "wt = Transpose<perm=[1,0]>(wf) y = MatMul(x, wt) "
                                 "m = Constant<value = int8[2,4] {1, 2, 3, 4, 5, 6, 7, 8}>()");
    ASSERT_EQ(pairs.size(), 1U);
    EXPECT_EQ(app::opensText(pairs[0]), "nothing: `Transpose` in float");
}

TEST(PairEffects, AProductWithAFloatOperandSaysSo) {
    const auto pairs = effectsOf("xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) "
                                 "f = Constant<value = float[2,2,1,1] {1, 2, 3, 4}>() "
                                 "y = Conv(xf, f)");
    ASSERT_EQ(pairs.size(), 1U);
    EXPECT_EQ(app::opensText(pairs[0]), "nothing: `Conv` in float: its other operand is float");
}

TEST(PairEffects, APairInFrontOfFloatWorkOpensNothing) {
    const auto pairs = effectsOf("xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) "
                                 "y = CumSum(xf, axis) axis = Constant<value = int64 {0}>()");
    ASSERT_EQ(pairs.size(), 1U);
    EXPECT_FALSE(pairs[0].opens());
    EXPECT_GT(pairs[0].reformatBytes, 0);
    const std::string text = app::renderPairs(pairs, 10);
    EXPECT_NE(text.find("nothing: `CumSum` in float"), std::string::npos) << text;
    EXPECT_NE(app::renderPairs(pairs, 0).find("and 1 more"), std::string::npos);
}
