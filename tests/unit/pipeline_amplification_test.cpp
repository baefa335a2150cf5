// SPDX-License-Identifier: Apache-2.0
// Telling a mistake from what roundings make of a model: quantisers whose integers flip, lengths
// that depend on data. A wrong bias or a wrong integer is refused all the same.
#include "app/pipeline/amplification.h"
#include "app/pipeline/bench.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/parts.h"
#include "app/pipeline/verify.h"
#include "app/report/text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

using namespace fuselage;

namespace {

Graph graphOf(const std::string& text) {
    auto graph = model_io::loadText("g " + text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    if (!graph)
        return Graph();
    EXPECT_TRUE(inferShapes(*graph).empty());
    return std::move(*graph);
}

/// Dynamically quantised layers one after the other: each makes whole steps of what differs in the
/// last digits before it.
Graph quantisedLayers(int layers, float bias = 0.02F, int8_t firstWeight = 3, int rows = 8) {
    constexpr int64_t width = 96;
    const std::string values = "float[" + std::to_string(rows) + ",96] ";
    std::string body =
        "(" + values + "x, int8[96,96] w, float[96] b, float k) => (" + values + "y) { ";
    std::string from = "x";
    for (int i = 0; i < layers; ++i) {
        const std::string n = std::to_string(i), to = i + 1 == layers ? "y" : "h" + n;
        body += "q" + n + ", s" + n + ", z" + n + " = DynamicQuantizeLinear(" + from + ") m" + n +
                " = MatMulInteger(q" + n + ", w, z" + n + ") f" + n + " = Cast<to=1>(m" + n +
                ") u" + n + " = Mul(s" + n + ", k) c" + n + " = Mul(f" + n + ", u" + n + ") a" + n +
                " = Add(c" + n + ", b) " + to + " = Sin(a" + n + ") ";
        from = to;
    }
    Graph graph = graphOf(body + "}");
    std::mt19937 random(1);
    Tensor weights(DType::Int8, {width, width});
    for (int64_t i = 0; i < weights.elementCount(); ++i)
        weights.set(i, static_cast<double>(random() % 255) - 127);
    weights.set(0, firstWeight);
    EXPECT_TRUE(bindInput(graph, "w", std::move(weights)));
    EXPECT_TRUE(bindInput(graph, "b", Tensor::ofFloats({width}, std::vector<float>(width, bias))));
    EXPECT_TRUE(bindInput(graph, "k", Tensor::ofFloats({}, {0.011F})));
    Progress progress;
    EXPECT_TRUE(prepareGraph(graph, progress));
    return graph;
}

struct Judged {
    std::vector<Tensor> inputs;
    std::vector<ReferenceValue> reference;
};

Judged judgedOf(const Graph& graph) {
    Judged out;
    out.inputs = *app::generateInputs(graph, 1);
    std::vector<ReferenceValue> values;
    for (const Tensor& input : out.inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool pool(1);
    Progress progress;
    auto outputs = interpret(graph, std::move(values), pool, progress);
    EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().text());
    out.reference = outputs ? std::move(*outputs) : std::vector<ReferenceValue>{};
    return out;
}

/// What bench() makes of a model and of a graph that pretends to be the same.
app::Report verdictOf(const Graph& model, const Graph& made) {
    const Judged judged = judgedOf(model);
    app::Report report;
    std::vector<std::vector<Tensor>> outputs;
    for (const auto& [side, graph] : {std::pair("unfused", &model), {"fused", &made}}) {
        auto compiled = CompiledGraph::compile(graph->clone(), {});
        EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().text());
        outputs.push_back(*compiled->run(judged.inputs));
        report.agreement.push_back(app::compareOutput("y", side, judged.reference[0],
                                                      outputs.back()[0],
                                                      app::originalTolerance(DType::Float32)));
    }
    Progress progress;
    auto allowed = app::allowAmplification(
        {model, made, judged.inputs, judged.reference, outputs[0], outputs[1], {}}, report,
        progress);
    EXPECT_TRUE(allowed) << (allowed ? "" : allowed.error().text());
    return report;
}

const app::OutputAgreement* sideOf(const app::Report& report, const std::string& side) {
    for (const app::OutputAgreement& one : report.agreement)
        if (one.side == side)
            return &one;
    return nullptr;
}

app::OutputAgreement partsOf(const Graph& model, const Graph& made) {
    Progress progress;
    auto out = app::checkParts(model, made, {}, judgedOf(model).inputs, "parts", progress);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? *out : app::OutputAgreement{};
}

} // namespace

