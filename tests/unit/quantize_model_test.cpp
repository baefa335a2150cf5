// SPDX-License-Identifier: Apache-2.0
// Small models quantised end to end: where pairs go, which are shared, what is refused.
#include "app/quantize/fold_norm.h"
#include "app/quantize/quantize.h"
#include "app/pipeline/take_pairs_out.h"
#include "core/graph/text.h"
#include "core/graph/verify.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

using namespace fuselage;
using namespace fuselage::quantize;

namespace {

app::LoadedModel modelOf(const std::string& text) {
    app::LoadedModel out;
    Progress quiet;
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    if (!graph)
        return out;
    out.graph = std::move(*graph);
    EXPECT_TRUE(prepareGraph(out.graph, quiet));
    return out;
}

const app::RuleLibrary& standard() {
    static const app::RuleLibrary library = std::move(*app::requireRuleLibrary({}));
    return library;
}

app::RuleLibrary libraryOf(const std::string& text) {
    app::RuleOptions options;
    options.builtin = false;
    options.texts = {{"r.fuse", "fuse 1;\n" + text + "\n"}};
    auto library = app::requireRuleLibrary(options);
    EXPECT_TRUE(library) << (library ? "" : library.error().text());
    return std::move(*library);
}

QuantizeOptions optionsOf(RangeMethod method = RangeMethod::MinMax) {
    QuantizeOptions out;
    out.fuse.decide = Decide::Rules;
    out.range.method = method;
    return out;
}

Result<Quantized> quantised(const app::LoadedModel& model, const QuantizeOptions& options,
                            const app::RuleLibrary& library = standard()) {
    Progress quiet;
    return quantizeModel(model, library, InputSets::generated(1, 2), options, quiet);
}

/// Operators with how many nodes there are of each.
std::map<std::string, int> operatorsOf(const Graph& graph) {
    std::map<std::string, int> out;
    for (NodeId id : graph.nodes())
        ++out[opText(graph.node(id))];
    return out;
}

constexpr const char* residual =
    "g (float[1,2,4,4] x) => (float[1,2,4,4] y)"
    "<float[2,2,1,1] v = {1, 2, 3, 4}, float[2,2,1,1] w = {2, 1, -1, 3}, float[2] b = {1, 2}> {"
    "  a = Conv(x, v, b) c = Relu(a) d = Conv(c, w) s = Add(d, c) y = Relu(s) }";

} // namespace

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
    for (const auto& row : rows) {
        auto done = quantised(modelOf(std::string("g (float[1,2,4,4] x) => (y) <float[2,2,1,1] w = "
                                                  "{1, 2, 3, 4}> { i = Abs(x) ") +
                                      row.node + " }"),
                              optionsOf());
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
    auto errors = judge->compare(folded, 0, quiet);
    ASSERT_TRUE(errors) << errors.error().text();
    EXPECT_LT(worst(*errors), 1e-6);
    // Somebody else reads the convolution: it stays as it is.
    Graph read = modelOf("g (float[1,1,2,2] x) => (y, c) <float[1,1,1,1] w = {2}, float[1] s = {1}>"
                         "{ c = Conv(x, w) y = BatchNormalization(c, s, s, s, s) }")
                     .graph;
    EXPECT_EQ(foldNormalisation(read), 0u);
}

