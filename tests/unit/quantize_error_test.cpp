// SPDX-License-Identifier: Apache-2.0
// The error of every node against float: of pairs, of 16-bit storage, and where there is none.
#include "app/quantize/node_error.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

using namespace fuselage;
using namespace fuselage::quantize;

namespace {

app::LoadedModel floatModelOf(const std::string& text) {
    app::LoadedModel out;
    Progress quiet;
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    if (graph) {
        out.graph = std::move(*graph);
        EXPECT_TRUE(prepareGraph(out.graph, quiet));
    }
    return out;
}

Result<std::vector<app::NodeErrorReport>> errorsOf(const std::string& text,
                                                   Precision precision = Precision::Fp32,
                                                   int64_t mostBytes = int64_t{1} << 20) {
    const app::LoadedModel model = floatModelOf(text);
    const InputSets sets = InputSets::generated(1, 1);
    NodeErrorRequest request{&sets, {}, mostBytes};
    request.run.precision = precision;
    Progress quiet;
    return nodeErrors(model, request, quiet);
}

/// A coarse scale: half a step is a large error.
constexpr const char* coarse = "g (float[1,64] x) => (float[1,64] y)"
                               "<float s = {0.25}, int8 z = {0}> {"
                               "  a = Abs(x) q = QuantizeLinear(a, s, z)"
                               "  d = DequantizeLinear(q, s, z) b = Neg(d) y = Relu(b) }";

} // namespace

TEST(QuantizeError, WhatAPairLosesIsSeenBehindItAndNotBefore) {
    auto errors = errorsOf(coarse);
    ASSERT_TRUE(errors) << errors.error().text();
    std::map<std::string, double> byValue;
    for (const app::NodeErrorReport& each : *errors)
        byValue[each.value] = each.relative;
    EXPECT_EQ(byValue.at("a"), 0);
    EXPECT_GT(byValue.at("b"), 0.01);
    EXPECT_LT(byValue.at("b"), 1);
    EXPECT_FALSE(byValue.contains("q"));
}

TEST(QuantizeError, PartsThatFitInMemoryGiveTheSame) {
    auto whole = errorsOf(coarse), parts = errorsOf(coarse, Precision::Fp32, 1);
    ASSERT_TRUE(whole && parts);
    ASSERT_EQ(whole->size(), parts->size());
    for (size_t i = 0; i < whole->size(); ++i)
        EXPECT_DOUBLE_EQ((*whole)[i].relative, (*parts)[i].relative);
}

TEST(QuantizeError, SixteenBitsLoseLittleButSomething) {
    auto errors = errorsOf("g (float[4,64] x) => (float[4,64] y)"
                           " { a = Mul(x, x) b = Exp(a) y = Sqrt(b) }",
                           Precision::Fp16);
    ASSERT_TRUE(errors) << errors.error().text();
    ASSERT_FALSE(errors->empty());
    EXPECT_GT(errors->back().relative, 0);
    EXPECT_LT(errors->back().relative, 0.01);
}

TEST(QuantizeError, AFloatModelLosesNothingAndThatIsSaid) {
    EXPECT_EQ(errorsOf("g (float[4] x) => (float[4] y) { y = Relu(x) }").error().code,
              "errors.none");
}

TEST(QuantizeError, CancellingEndsIt) {
    const app::LoadedModel model = floatModelOf(coarse);
    const InputSets sets = InputSets::generated(1, 1);
    Progress stopped;
    stopped.cancel();
    EXPECT_EQ(nodeErrors(model, {&sets}, stopped).error().code, "cancelled");
}
