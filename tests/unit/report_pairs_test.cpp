// SPDX-License-Identifier: Apache-2.0
// Quantisation pairs in drawings and on the page: what a badge says, what has no box, what stays.
#include "app/report/html.h"
#include "app/report/json.h"
#include "app/report/measured.h"
#include "app/report/quantised.h"
#include "app/report/report_scene.h"
#include "app/report/text.h"
#include "tests/unit/scene_builder.h"

#include <gtest/gtest.h>

using namespace fuselage;
using namespace fuselage::app;

namespace {

uint32_t add(GraphReport& graph, const std::string& name, const std::string& type,
             const std::string& literal = {}, bool constant = false) {
    graph.values.push_back({name, type, type.substr(0, type.find('[')), literal, 64, constant});
    return static_cast<uint32_t>(graph.values.size() - 1);
}

uint32_t make(GraphReport& graph, const std::string& name, const std::string& op,
              std::vector<uint32_t> inputs, const std::string& type) {
    GraphNodeReport node;
    node.name = name;
    node.op = op;
    node.inputs = std::move(inputs);
    node.outputs = {add(graph, name + ":0", type)};
    graph.nodes.push_back(node);
    return node.outputs[0];
}

/// x -> Relu -> Q -> DQ -> Conv(w through DQ) -> y; `direct`: the stored value is read as well.
GraphReport quantisedConv(const std::string& zero = "0", bool direct = false) {
    GraphReport graph;
    const uint32_t x = add(graph, "x", "float[1,4,8,8]");
    const uint32_t scale = add(graph, "s", "float[]", "0.0118", true);
    const uint32_t point = add(graph, "z", "int8[]", zero, true);
    const uint32_t weight = add(graph, "w", "int8[4,4,3,3]", {}, true);
    const uint32_t scales = add(graph, "ws", "float[4]", {}, true);
    graph.inputs = {x};
    const uint32_t relu = make(graph, "relu", "Relu", {x}, "float[1,4,8,8]");
    const uint32_t q = make(graph, "q", "QuantizeLinear", {relu, scale, point}, "int8[1,4,8,8]");
    const uint32_t d = make(graph, "d", "DequantizeLinear", {q, scale, point}, "float[1,4,8,8]");
    const uint32_t dw = make(graph, "dw", "DequantizeLinear", {weight, scales}, "float[4,4,3,3]");
    graph.outputs = {make(graph, "conv", "Conv", {d, dw}, "float[1,4,8,8]")};
    if (direct)
        graph.outputs.push_back(make(graph, "cast", "Cast", {q}, "float[1,4,8,8]"));
    return graph;
}

scene::Scene sceneOf(const GraphReport& before, const GraphReport& after = {},
                     scene::Options options = {}) {
    Progress quiet;
    scene::SideFigures figures;
    auto built = scene::build({before, after, figures}, options, quiet);
    EXPECT_TRUE(built);
    return built ? std::move(*built) : scene::Scene{};
}

const scene::Box* boxOf(const scene::Scene& scene, const std::string& name) {
    for (const scene::Box& box : scene.boxes)
        if (box.name == name)
            return &box;
    return nullptr;
}

const scene::Edge* edgeTo(const scene::Scene& scene, const std::string& name) {
    for (const scene::Edge& edge : scene.edges)
        if (scene.boxes[edge.to].name == name)
            return &edge;
    return nullptr;
}

std::string hiddenIn(const scene::Scene& scene, const std::string& name) {
    for (const scene::Hidden& hidden : scene.hidden)
        if (hidden.name == name)
            return scene.boxes[hidden.box].name;
    return {};
}

} // namespace

TEST(ReportPairs, AFormHasScaleZeroPointAndRange) {
    const GraphReport graph = quantisedConv("-3");
    const auto form = storedFormOf(graph, graph.nodes[1]);
    ASSERT_TRUE(form);
    EXPECT_EQ(form->dtype, "int8");
    EXPECT_DOUBLE_EQ(form->zeroPoint, -3);
    EXPECT_NEAR(form->low, (-128 + 3) * 0.0118, 1e-9);
    EXPECT_NEAR(form->high, (127 + 3) * 0.0118, 1e-9);
    EXPECT_EQ(storedText(*form), "int8 -1.47 … 1.53 ×0.0118 z-3");
    EXPECT_EQ(storedText(*storedFormOf(graph, graph.nodes[3])), "int8 [4] scales");
    EXPECT_FALSE(storedFormOf(graph, graph.nodes[0]));
}

