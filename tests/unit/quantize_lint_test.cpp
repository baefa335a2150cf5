// SPDX-License-Identifier: Apache-2.0
// Findings about pairs: each with a model that has it, and with its own advice followed.
#include "app/pipeline/fuse.h"
#include "app/quantize/pair_lint.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/unit/library_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace fuselage;
using quantize::PairLint;

namespace {

const char* const stored = "<float s = {0.5}, int8 z = {0}, int8 off = {3}, uint8 zero = {0}, "
                           "float[2] t = {0.5, 0.25}, int8[2] zz = {0, 0}, float u = {0.125}, "
                           "int8[2,2,1,1] k = {1, -2, 3, -4}, int8[2,2,1,1] l = {4, 3, -2, 1}, "
                           "float nil = {0}, float less = {-0.5}, float[2] half = {0.5, 0}, "
                           "int8[2] offs = {0, 5}> ";

/// The model's findings as "pair-twice at q"; nodes are named by what they make.
std::vector<std::string> findingsOfModel(const std::string& text) {
    auto model = model_io::loadText(text);
    EXPECT_TRUE(model) << (model ? "" : model.error().text());
    Progress quiet;
    EXPECT_TRUE(prepareGraph(*model, quiet));
    app::FuseOptions options;
    options.decide = Decide::Rules;
    auto fused = app::fuseGraph(*model, testing_rules::standardLibrary(), options, quiet);
    EXPECT_TRUE(fused) << (fused ? "" : fused.error().text());
    std::vector<std::string> out;
    for (const auto& finding : quantize::lintPairs(*model, fused->graph)) {
        const NodeId node = model->findNode(finding.node);
        EXPECT_TRUE(node.valid()) << finding.node;
        EXPECT_FALSE(finding.message.empty() || finding.fix.empty());
        out.push_back(std::string(nameOf(finding.lint)) + " at " +
                      model->value(model->node(node).outputs[0]).name);
    }
    return out;
}

std::vector<std::string> findingsOf(const std::string& body) {
    return findingsOfModel("g (float[1,2,4,4] x, float[1,2,4,4] r) => (y) " + std::string(stored) +
                           "{" + body + "}");
}

using Found = std::vector<std::string>;

constexpr const char* input = "xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) "
                              "w = DequantizeLinear<axis=0>(k, t, zz) ";

} // namespace

TEST(PairLint, AQuantisedConvolutionHasNoFindings) {
    EXPECT_EQ(findingsOf(std::string(input) + "c = Conv(xf, w) yq = QuantizeLinear(c, s, z) "
                                              "y = DequantizeLinear(yq, s, z)"),
              Found{});
}

TEST(PairLint, APairInFrontOfFloatWorkIsUnused) {
    EXPECT_EQ(findingsOf("xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) "
                         "y = CumSum(xf, axis)"
                         " axis = Constant<value = int64 {0}>()"),
              Found{"pair-unused at xf"});
    EXPECT_EQ(findingsOf("y = CumSum(x, axis) axis = Constant<value = int64 {0}>()"), Found{});
}

TEST(PairLint, AFloatResultBetweenTwoProducts) {
    const std::string second = "v = DequantizeLinear<axis=0>(l, t, zz) ";
    EXPECT_EQ(findingsOf(input + second + "c = Conv(xf, w) a = Relu(c) y = Conv(a, v)"),
              Found{"pair-float-result at c"});
    EXPECT_EQ(findingsOf(input + second +
                         "c = Conv(xf, w) a = Relu(c) aq = QuantizeLinear(a, s, z) "
                         "af = DequantizeLinear(aq, s, z) y = Conv(af, v)"),
              Found{});
}

TEST(PairLint, AResidualThatIsFloat) {
    EXPECT_EQ(findingsOf(input + std::string("c = Conv(xf, w) a = Add(c, r) b = Relu(a) "
                                             "y = QuantizeLinear(b, s, z)")),
              Found{"pair-float-residual at a"});
    EXPECT_EQ(findingsOf(input + std::string("c = Conv(xf, w) rq = QuantizeLinear(r, s, z) "
                                             "rf = DequantizeLinear(rq, s, z) a = Add(c, rf) "
                                             "b = Relu(a) y = QuantizeLinear(b, s, z)")),
              Found{});
}

