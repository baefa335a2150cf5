// SPDX-License-Identifier: Apache-2.0
// A placement again: saved and loaded, as text and edited, taken out and placed anew.
#include "app/pipeline/take_pairs_out.h"
#include "core/graph/verify.h"
#include "tests/unit/quantize_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace fuselage;
using namespace fuselage::quantize;
using namespace fuselage::testing_quantize;

TEST(QuantizeReplay, WhatIsSavedLoadsAndReplaysToTheSameBytes) {
    const app::LoadedModel model = modelOf(residual);
    auto first = quantised(model, optionsOf(RangeMethod::Entropy));
    ASSERT_TRUE(first) << first.error().text();
    QuantizeOptions replay = optionsOf();
    auto plan = parsePairPlan(planText(first->plan));
    ASSERT_TRUE(plan) << plan.error().text();
    replay.plan = *plan;
    auto second = quantised(model, replay);
    ASSERT_TRUE(second) << second.error().text();
    EXPECT_EQ(text(second->graph), text(first->graph));
    EXPECT_EQ(planText(second->plan), planText(first->plan));
    auto bytes = model_io::toBytes(first->graph);
    ASSERT_TRUE(bytes) << bytes.error().text();
    auto again = model_io::loadBytes(*bytes, "", {});
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(operatorsOf(*again), operatorsOf(first->graph));
    EXPECT_NE(again->metadata["fuselage.quantize.data"].find("generated"), std::string::npos);
}

TEST(QuantizeReplay, SavedLoadedAndFusedAgainItHasTheSamePoints) {
    const app::LoadedModel model = modelOf(residual);
    auto first = quantised(model, optionsOf());
    ASSERT_TRUE(first) << first.error().text();
    auto bytes = model_io::toBytes(first->graph);
    ASSERT_TRUE(bytes) << bytes.error().text();
    auto loaded = model_io::loadBytes(*bytes, "", {});
    ASSERT_TRUE(loaded) << loaded.error().text();
    app::LoadedModel again;
    again.graph = loaded->clone();
    Progress quiet;
    ASSERT_TRUE(prepareGraph(again.graph, quiet));
    auto found = app::takePairsOut(*loaded);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_TRUE(verify(*loaded));
    EXPECT_EQ(operatorsOf(*loaded), operatorsOf(model.graph));
    std::set<std::pair<std::string, uint32_t>> planned, there;
    for (const Pair& pair : first->plan.pairs)
        planned.insert({pair.node, pair.operand});
    for (const app::FoundPair& pair : *found)
        there.insert({pair.node, pair.operand});
    EXPECT_EQ(there, planned);
    QuantizeOptions options = optionsOf();
    options.again = true;
    auto second = quantised(again, options);
    ASSERT_TRUE(second) << second.error().text();
    auto linesOf = [](const PairPlan& plan) {
        std::set<std::string> out;
        for (const Pair& pair : plan.pairs)
            out.insert(pairText(pair) + " " + pair.rule);
        return out;
    };
    EXPECT_EQ(linesOf(second->plan), linesOf(first->plan));
}

TEST(QuantizeReplay, OnlyWhatWasAPairIsTakenOut) {
    Graph graph = modelOf("g (uint8[2,2] x) => (float[2,2] y, uint8[2,2] z)"
                          "<float s = {0.5}, uint8 o = {3}, int8[2,2] w = {2, 4, -6, 8}, "
                          " float[2] t = {1, 0.5}, int8[2] n = {0, 0}>"
                          "{ a = DequantizeLinear(x, s, o) v = DequantizeLinear<axis = 0>(w, t, n)"
                          "  m = MatMul(a, v) z = QuantizeLinear(m, s, o) "
                          "  y = DequantizeLinear(z, s, o) }")
                      .graph;
    auto found = app::takePairsOut(graph);
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->size(), 1u) << "what comes in as integers, and outputs, stay";
    EXPECT_EQ((*found)[0], (app::FoundPair{"MatMul", 1, DType::Int8, 0, true}));
    const NodeId product = graph.findNode("MatMul");
    const Tensor& weight = *graph.value(graph.node(product).inputs[1]).constant;
    EXPECT_EQ(weight.at(0), 2);
    EXPECT_EQ(weight.at(3), 4);
    EXPECT_EQ(operatorsOf(graph)["DequantizeLinear"], 2);
}