TEST(Amplification, IntegersThatFlipAreNoMistake) {
    const Graph model = quantisedLayers(24, 0.02F, 3, 64);
    const app::Report report = verdictOf(model, model);
    ASSERT_NE(sideOf(report, "rounding"), nullptr);
    EXPECT_GT(sideOf(report, "unfused")->maxRelative, app::originalTolerance(DType::Float32))
        << "nothing was amplified, the test says nothing";
    EXPECT_TRUE(report.verified());
    ASSERT_NE(sideOf(report, "fused parts"), nullptr);
    EXPECT_LT(sideOf(report, "fused parts")->maxRelative, 1e-5);
    EXPECT_EQ(sideOf(report, "unfused parts")->note,
              std::to_string(24 * 7) + " parts, each on the reference's values");
}

TEST(Amplification, AWrongBiasIsAMistakeAllTheSame) {
    for (float bias : {0.021F, 0.03F, 0.1F}) {
        const Graph model = quantisedLayers(12), wrong = quantisedLayers(12, bias);
        const app::Report report = verdictOf(model, wrong);
        EXPECT_FALSE(report.verified()) << bias << "\n" << app::renderText(report);
        EXPECT_FALSE(partsOf(model, wrong).ok) << bias;
    }
}

TEST(Amplification, AWrongIntegerIsAMistakeAllTheSame) {
    const Graph model = quantisedLayers(12), wrong = quantisedLayers(12, 0.02F, 4);
    EXPECT_FALSE(verdictOf(model, wrong).verified());
    const app::OutputAgreement found = partsOf(model, wrong);
    EXPECT_FALSE(found.ok);
    EXPECT_EQ(found.output[0], 'm') << "the product is named, not what follows from it";
}

TEST(Amplification, PartsOfTheSameGraphAgree) {
    const Graph model = quantisedLayers(2);
    const app::OutputAgreement found = partsOf(model, fuseWhole(model, "Whole"));
    EXPECT_TRUE(found.ok);
    EXPECT_EQ(found.output, "y");
    EXPECT_EQ(found.note, "1 parts, each on the reference's values");
}

/// x w + b: sums of some hundred thousand that the bias takes back to a few, but for `off`.
Graph cancelling(double off) {
    constexpr int64_t depth = 512, columns = 8;
    Graph graph = graphOf("(float[1,512] x, float[512,8] w, float[8] b) => "
                          "(float[1,8] y) { y = Gemm(x, w, b) }");
    std::mt19937 random(2);
    std::normal_distribution<float> numbers(0, 1);
    Tensor weights(DType::Float32, {depth, columns}), bias(DType::Float32, {columns});
    for (int64_t i = 0; i < weights.elementCount(); ++i)
        weights.set(i, 1000 + numbers(random));
    for (int64_t c = 0; c < columns; ++c) {
        double sum = 0;
        const std::vector<Tensor> inputs = *app::generateInputs(graph, 1);
        for (int64_t k = 0; k < depth; ++k)
            sum += inputs[0].at(k) * weights.at(k * columns + c);
        bias.set(c, off - sum);
    }
    EXPECT_TRUE(bindInput(graph, "w", std::move(weights)));
    EXPECT_TRUE(bindInput(graph, "b", std::move(bias)));
    return graph;
}

TEST(Amplification, PartsWhoseTermsCancelAreJudgedByTheirTerms) {
    const Graph model = cancelling(0);
    const app::OutputAgreement found = partsOf(model, model);
    EXPECT_TRUE(found.ok) << found.maxRelative;
    const app::OutputAgreement wrong = partsOf(model, cancelling(100));
    EXPECT_FALSE(wrong.ok) << wrong.maxAbsolute << " of what sums to some " << 1000 * 512;
}

TEST(Amplification, ALengthThatRoundingsChangeIsNotComparedButItsPartsAre) {
    const std::string path = std::filesystem::temp_directory_path() / "fuselage_length.onnx";
    Graph graph = graphOf(
        "(float[64] x) => (float[n] y) { k = Constant<value=float {1000000.0}>() "
        "m = Mul(x, k) s = Sin(m) a = Abs(s) r = ReduceSum<keepdims=0>(a) "
        "t = Constant<value=float {1000.0}>() l = Mul(r, t) o = Round(l) i = Cast<to=7>(o) "
        "b = Constant<value=int64 {0}>() d = Constant<value=int64 {1}>() g = Range(b, i, d) "
        "y = Cast<to=1>(g) }");
    ASSERT_TRUE(model_io::save(graph, path));
    app::BenchOptions options;
    options.model = path;
    options.run.backend = BackendKind::Cpu;
    options.measure = false;
    Progress progress;
    auto result = app::bench(options, progress);
    std::filesystem::remove(path);
    ASSERT_TRUE(result) << result.error().text();
    const app::Report& report = result->report;
    ASSERT_NE(sideOf(report, "rounding"), nullptr);
    EXPECT_FALSE(sideOf(report, "fused")->compares());
    EXPECT_NE(sideOf(report, "rounding")->note.find("its length depends on data and on roundings"),
              std::string::npos);
    EXPECT_TRUE(report.verified());
    const std::string text = app::renderText(report);
    EXPECT_NE(text.find("not compared"), std::string::npos) << text;
    EXPECT_NE(text.find("fused parts"), std::string::npos) << text;
}