TEST(QuantizeModel, WhatIsSavedLoadsAndReplaysToTheSameBytes) {
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

TEST(QuantizeModel, SavedLoadedAndFusedAgainItHasTheSamePoints) {
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

TEST(QuantizeModel, OnlyWhatWasAPairIsTakenOut) {
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

TEST(QuantizeModel, AQuantisedModelGetsNoSecondPairs) {
    const app::LoadedModel model = modelOf(residual);
    auto first = quantised(model, optionsOf());
    ASSERT_TRUE(first) << first.error().text();
    app::LoadedModel again;
    again.graph = first->graph.clone();
    auto second = quantised(again, optionsOf());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, "quantize.nothing");
}

TEST(QuantizeModel, APlanIsEditedByHand) {
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

TEST(QuantizeModel, ALostPairIsAnErrorWithItsLine) {
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
        {"\"Conv\"[0] INPUT: int8 minmax 0 .. 0 by hand", "quantize.range", "no scale fits"},
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

TEST(QuantizeModel, DataThatDoesNotFitIsAnErrorThatNamesTheFile) {
    const app::LoadedModel model = modelOf(residual);
    Progress quiet;
    const testing_support::TemporaryFolder folder;
    namespace fs = std::filesystem;
    EXPECT_EQ(InputSets::open(folder.path()).error().code, "quantize.data");
    EXPECT_EQ(InputSets::open(folder.path() + "/absent").error().code, "quantize.data");
    auto outcomeOf = [&](const Tensor& tensor) {
        fs::create_directories(folder.path() + "/set_0");
        EXPECT_TRUE(model_io::saveTensor(tensor, folder.path() + "/set_0/input_0.pb"));
        auto sets = InputSets::open(folder.path());
        EXPECT_TRUE(sets);
        return quantizeModel(model, standard(), *sets, optionsOf(), quiet);
    };
    Tensor right(DType::Float32, {1, 2, 4, 4});
    for (int64_t i = 0; i < right.elementCount(); ++i)
        right.set(i, static_cast<double>(i) - 11);
    EXPECT_TRUE(outcomeOf(right));
    Tensor nan = right.clone();
    nan.set(3, NAN);
    for (const Tensor& wrong : {Tensor(DType::Float32, {1, 2, 4, 5}), Tensor(DType::Float32, {32}),
                                Tensor(DType::Int32, {1, 2, 4, 4}), nan}) {
        auto done = outcomeOf(wrong);
        ASSERT_FALSE(done) << wrong.type().text();
        EXPECT_EQ(done.error().code, "quantize.data") << done.error().text();
        EXPECT_NE(done.error().where.find("set_0/input_0.pb"), std::string::npos);
    }
    auto zeros = outcomeOf(Tensor(DType::Float32, {1, 2, 4, 4}));
    ASSERT_FALSE(zeros);
    EXPECT_EQ(zeros.error().code, "quantize.range") << zeros.error().text();
}

TEST(QuantizeModel, ValuesThatDoNotFitTogetherAreSeenInRunsOfTheirOwn) {
    const app::LoadedModel model = modelOf(residual);
    std::vector<ValueId> values;
    for (const char* name : {"x", "a", "c", "d", "y"})
        values.push_back(model.graph.findValue(name));
    const InputSets sets = InputSets::generated(1, 2);
    Progress quiet;
    ObserveRequest request{&sets, {}, {}};
    auto together = observe(model.graph, values, request, quiet);
    ASSERT_TRUE(together) << together.error().text();
    for (int64_t bytes : {0, 128, 300}) { // each value has 128
        request.mostBytes = bytes;
        auto apart = observe(model.graph, values, request, quiet);
        ASSERT_TRUE(apart) << apart.error().text();
        ASSERT_EQ(apart->size(), 5u);
        for (ValueId value : values) {
            EXPECT_EQ(apart->at(value).seen(), together->at(value).seen()) << bytes;
            EXPECT_EQ(apart->at(value).count(), 64u) << bytes;
        }
    }
}

TEST(QuantizeModel, AnOverflowOnTheWayIsAnError) {
    auto done = quantised(modelOf("g (float[1,2] x) => (y) <float[2,2] w = {1, 2, 3, 4}, float big "
                                  "= {1e38}> { a = Mul(x, big) b = Mul(a, big) y = MatMul(b, w) }"),
                          optionsOf());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "quantize.number");
}

TEST(QuantizeModel, OpenDimensionsStayOpenAndSetsMayDifferInShape) {
    const app::LoadedModel model =
        modelOf("g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}>"
                "{ y = MatMul(x, w) }");
    const testing_support::TemporaryFolder folder;
    Progress quiet;
    for (int64_t set = 0; set < 2; ++set) {
        const std::string path = folder.path() + "/" + std::to_string(set);
        std::filesystem::create_directories(path);
        Tensor input(DType::Float32, {set + 1, 2});
        for (int64_t i = 0; i < input.elementCount(); ++i)
            input.set(i, set == 0 ? 1 : -3);
        EXPECT_TRUE(model_io::saveTensor(input, path + "/input_0.pb"));
    }
    auto sets = InputSets::open(folder.path());
    ASSERT_TRUE(sets) << sets.error().text();
    EXPECT_EQ(sets->size(), 2u);
    QuantizeOptions options = optionsOf();
    options.type = StoredType::UInt8;
    auto done = quantizeModel(model, standard(), *sets, options, quiet);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->plan.pairs[0].range, (Range{-3, 1}));
    EXPECT_EQ(done->graph.value(done->graph.inputs()[0]).type.text(), "float[N,2]");
}

TEST(QuantizeModel, MixedLeavesWhatCostsMostInFloatUntilTheLimitHolds) {
    // Numbers of 1e4 beside numbers of 1: eight bits for both lose the small ones.
    const app::LoadedModel model = modelOf(
        "g (float[4,8] x) => (float[4,2] y)"
        "<float[8,8] v = {1,0,0,0,0,0,0,0, 0,1,0,0,0,0,0,0, 0,0,1,0,0,0,0,0, 0,0,0,1,0,0,0,0,"
        "                 0,0,0,0,1,0,0,0, 0,0,0,0,0,1,0,0, 0,0,0,0,0,0,1,0, 0,0,0,0,0,0,0,1},"
        " float[8] spread = {10000, 1, 1, 1, 1, 1, 1, 1},"
        " float[8,2] w = {0, 0, 1, 2, 3, -1, 1, 1, 2, 1, -1, 1, 1, 3, 2, 2}>"
        "{ a = MatMul(x, v) b = Mul(a, spread) y = MatMul(b, w) }");
    QuantizeOptions options = optionsOf();
    auto whole = quantised(model, options);
    ASSERT_TRUE(whole) << whole.error().text();
    EXPECT_GT(worst(whole->errors), 0.5);
    options.maxError = 0.05;
    auto mixed = quantised(model, options);
    ASSERT_TRUE(mixed) << mixed.error().text();
    ASSERT_EQ(mixed->mixed.units.size(), 2u);
    EXPECT_EQ(mixed->mixed.units[0].node, "MatMul_1") << "the first to stay in float";
    EXPECT_FALSE(mixed->mixed.units[0].quantised);
    EXPECT_TRUE(mixed->mixed.units[1].quantised);
    EXPECT_LT(worst(mixed->errors), 0.05);
    EXPECT_EQ(mixed->plan.pairs.size(), 2u);
    ASSERT_EQ(mixed->mixed.rows.size(), 3u);
    EXPECT_TRUE(mixed->mixed.rows[1].chosen);
    EXPECT_GT(mixed->mixed.rows[0].error, mixed->mixed.rows[1].error);
    EXPECT_GT(mixed->mixed.rows[2].bytes, mixed->mixed.rows[0].bytes);
    EXPECT_GT(mixed->mixed.rows[2].predictedSeconds, 0);
    // What is written replays: the plan holds what was chosen.
    QuantizeOptions replay = optionsOf();
    replay.plan = mixed->plan;
    auto again = quantised(model, replay);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(text(again->graph), text(mixed->graph));
    replay.maxError = 0.05;
    EXPECT_EQ(quantised(model, replay).error().code, "usage.mixed");
}