TEST(QuantizeReplay, AQuantisedModelGetsNoSecondPairs) {
    const app::LoadedModel model = modelOf(residual);
    auto first = quantised(model, optionsOf());
    ASSERT_TRUE(first) << first.error().text();
    app::LoadedModel again;
    again.graph = first->graph.clone();
    auto second = quantised(again, optionsOf());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, "quantize.nothing");
    EXPECT_NE(second.error().fix.find("--again"), std::string::npos) << second.error().text();
}

TEST(QuantizeReplay, APlanIsEditedByHand) {
    const app::LoadedModel model = modelOf(residual);
    auto plan = parsePairPlan("quantize 1\n"
                              "\"Conv_1\"[0] MINE: uint8 minmax 0 .. 5 by hand\n"
                              "\"Add\"[1] MINE: int8 minmax by hand\n");
    ASSERT_TRUE(plan) << plan.error().text();
    QuantizeOptions options = optionsOf();
    options.plan = *plan;
    auto done = quantised(model, options);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(operatorsOf(done->graph)["QuantizeLinear"], 2) << "one value in two types";
    EXPECT_TRUE(done->plan.pairs[1].range) << "calibrated, since the line has none";
    EXPECT_EQ(done->plan.pairs[0].range, (Range{0, 5}));
}

TEST(QuantizeReplay, ALostPairIsAnErrorWithItsLine) {
    const app::LoadedModel model = modelOf(residual);
    const struct {
        const char* line;
        const char* code;
        const char* says;
    } rows[] = {
        {"\"Gone\"[0] INPUT: int8 minmax 0 .. 1 by ConvBN \"f\":1", "plan.node", "no such node"},
        {"\"Conv\"[7] INPUT: int8 minmax 0 .. 1 by hand", "plan.point", "no operand 7"},
        {"\"Relu\"[0] INPUT: int8 minmax 0 .. 1 by ConvBN \"f\":1", "plan.lost", "any more"},
        {"\"Conv\"[0] INPUT: int8 minmax 0 .. 1 by ConvBN \"f\":1", "plan.lost",
         "ConvBNReLU asks for it as INPUT now"},
        {"\"Conv\"[0] INPUT: int8 axis 0 minmax 0 .. 1 by hand", "plan.axis", "only constants"},
        {"\"Conv\"[1] W: int8 axis 9 minmax by hand", "plan.axis", "axis 9 of float[2,2,1,1]"},
        {"\"Conv\"[0] INPUT: int8 minmax 0 .. 0 by hand", "quantize.range",
         "no scale of int8 fits the range 0 .. 0 of `x`"},
    };
    for (const auto& row : rows) {
        auto plan = parsePairPlan(std::string("quantize 1\n# what follows is line 3\n") + row.line);
        ASSERT_TRUE(plan) << row.line << plan.error().text();
        QuantizeOptions options = optionsOf();
        options.plan = *plan;
        auto done = quantised(model, options);
        ASSERT_FALSE(done) << row.line;
        EXPECT_EQ(done.error().code, row.code) << done.error().text();
        EXPECT_NE(done.error().message.find("line 3: "), std::string::npos) << done.error().text();
        EXPECT_NE(done.error().message.find(row.says), std::string::npos) << done.error().text();
    }
}

TEST(QuantizeReplay, ThePlanOfAnotherModelIsAnError) {
    const app::LoadedModel model = modelOf(residual);
    const char* pair = "\"Conv\"[0] MINE: int8 minmax 0 .. 1 by hand\n";
    for (const auto& [line, isRight] :
         {std::pair{"model \"g\"\n", true}, std::pair{"model \"h\"\n", false}}) {
        QuantizeOptions options = optionsOf();
        options.plan = *parsePairPlan(std::string("quantize 1\n") + line + pair);
        auto done = quantised(model, options);
        ASSERT_EQ(static_cast<bool>(done), isRight) << line;
        if (isRight)
            continue;
        EXPECT_EQ(done.error().code, "plan.model");
        EXPECT_EQ(done.error().message, "line 2: the plan is of the model `h`, this one is `g`");
    }
    QuantizeOptions options = optionsOf();
    options.plan = *parsePairPlan(std::string("quantize 1\n") + pair);
    EXPECT_TRUE(quantised(model, options)) << "a plan without that line is of any model";
}