TEST(PairLint, AZeroPointThatIsNotZero) {
    const auto with = [](const std::string& zero) {
        return "xq = QuantizeLinear(x, s, " + zero + ") xf = DequantizeLinear(xq, s, " + zero +
               ") w = DequantizeLinear<axis=0>(k, t, zz) y = Conv(xf, w)";
    };
    EXPECT_EQ(findingsOf(with("off")), Found{"pair-asymmetric at xq"});
    EXPECT_EQ(findingsOf(with("z")), Found{});
}

TEST(PairLint, StoredTwice) {
    EXPECT_EQ(findingsOf("xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) "
                         "aq = QuantizeLinear(xf, u, z) af = DequantizeLinear(aq, u, z) "
                         "w = DequantizeLinear<axis=0>(k, t, zz) y = Conv(af, w)"),
              Found{"pair-twice at aq"});
    EXPECT_EQ(findingsOf("aq = QuantizeLinear(x, u, z) af = DequantizeLinear(aq, u, z) "
                         "w = DequantizeLinear<axis=0>(k, t, zz) y = Conv(af, w)"),
              Found{});
}

TEST(PairLint, APairBehindWhatOnlyPicks) {
    const std::string pool = "<kernel_shape=[2,2], strides=[2,2]>";
    const std::string tail = "w = DequantizeLinear<axis=0>(k, t, zz) y = Conv(pf, w)";
    EXPECT_EQ(findingsOf("a = Relu(x) p = MaxPool" + pool +
                         "(a) pq = QuantizeLinear(p, s, z) "
                         "pf = DequantizeLinear(pq, s, z) " +
                         tail),
              Found{"pair-movable at pq"});
    EXPECT_EQ(findingsOf("a = Relu(x) aq = QuantizeLinear(a, s, z) af = DequantizeLinear(aq, s, z) "
                         "p = MaxPool" +
                         pool +
                         "(af) pq = QuantizeLinear(p, s, z) "
                         "pf = DequantizeLinear(pq, s, z) " +
                         tail),
              Found{});
}

// Each mover behind a product: told of, gone where its pair stands in front of it, and moved there
// by the rules.
TEST(PairLint, WhatItSaysOfMovesTheRulesDo) {
    const std::string constants =
        "g (float[1,2,4,4] x, float[1,2,4,4] r) => (y) <float s = {0.5}, int8 z = {0}, "
        "int64[1] b = {0}, int64[1] e = {1}, int64[1] one = {1}, int64[2] n = {2, 16}, "
        "int64[1] first = {0}, float[1] u = {0.5}, int8[1] uz = {0}> {";
    const struct {
        const char *op, *floats, *integers;
    } rows[] = {
        {"MaxPool", "p = MaxPool<kernel_shape=[2,2]>(a)", "p = MaxPool<kernel_shape=[2,2]>(q)"},
        {"Transpose", "p = Transpose<perm=[0,2,3,1]>(a)", "p = Transpose<perm=[0,2,3,1]>(q)"},
        {"Reshape", "p = Reshape(a, n)", "p = Reshape(q, n)"},
        {"Flatten", "p = Flatten<axis=2>(a)", "p = Flatten<axis=2>(q)"},
        {"Squeeze", "p = Squeeze(a, first)", "p = Squeeze(q, first)"},
        {"Unsqueeze", "p = Unsqueeze(a, one)", "p = Unsqueeze(q, one)"},
        {"Slice", "p = Slice(a, b, e, one)", "p = Slice(q, b, e, one)"},
        {"Concat", "c = Tanh(r) p = Concat<axis=1>(a, c)",
         "c = Tanh(r) d = QuantizeLinear(c, s, z) p = Concat<axis=1>(q, d)"},
    };
    for (const auto& row : rows) {
        const std::string told = constants + "a = Relu(x) " + row.floats +
                                 " pq = QuantizeLinear(p, s, z) pf = DequantizeLinear(pq, s, z) "
                                 "y = Exp(pf) }";
        Found found = findingsOfModel(told);
        EXPECT_EQ(std::count(found.begin(), found.end(), "pair-movable at pq"), 1) << row.op;
        found = findingsOfModel(constants + "a = Relu(x) q = QuantizeLinear(a, s, z) " +
                                row.integers + " pf = DequantizeLinear(p, s, z) y = Exp(pf) }");
        EXPECT_EQ(std::count_if(found.begin(), found.end(),
                                [](const auto& one) { return one.starts_with("pair-movable"); }),
                  0)
            << row.op;
        auto model = model_io::loadText(told);
        ASSERT_TRUE(model) << row.op;
        Progress quiet;
        ASSERT_TRUE(prepareGraph(*model, quiet));
        app::FuseOptions options;
        options.decide = Decide::Rules;
        auto fused = app::fuseGraph(*model, testing_rules::standardLibrary(), options, quiet);
        ASSERT_TRUE(fused) << fused.error().text();
        EXPECT_EQ(fused->trace.applied("QuantizeBefore" + std::string(row.op)), 1U) << row.op;
    }
}