TEST(ReportPairs, AScaleThatIsNoNumberIsNotMadeUp) {
    GraphReport graph = quantisedConv();
    graph.values[1].literal = "nan";
    const auto form = storedFormOf(graph, graph.nodes[1]);
    ASSERT_TRUE(form);
    EXPECT_FALSE(form->scale);
    graph.nodes[1].inputs = {GraphNodeReport::omitted};
    EXPECT_FALSE(storedFormOf(graph, graph.nodes[1]));
}

TEST(ReportPairs, APairIsABadgeAtTheEdgeAndHasNoBox) {
    const scene::Scene scene = sceneOf(quantisedConv());
    EXPECT_EQ(scene.boxes.size(), 4U); // x, relu, conv, y
    EXPECT_EQ(boxOf(scene, "q"), nullptr);
    const scene::Edge* edge = edgeTo(scene, "conv");
    ASSERT_NE(edge, nullptr);
    EXPECT_EQ(scene.boxes[edge->from].name, "relu");
    EXPECT_EQ(edge->stored, "int8 ±1.5 ×0.0118");
    const scene::Box& conv = *boxOf(scene, "conv");
    EXPECT_LT(edge->storedAt.y, conv.rect.y);
    EXPECT_LE(edge->storedAt.w, conv.rect.w);
    EXPECT_EQ(hiddenIn(scene, "q"), "relu");
    EXPECT_EQ(hiddenIn(scene, "d"), "conv");
    EXPECT_EQ(hiddenIn(scene, "dw"), "conv");
    ASSERT_EQ(conv.badges.size(), 1U); // the weight, as it is stored
    EXPECT_EQ(conv.badges[0].text.substr(0, 4), "int8");
    ASSERT_NE(edgeTo(scene, "relu"), nullptr);
    EXPECT_EQ(edgeTo(scene, "relu")->stored, "");
}

TEST(ReportPairs, BoxesStayWhereTheyAreWanted) {
    scene::Options options;
    options.pairs = scene::Options::Pairs::Boxes;
    const scene::Scene scene = sceneOf(quantisedConv(), {}, options);
    ASSERT_NE(boxOf(scene, "q"), nullptr);
    ASSERT_NE(boxOf(scene, "dw"), nullptr);
    EXPECT_EQ(boxOf(scene, "q")->lines.back(), "int8 ±1.5 ×0.0118");
    EXPECT_EQ(edgeTo(scene, "conv")->stored, "");
}

TEST(ReportPairs, AStoredValueThatIsReadAsItIsKeepsItsMaker) {
    const scene::Scene scene = sceneOf(quantisedConv("0", true));
    ASSERT_NE(boxOf(scene, "q"), nullptr);
    EXPECT_EQ(boxOf(scene, "d"), nullptr);
    EXPECT_EQ(scene.boxes[edgeTo(scene, "conv")->from].name, "q");
    EXPECT_EQ(edgeTo(scene, "cast")->stored, "int8 ±1.5 ×0.0118");
}

TEST(ReportPairs, AnOutputKeepsItsDequantizeLinear) {
    GraphReport graph = quantisedConv();
    graph.outputs = {graph.nodes[2].outputs[0]};
    const scene::Scene scene = sceneOf(graph);
    EXPECT_NE(boxOf(scene, "d"), nullptr);
    EXPECT_NE(boxOf(scene, "q"), nullptr);
}

TEST(ReportPairs, AFusedNodeThatReadsStoredValuesHasTheBadgeToo) {
    const GraphReport before = quantisedConv();
    GraphReport after = before;
    GraphNodeReport fused;
    fused.name = "QuantizedConv_0";
    fused.op = fused.rule = "QuantizedConv";
    fused.fused = true;
    fused.sources = {"d", "dw", "conv"};
    fused.inputs = {before.nodes[1].outputs[0]};
    fused.outputs = before.nodes[4].outputs;
    after.nodes = {before.nodes[0], before.nodes[1], fused};
    const scene::Scene scene = sceneOf(before, after);
    EXPECT_EQ(edgeTo(scene, "QuantizedConv_0")->stored, "int8 ±1.5 ×0.0118");
}