TEST(QuantizeReplay, WhatHasNoEffectIsSaid) {
    const auto says = [](const app::LoadedModel& model, const QuantizeOptions& options,
                         const char* word) {
        auto done = quantised(model, options);
        EXPECT_TRUE(done) << (done ? "" : done.error().text());
        return done && std::any_of(done->notes.begin(), done->notes.end(),
                                   [&](const auto& note) { return note.starts_with(word); });
    };
    const app::LoadedModel convolutions = modelOf(residual);
    const app::LoadedModel dense =
        modelOf("g (float[4,2] x) => (float[4,3] y) <float[2] s = {1, 2}, float[2] b = {0, 1},"
                " float[2,3] w = {1, 2, 3, 4, 5, 6}> {"
                " n = LayerNormalization(x, s, b) m = MatMul(n, w) y = Relu(m) }");
    QuantizeOptions blocks = optionsOf();
    blocks.weights = StoredType::Int4;
    EXPECT_TRUE(says(convolutions, blocks, "--block 64 has no effect"));
    EXPECT_FALSE(says(dense, blocks, "--block"));
    QuantizeOptions smooth = optionsOf();
    smooth.smooth = 0.5;
    EXPECT_TRUE(says(convolutions, smooth, "--smooth has no effect"));
    EXPECT_FALSE(says(dense, smooth, "--smooth"));
}

TEST(QuantizeReplay, SavedAndLoadedItFusesToTheSamePlan) {
    const char* dense =
        "g (float[4,8] x) => (float[4,4] y) <float[8,4] w = {1, 2, 3, 4, 5, 6, 7, 8, "
        "1, -2, 3, -4, 5, -6, 7, -8, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1, 2, 2, 3, 3, 4, 4}, "
        "float[4] b = {1, 2, 3, 4}> { m = MatMul(x, w) a = Add(m, b) y = Relu(a) }";
    auto fusedPlan = [](const Graph& graph) {
        Progress quiet;
        app::FuseOptions options;
        options.decide = Decide::Rules;
        Graph prepared = graph.clone();
        EXPECT_TRUE(prepareGraph(prepared, quiet));
        auto fused = app::fuseGraph(prepared, standardLibrary(), options, quiet);
        EXPECT_TRUE(fused) << (fused ? "" : fused.error().text());
        return app::planText(app::planOf(prepared, fused->trace, Precision::Fp32));
    };
    for (const char* text : {residual, dense})
        for (StoredType type : {StoredType::Int8, StoredType::UInt8, StoredType::Float8E4M3FN}) {
            QuantizeOptions options = optionsOf();
            options.type = type;
            auto done = quantised(modelOf(text), options);
            ASSERT_TRUE(done) << done.error().text();
            auto bytes = model_io::toBytes(done->graph);
            ASSERT_TRUE(bytes) << bytes.error().text();
            auto loaded = model_io::loadBytes(*bytes, "", {});
            ASSERT_TRUE(loaded) << loaded.error().text();
            const std::string plan = fusedPlan(done->graph);
            EXPECT_EQ(fusedPlan(*loaded), plan) << nameOf(type);
            EXPECT_NE(plan.find("Quantized"), std::string::npos) << plan;
        }
}

TEST(QuantizeReplay, AFileThatARewriteMadeIsPlacedAsAnyOther) {
    // Its nodes stand for those of the file before, whose names are in no node any more.
    app::LoadedModel model =
        modelOf("g (float[1,2,4,4] x) => (float[1,2,4,4] y)"
                "<float[2,2,1,1] w = {1, 2, 3, 4}> { c = Conv(x, w) y = Relu(c) }");
    for (NodeId id : model.graph.nodes()) {
        Node& node = model.graph.edit(id);
        node.provenance.sources = {"before_" + node.name};
    }
    auto done = quantised(model, optionsOf());
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->plan.pairs.size(), 2u);
    EXPECT_TRUE(done->leftOut.empty()) << done->leftOut.front().why;
}