TEST(PairLint, OneScaleForAllChannels) {
    const auto with = [](const std::string& weight) {
        return "xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) w = " + weight +
               " y = Conv(xf, w)";
    };
    EXPECT_EQ(findingsOf(with("DequantizeLinear(k, s, z)")), Found{"pair-per-tensor at w"});
    EXPECT_EQ(findingsOf(with("DequantizeLinear<axis=0>(k, t, zz)")), Found{});
}

TEST(PairLint, AScaleThatIsNoPositiveNumber) {
    const std::string tail = "w = DequantizeLinear<axis=0>(k, t, zz) y = Conv(xf, w)";
    for (const char* scale : {"nil", "less"})
        EXPECT_EQ(findingsOf("xq = QuantizeLinear(x, " + std::string(scale) +
                             ", z) xf = DequantizeLinear(xq, " + scale + ", z) " + tail),
                  Found{"pair-scale at xq"})
            << "one finding for both nodes of " << scale;
    EXPECT_EQ(findingsOf("xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) "
                         "w = DequantizeLinear<axis=0>(k, half, zz) y = Conv(xf, w)"),
              Found{"pair-scale at w"});
    EXPECT_EQ(findingsOf("xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) " + tail),
              Found{})
        << "calibrated again";
}

TEST(PairLint, NoNumberIsNoScale) {
    Graph graph;
    auto model = model_io::loadText("g (float[2] x) => (float[2] y) <float s = {1}> {"
                                    "q = QuantizeLinear(x, s) y = DequantizeLinear(q, s) }");
    ASSERT_TRUE(model) << model.error().text();
    EXPECT_TRUE(quantize::lintPairs(*model, graph).empty());
    auto scale = std::make_shared<Tensor>(DType::Float32, Extents{});
    for (float bad : {NAN, INFINITY}) {
        scale->as<float>()[0] = bad;
        const ValueId changed = model->addConstant("bad", std::make_shared<Tensor>(scale->clone()));
        for (NodeId node : model->nodes())
            model->setInput(node, 1, changed);
        const auto found = quantize::lintPairs(*model, graph);
        ASSERT_EQ(found.size(), 1u) << bad;
        EXPECT_EQ(found[0].lint, PairLint::Scale) << found[0].message;
    }
}

TEST(PairLint, TheTwoNodesOfAPairAgree) {
    const std::string tail = "w = DequantizeLinear<axis=0>(k, t, zz) y = Conv(xf, w)";
    for (const char* other : {"u, z", "s, off"})
        EXPECT_EQ(findingsOf("xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, " +
                             std::string(other) + ") " + tail),
                  Found{"pair-unequal at xf"})
            << other;
    EXPECT_EQ(findingsOf("xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s) " + tail),
              Found{})
        << "no zero point is 0";
}

TEST(PairLint, WeightsThatHaveZeroPoints) {
    const std::string begin = "xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) ";
    EXPECT_EQ(findingsOf(begin + "w = DequantizeLinear<axis=0>(k, t, offs) y = Conv(xf, w)"),
              Found{"pair-weight-zero at w"});
    EXPECT_EQ(findingsOf(begin + "w = DequantizeLinear<axis=0>(k, t, zz) y = Conv(xf, w)"),
              Found{});
}

TEST(PairLint, APairBetweenAProductAndItsActivation) {
    const std::string begin = std::string(input) + "c = Conv(xf, w) ";
    const std::string end = "v = DequantizeLinear<axis=0>(l, t, zz) y = Conv(af, v)";
    EXPECT_EQ(findingsOf(begin +
                         "cq = QuantizeLinear(c, s, z) cf = DequantizeLinear(cq, s, z) "
                         "a = Relu(cf) aq = QuantizeLinear(a, s, z) "
                         "af = DequantizeLinear(aq, s, z) " +
                         end),
              Found{"pair-before-activation at cq"});
    EXPECT_EQ(findingsOf(begin +
                         "a = Relu(c) aq = QuantizeLinear(a, s, z) "
                         "af = DequantizeLinear(aq, s, z) " +
                         end),
              Found{});
}