TEST(Amplification, ALengthThatRoundingsDoNotChangeIsAMistake) {
    auto lengthOf = [](const std::string& more) {
        return graphOf("(float[4] x) => (float[n] y) { a = Abs(x) r = ReduceMax<keepdims=0>(a) "
                       "k = Constant<value=float {0.1}>() p = Mul(r, k) o = Ceil(p) "
                       "i = Cast<to=7>(o) m = Constant<value=int64 {" +
                       more +
                       "}>() j = Add(i, m) b = Constant<value=int64 {0}>() "
                       "d = Constant<value=int64 {1}>() g = Range(b, j, d) y = Cast<to=1>(g) }");
    };
    const app::Report report = verdictOf(lengthOf("5"), lengthOf("6"));
    ASSERT_NE(sideOf(report, "fused"), nullptr);
    EXPECT_FALSE(sideOf(report, "fused")->ok);
    EXPECT_EQ(sideOf(report, "fused")->note,
              "7 elements, the reference has 6 however it is rounded");
    EXPECT_TRUE(sideOf(report, "unfused")->ok);
}

TEST(Amplification, OnlyWhatSeesAFloatJumps) {
    EXPECT_TRUE(app::hasJumps(quantisedLayers(1)));
    EXPECT_TRUE(app::hasJumps(graphOf("(float[4] x) => (int32[4] y) { y = Cast<to=6>(x) }")));
    EXPECT_FALSE(app::hasJumps(graphOf("(float[4] x) => (float[4] y) { y = Exp(x) }")));
    EXPECT_FALSE(
        app::hasJumps(graphOf("(int64[4] x, int64[4] z) => (bool[4] y) { y = Equal(x, z) }")));
}

// The tail of a Sigmoid is as far off, relative to itself, as its logits are.
TEST(Amplification, In16BitsTheTailOfASigmoidMayMoveAsFarAsItsInputsMoveIt) {
    const std::string path = std::filesystem::temp_directory_path() / "fuselage_tail.onnx";
    Graph graph = graphOf("(float[16,8] x) => (float[16,1] y) {"
                          " w = Constant<value=float[8,1] {60, -37, 51, 44, -58, 23, -49, 60}>()"
                          " m = MatMul(x, w) a = Abs(m) n = Neg(a)"
                          " k = Constant<value=float {9.0}>() l = Sub(n, k) y = Sigmoid(l) }");
    ASSERT_TRUE(model_io::save(graph, path));
    app::BenchOptions options;
    options.model = path;
    options.run.backend = BackendKind::Cpu;
    options.measure = false;
    options.fuse.precision = Precision::Fp16;
    Progress progress;
    auto result = app::bench(options, progress);
    std::filesystem::remove(path);
    ASSERT_TRUE(result) << result.error().text();
    const app::Report& report = result->report;
    ASSERT_NE(sideOf(report, "inputs"), nullptr) << "nothing was off, the test says nothing\n"
                                                 << app::renderText(report);
    EXPECT_TRUE(report.verified()) << app::renderText(report);
    EXPECT_LT(sideOf(report, "fused")->tolerance, 1.0);
}

TEST(Amplification, NeighboursIn16BitsAreOneStepAway) {
    const Tensor input = Tensor::ofFloats({5}, {0, 1, -3, 65504, 1e9F});
    for (uint64_t seed = 1; seed < 9; ++seed) {
        const Tensor half = app::nudged({input}, seed, DType::Float16)[0];
        EXPECT_EQ(std::fabs(half.at(0)), 0x1p-24);
        EXPECT_TRUE(half.at(1) == 1 + 0x1p-10 || half.at(1) == 1 - 0x1p-11) << half.at(1);
        EXPECT_EQ(std::fabs(half.at(2) + 3), 0x1p-9);
        EXPECT_LE(half.at(3), 65504);
        EXPECT_EQ(half.at(4), 1e9F) << "it is no number of the type";
        EXPECT_EQ(std::fabs(app::nudged({input}, seed, DType::BFloat16)[0].at(2) + 3), 0x1p-6);
    }
}

TEST(Amplification, NumbersWhereTheReferenceHasNoneAreNamed) {
    const auto reference = ReferenceValue::from(Tensor::ofFloats({3}, {NAN, 1, INFINITY}));
    const auto compared = [&](float first) {
        return app::compareOutput("y", "fused", reference,
                                  Tensor::ofFloats({3}, {first, 1, INFINITY}));
    };
    EXPECT_TRUE(compared(NAN).ok);
    const app::OutputAgreement dropped = compared(0);
    EXPECT_FALSE(dropped.ok);
    EXPECT_EQ(dropped.note.find("1 of 3 elements are finite where the reference"), 0U)
        << dropped.note;
}
