// SPDX-License-Identifier: Apache-2.0
// Models that cannot be analysed are shown as far as their file says: absent weights,
// contradictions, unknown operators; what is no model stays an error.
#include "app/pipeline/sketch.h"
#include "app/pipeline/summary.h"
#include "core/onnx/model_file.h"
#include "core/support/file.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

using namespace fuselage;
using namespace fuselage::app;
using testing_support::TemporaryFolder;

namespace {

std::string saved(const TemporaryFolder& folder, const std::string& text,
                  const model_io::SaveOptions& options = {}) {
    std::string path = folder.file("model.onnx");
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    EXPECT_TRUE(graph && model_io::save(*graph, path, options));
    return path;
}

Error loadErrorOf(const std::string& path) {
    Progress quiet;
    auto loaded = loadModel(path, {}, quiet);
    EXPECT_FALSE(loaded);
    return loaded ? Error{} : loaded.error();
}

} // namespace

TEST(Sketch, AContradictionIsShownWithItsPlace) {
    TemporaryFolder folder;
    const std::string path = saved(folder, "g (float[2,3] x, float[4,5] w) => (float[2,5] y)"
                                           " { a = Relu(x) y = MatMul(a, w) }");
    const Error error = loadErrorOf(path);
    auto sketch = sketchOfFile(path);
    ASSERT_TRUE(sketch) << sketch.error().text();
    const GraphReport& graph = sketch->before.graph;
    ASSERT_EQ(graph.nodes.size(), 2U);
    EXPECT_EQ(graph.nodes[1].op, "MatMul");
    EXPECT_EQ(graph.values[graph.inputs[0]].type, "float[2,3]");
    EXPECT_EQ(placeOf(error, *sketch), graph.nodes[1].name);
    EXPECT_TRUE(sketch->after.graph.empty());
}

TEST(Sketch, AbsentWeightsLeaveTheGraph) {
    TemporaryFolder folder;
    std::string numbers = "0";
    for (int i = 1; i < 32 * 16; ++i) // small weights stay in the file
        numbers += ", " + std::to_string(i);
    const std::string path = saved(folder,
                                   "g (float[1,32] x) => (float[1,16] y)<float[32,16] w = {" +
                                       numbers + "}> { y = MatMul(x, w) }",
                                   {8});
    for (const auto& file : std::filesystem::directory_iterator(folder.path()))
        if (file.path().extension() == ".data")
            std::filesystem::remove(file.path());
    Progress progress;
    ASSERT_EQ(model_io::load(path, {}, progress).error().code, "load.external_missing");
    auto sketch = sketchOfFile(path);
    ASSERT_TRUE(sketch) << sketch.error().text();
    const GraphReport& graph = sketch->before.graph;
    ASSERT_EQ(graph.nodes.size(), 1U);
    ASSERT_EQ(graph.nodes[0].inputs.size(), 2U);
    EXPECT_TRUE(graph.values[graph.nodes[0].inputs[1]].constant);
    EXPECT_EQ(graph.values[graph.nodes[0].inputs[1]].type, "float[32,16]");
}

TEST(Sketch, WhatIsNoModelStaysAnError) {
    TemporaryFolder folder;
    ASSERT_TRUE(writeFile("no model", folder.file("a.onnx")));
    EXPECT_FALSE(sketchOfFile(folder.file("a.onnx")));
    EXPECT_EQ(sketchOfFile(folder.file("absent.onnx")).error().code, "load.missing");
}

TEST(Sketch, APlaceThatIsNotThereIsNone) {
    TemporaryFolder folder;
    auto sketch = sketchOfFile(saved(folder, "g (float[2] x) => (float[2] y) { y = Relu(x) }"));
    ASSERT_TRUE(sketch);
    Error error;
    error.where = "model.onnx: absent";
    error.message = "the value `also absent` and an open `";
    EXPECT_EQ(placeOf(error, *sketch), "");
    error.message = "the value `y`";
    EXPECT_EQ(placeOf(error, *sketch), sketch->before.graph.nodes[0].name);
}

TEST(Sketch, BodiesStandInTheGraphByTheirPath) {
    auto graph = model_io::loadText(
        "g (bool c, float[2,3] x) => (float[2,3] y) {"
        " s = Neg(x)"
        " y = If (c) <then_branch = t () => (float[2,3] a) { r = Relu(s) a = Exp(r) },"
        "             else_branch = e () => (float[2,3] b) { b = Identity(x) }> }");
    ASSERT_TRUE(graph) << graph.error().text();
    const GraphReport report = summariseGraph(*graph);
    const auto named = [&](std::string_view op) -> const GraphNodeReport* {
        for (const GraphNodeReport& node : report.nodes)
            if (node.op == op)
                return &node;
        return nullptr;
    };
    const GraphNodeReport *outer = named("If"), *relu = named("Relu"), *last = named("Exp");
    ASSERT_TRUE(outer && relu && last && named("Neg"));
    EXPECT_EQ(relu->name.find(outer->name + "/then_branch/"), 0U) << relu->name;
    EXPECT_EQ(relu->inputs,
              named("Neg")->outputs);    // what a body captures it reads where it is made
    ASSERT_EQ(outer->inputs.size(), 3U); // the condition and the result of each body
    EXPECT_EQ(outer->inputs[1] == last->outputs[0] || outer->inputs[2] == last->outputs[0], true);
    EXPECT_EQ(&report.nodes.back(), outer) << "producers first";
}

TEST(Sketch, WhatALoopCarriesComesFromWhereItStarts) {
    auto graph = model_io::loadText(
        "g (int64 n, bool c, float[2] x) => (float[2] y) {"
        " y = Loop (n, c, x) <body = b (int64 i, bool going, float[2] last)"
        " => (bool on, float[2] next) { on = Identity(going) next = Neg(last) }> }");
    ASSERT_TRUE(graph) << graph.error().text();
    const GraphReport report = summariseGraph(*graph);
    const GraphNodeReport *loop = nullptr, *negation = nullptr;
    for (const GraphNodeReport& node : report.nodes) {
        loop = node.op == "Loop" ? &node : loop;
        negation = node.op == "Neg" ? &node : negation;
    }
    ASSERT_TRUE(loop && negation);
    EXPECT_EQ(report.values[negation->inputs[0]].name, "x");
    EXPECT_EQ(report.values[loop->inputs[0]].name, "n"); // read by nothing inside
    EXPECT_EQ(std::count(loop->inputs.begin(), loop->inputs.end(), negation->outputs[0]), 1);
    EXPECT_EQ(std::count(loop->inputs.begin(), loop->inputs.end(), negation->inputs[0]), 0);
}