TEST(ReportPairs, AGraphThatGoesInCirclesEnds) {
    GraphReport graph = quantisedConv();
    graph.nodes[1].inputs[0] = graph.nodes[2].outputs[0]; // q reads what d makes of q
    graph.outputs.clear();
    sceneOf(graph);
}

TEST(ReportPairs, ThePageListsStoredValuesAndErrors) {
    Report report;
    report.model.name = "test";
    report.before.graph = quantisedConv();
    EXPECT_NE(renderHtml(report).find("id=\"pairs\""), std::string::npos);
    EXPECT_EQ(renderHtml(report).find("id=\"node-errors\""), std::string::npos);
    report.nodeErrors = {{"relu", "relu:0", 0, 0}, {"conv", "conv:0", 0.01, 2}};
    const std::string html = renderHtml(report);
    EXPECT_NE(html.find("id=\"node-errors\""), std::string::npos);
    EXPECT_NE(html.find("1.0e-02 (40.0 dB)"), std::string::npos);
    const std::string text = renderText(report);
    EXPECT_LT(text.find("conv  1.0e-02 (40.0 dB)"), text.find("relu               0")) << text;
    Report plain;
    EXPECT_EQ(renderText(plain).find("error by node"), std::string::npos);
    plain.before.graph = scene_test::residualNetwork(1).before;
    EXPECT_EQ(renderHtml(plain).find("id=\"quantised\""), std::string::npos);
}

TEST(ReportPairs, ThePageHasOneTableOfPairs) {
    Report report;
    report.before.graph = quantisedConv();
    PairReport pair;
    pair.store = "q";
    pair.load = "d";
    pair.value = "relu:0";
    pair.readers = {{"conv", "QuantizedConv", "Contraction of int8"}};
    pair.reformatBytes = 2048;
    pair.blockedRule = "Both";
    pair.blockedNodes = {"relu", "conv"};
    report.pairs = {pair};
    const std::string html = renderHtml(report);
    const size_t table = html.find("id=\"pairs\"");
    ASSERT_NE(table, std::string::npos);
    EXPECT_EQ(html.find("id=\"pairs\"", table + 1), std::string::npos);
    EXPECT_NE(html.find("Contraction of int8 for `conv` by QuantizedConv", table),
              std::string::npos);
    EXPECT_NE(html.find("Both on `relu` and `conv`", table), std::string::npos);
    EXPECT_NE(html.find("int8", table), std::string::npos);
}

TEST(ReportPairs, ErrorsOfNodesGoThroughJsonAndColourBothSides) {
    Report report;
    report.model.name = "test";
    report.before.graph = quantisedConv();
    report.after.graph = report.before.graph;
    report.nodeErrors = {{"conv", "conv:0", 0.02, 0.5}};
    const std::string json = renderJson(report);
    Report other;
    other.before.graph = other.after.graph = report.before.graph;
    ASSERT_TRUE(addNodeErrors(other, json));
    ASSERT_EQ(other.nodeErrors.size(), 1U);
    EXPECT_DOUBLE_EQ(other.nodeErrors[0].relative, 0.02);
    const scene::SideFigures figures = figuresOf(other);
    EXPECT_DOUBLE_EQ(figures.before.at("conv").error, 0.02);
    EXPECT_DOUBLE_EQ(figures.after.at("conv").error, 0.02);
    // A fused node that stores its result in 8 bits: the error of what is stored.
    report.nodeErrors = {{"relu", "relu:0", 0.03, 0.5}};
    EXPECT_DOUBLE_EQ(figuresOf(report).after.at("q").error, 0.03);
    report.nodeErrors.clear();
    EXPECT_EQ(addNodeErrors(other, renderJson(report)).error().code, "errors.none");
    EXPECT_EQ(addNodeErrors(other, "{").error().code, "measure.json");
}