TEST(PairLint, ScalesOfAWeightRunAlongItsOutputChannels) {
    const auto with = [](const std::string& axis) {
        return "xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) w = "
               "DequantizeLinear<axis=" +
               axis + ">(k, t, zz) y = Conv(xf, w)";
    };
    EXPECT_EQ(findingsOf(with("1")), Found{"pair-wrong-axis at w"});
    EXPECT_EQ(findingsOf(with("-3")), Found{"pair-wrong-axis at w"});
    EXPECT_EQ(findingsOf(with("0")), Found{});
    EXPECT_EQ(findingsOf(with("-4")), Found{});
}

TEST(PairLint, AnActivationHasOneScale) {
    const auto with = [](const std::string& scale, const std::string& zero) {
        return "xq = QuantizeLinear<axis=1>(x, " + scale + ", " + zero +
               ") xf = DequantizeLinear<axis=1>(xq, " + scale + ", " + zero +
               ") w = DequantizeLinear<axis=0>(k, t, zz) y = Conv(xf, w)";
    };
    const Found many = findingsOf(with("t", "zz"));
    EXPECT_EQ(std::count(many.begin(), many.end(), "pair-activation-scales at xq"), 1);
    EXPECT_EQ(findingsOf(with("s", "z")), Found{});
}

namespace {

/// Of a weight [128, 2] of a product, stored so, with a scale for each column where `block` is 0.
Found lintsOfWeight(DType stored, int64_t block) {
    Graph graph;
    const ValueId x = graph.addInput("x", tensorType(DType::Float32, Shape{3, 128}));
    const ValueId k = graph.addConstant("k", std::make_shared<Tensor>(stored, Extents{128, 2}));
    auto ones =
        std::make_shared<Tensor>(DType::Float32, block == 0 ? Extents{2} : Extents{128 / block, 2});
    std::fill(ones->as<float>().begin(), ones->as<float>().end(), 1.0F);
    NodeSpec load{Op::DequantizeLinear, "load", {k, graph.addConstant("s", ones)}, {"w"}, {}, {}};
    load.attributes.set("axis", int64_t{block == 0});
    load.attributes.set("block_size", block);
    const ValueId w = graph.node(graph.addNode(std::move(load))).outputs[0];
    const NodeId product = graph.addNode({Op::MatMul, "m", {x, w}, {"y"}, {}, {}});
    graph.addOutput(graph.node(product).outputs[0]);
    inferShapes(graph);
    Found out;
    for (const auto& finding : quantize::lintPairs(graph, Graph()))
        out.emplace_back(nameOf(finding.lint));
    return out;
}

} // namespace

TEST(PairLint, TypesThatTensorRTTakes) {
    const auto with = [](const std::string& type, const std::string& zero) {
        return "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, float[2] t = {0.5, "
               "0.25}, int8[2,2,1,1] k = {1, -2, 3, -4}, int8[2] zz = {0, 0}, " +
               type + " z = {" + zero +
               "}> {xq = QuantizeLinear(x, s, z) xf = DequantizeLinear(xq, s, z) "
               "w = DequantizeLinear<axis=0>(k, t, zz) y = Conv(xf, w) }";
    };
    for (const char* type : {"uint8", "int16", "uint16"})
        EXPECT_EQ(findingsOfModel(with(type, "0")), Found{"pair-type at xf"}) << type;
    EXPECT_EQ(findingsOfModel(with("uint8", "3")),
              (Found{"pair-asymmetric at xq", "pair-type at xf"}));
    EXPECT_EQ(findingsOfModel(with("int8", "0")), Found{});
    for (DType type : {DType::UInt8, DType::Float8E5M2, DType::UInt4, DType::Int16})
        EXPECT_EQ(lintsOfWeight(type, 64), Found{"pair-type"}) << nameOf(type);
    for (DType type : {DType::Int8, DType::Float8E4M3FN, DType::Int4})
        EXPECT_EQ(lintsOfWeight(type, 64), Found{}) << nameOf(type);
}

TEST(PairLint, BlocksThatTensorRTTakes) {
    for (int64_t block : {16, 32, 0})
        EXPECT_EQ(lintsOfWeight(DType::Int4, block), Found{"pair-block"}) << block;
    for (int64_t block : {64, 128})
        EXPECT_EQ(lintsOfWeight(DType::Int4, block), Found{}) << block;
}

