// SPDX-License-Identifier: Apache-2.0
// An opset that the binary has never heard of is a data file: its forms and bodies as texts, no
// code. One test, since what is published stays so.
#include "core/onnx/operator_body_internal.h"
#include "core/ops/op_schema.h"
#include "core/plan/backend.h"
#include "core/support/file.h"
#include "tests/unit/onnx_builder.h"

#include <algorithm>

using namespace fuselage;
using onnx_test::ModelBuilder;

namespace {

std::string textOf(const std::string& name) {
    auto text = readFile(std::string(NEWER_OPSET_DATA) + "/" + name);
    EXPECT_TRUE(text);
    return text ? *text : std::string();
}

struct Loaded {
    Graph graph;
    std::string notes;

    const Node& first() const { return graph.node(graph.nodes().at(0)); }
};

Loaded load(const ModelBuilder& model) {
    std::vector<std::string> notes;
    model_io::LoadOptions options;
    options.notes = &notes;
    auto graph = model.load(options);
    EXPECT_TRUE(graph) << graph.error().text();
    Loaded out{graph ? std::move(*graph) : Graph(), {}};
    for (const std::string& note : notes)
        out.notes += note + "\n";
    return out;
}

ModelBuilder modelOf(const std::string& op, const std::vector<std::string>& inputs) {
    ModelBuilder model(99);
    for (const std::string& name : inputs)
        model.input(name, {2});
    model.output("y", {2}).node(op, inputs, {"y"});
    return model;
}

void setInt(ModelBuilder& model, const char* name, int64_t value) {
    onnx_test::addAttribute(*model.graph().mutable_node(0), name, ::onnx::AttributeProto::INT)
        .set_i(value);
}

void setFloat(ModelBuilder& model, const char* name, float value) {
    onnx_test::addAttribute(*model.graph().mutable_node(0), name, ::onnx::AttributeProto::FLOAT)
        .set_f(value);
}

std::vector<double> results(const Graph& graph, const std::vector<std::vector<double>>& inputs) {
    std::vector<ReferenceValue> values;
    for (const std::vector<double>& numbers : inputs) {
        values.push_back(ReferenceValue::tensor(DType::Float32, {2}));
        values.back().floats = numbers;
    }
    ThreadPool threads;
    Progress progress;
    auto out = interpret(graph, std::move(values), threads, progress);
    EXPECT_TRUE(out) << out.error().text();
    return out ? out->at(0).floats : std::vector<double>();
}

} // namespace

TEST(NewerOpset, IsADataFile) {
    const ModelBuilder clamp = modelOf("Clamp", {"x"}), relu = modelOf("Relu", {"x"});
    const Loaded before = load(clamp);
    EXPECT_EQ(before.first().op, Op::Unknown);
    EXPECT_NE(before.notes.find("opset 99 is newer than"), std::string::npos) << before.notes;
    EXPECT_NE(load(relu).notes.find("opset 99 is newer than"), std::string::npos);

    auto wrong = publishOperators("# a comment\nClamp : X -> Y |\n");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, "schema.line");
    EXPECT_EQ(wrong.error().where, "Clamp : X -> Y |");
    ASSERT_TRUE(publishOperators(textOf("operators_of_99.txt")));
    model_io::publishBodies(textOf("bodies_of_99.txt"));
    EXPECT_EQ(newestPublishedOpset(), 99);

    const Loaded after = load(clamp);
    EXPECT_EQ(after.notes, "");
    EXPECT_EQ(results(after.graph, {{-1, 2}}), (std::vector<double>{0, 2}));
    ModelBuilder twice = modelOf("Clamp", {"x", "floor"});
    setInt(twice, "twice", 1);
    EXPECT_EQ(results(load(twice).graph, {{-1, 2}, {0.5, 3}}), (std::vector<double>{1, 6}));

    ModelBuilder unknown = modelOf("Clamp", {"x"});
    setInt(unknown, "thrice", 1);
    EXPECT_EQ(load(unknown).first().notComputed, "attribute `thrice` is not covered");

    ModelBuilder plain = modelOf("Relu", {"x"});
    setFloat(plain, "slope", 0); // what it does anyway
    EXPECT_EQ(load(plain).first().op, Op::Relu);
    ModelBuilder leaky = modelOf("Relu", {"x"});
    setFloat(leaky, "slope", 0.5F);
    EXPECT_EQ(load(leaky).first().op, Op::Unknown);
    EXPECT_EQ(load(leaky).first().notComputed, "attribute `slope` is not known");
}
