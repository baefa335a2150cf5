// SPDX-License-Identifier: Apache-2.0
// Models that cannot be analysed are shown as far as their file says: absent weights,
// contradictions, unknown operators; what is no model stays an error.
#include "app/pipeline/sketch.h"
#include "core/onnx/model_file.h"
#include "core/support/file.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

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
    ASSERT_TRUE(std::filesystem::remove(path + ".data"));
    EXPECT_EQ(loadErrorOf(path).code, "load.external_missing");
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