// What no runtime takes, each beside the advice followed.
TEST(PairLint, ScalesThatDoNotFitWhatTheyScale) {
    const struct {
        const char *constants, *bad, *good;
    } rows[] = {
        {"float[3] a = {1, 1, 1}, float[2] b = {1, 1}", "q = QuantizeLinear(x, a)",
         "q = QuantizeLinear(x, b)"},
        {"float[4] a = {1, 1, 1, 1}", "q = QuantizeLinear<axis=1>(x, a)",
         "q = QuantizeLinear<axis=-1>(x, a)"},
        {"float[2] a = {1, 1}", "q = QuantizeLinear<axis=7>(x, a)",
         "q = QuantizeLinear<axis=1>(x, a)"},
        {"float[2] a = {1, 1}, int8[3] b = {0, 0, 0}, int8[2] c = {0, 0}",
         "q = QuantizeLinear(x, a, b)", "q = QuantizeLinear(x, a, c)"},
        {"float[2] a = {1, 1}, float[2] b = {0, 0}, int8[2] c = {0, 0}",
         "q = QuantizeLinear(x, a, b)", "q = QuantizeLinear(x, a, c)"},
        {"int8[2] a = {1, 1}, int8[2] c = {0, 0}, float[2] b = {1, 1}",
         "q = QuantizeLinear(x, a, c)", "q = QuantizeLinear(x, b, c)"},
        {"int8[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2,2] a = {1, 1, 1, 1}",
         "q = DequantizeLinear<axis=0, block_size=1>(w, a)",
         "q = DequantizeLinear<axis=0, block_size=2>(w, a)"},
        {"int8[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2,2] a = {1, 1, 1, 1}, float[2] b = {1, 1}",
         "q = DequantizeLinear<axis=1>(w, a)", "q = DequantizeLinear<axis=1>(w, b)"},
        {"int8[2] w = {1, 2}, float a = {1}, uint8 b = {3}, int8 c = {3}",
         "q = DequantizeLinear(w, a, b)", "q = DequantizeLinear(w, a, c)"},
    };
    for (const auto& row : rows)
        for (bool isGood : {false, true}) {
            auto model =
                model_io::loadText(std::string("g (float[1,2,4,4] x) => (q) <") + row.constants +
                                   "> {" + (isGood ? row.good : row.bad) + "}");
            ASSERT_TRUE(model) << model.error().text();
            inferShapes(*model);
            auto found = quantize::lintPairs(*model, Graph());
            std::erase_if(found, [](const auto& one) {
                return one.lint == PairLint::ActivationScales; // is so on both sides
            });
            ASSERT_EQ(found.size(), isGood ? 0u : 1u) << (isGood ? row.good : row.bad);
            if (isGood)
                continue;
            EXPECT_EQ(found[0].lint, PairLint::Misfit) << found[0].message;
            EXPECT_FALSE(found[0].fix.empty());
        }
}

TEST(PairLint, BlocksThatAreNotThoseOfAMatMulNBits) {
    const auto findings = [](int64_t bytes, int64_t scales, DType zero, int64_t zeros) {
        Graph graph;
        const ValueId x = graph.addInput("x", tensorType(DType::Float32, Shape{2, 64}));
        const auto constant = [&](const char* name, DType dtype, Extents extents) {
            return graph.addConstant(name, std::make_shared<Tensor>(dtype, std::move(extents)));
        };
        NodeSpec spec{Op::MatMulNBits,
                      "n",
                      {x, constant("w", DType::UInt8, {4, 2, bytes}),
                       constant("s", DType::Float32, {scales}), constant("z", zero, {zeros})},
                      {"y"},
                      {},
                      {}};
        for (const auto& [name, value] :
             {std::pair{"K", 64}, std::pair{"N", 4}, std::pair{"block_size", 32}})
            spec.attributes.set(name, int64_t{value});
        graph.addOutput(graph.node(graph.addNode(std::move(spec))).outputs[0]);
        std::vector<std::string> out;
        for (const auto& finding : quantize::lintPairs(graph, Graph()))
            out.push_back(finding.fix.substr(0, finding.fix.find(',')));
        return out;
    };
    EXPECT_EQ(findings(16, 8, DType::UInt8, 4), Found{});
    EXPECT_EQ(findings(16, 8, DType::Float32, 8), Found{});
    for (const auto& found : {findings(15, 8, DType::UInt8, 4), findings(16, 5, DType::UInt8, 4),
                              findings(16, 8, DType::UInt8, 5), findings(16, 8, DType::Int8, 4)})
        EXPECT_EQ(found.size(), 1u);
}
