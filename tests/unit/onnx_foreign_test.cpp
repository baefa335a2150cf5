// SPDX-License-Identifier: Apache-2.0
// Files that say more than is known here: attributes, omitted inputs, metadata. Nothing of it is
// lost, and nothing is computed as if it were not there.
#include "core/graph/subgraph.h"
#include "core/plan/backend.h"
#include "onnx_builder.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>

using namespace fuselage;
using namespace fuselage::onnx_test;

namespace {

::onnx::AttributeProto& addInt(::onnx::NodeProto& node, const std::string& name, int64_t value) {
    auto& attribute = addAttribute(node, name, ::onnx::AttributeProto::INT);
    attribute.set_i(value);
    return attribute;
}

ModelBuilder attentionModel(int64_t opset) {
    ModelBuilder model(opset);
    for (const char* name : {"q", "k", "v"})
        model.input(name, {1, 2, 4, 8});
    model.output("y", {1, 2, 4, 8}).node("Attention", {"q", "k", "v"}, {"y"});
    return model;
}

struct Loaded {
    Graph graph;
    std::vector<std::string> notes;

    bool noted(const std::string& piece) const {
        return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
            return note.find(piece) != std::string::npos;
        });
    }
};

Loaded loadNoting(const ModelBuilder& model) {
    Loaded out;
    model_io::LoadOptions options;
    options.notes = &out.notes;
    auto graph = model.load(options);
    EXPECT_TRUE(graph) << graph.error().text();
    if (graph)
        out.graph = std::move(*graph);
    return out;
}

::onnx::ModelProto written(const Graph& graph) {
    ::onnx::ModelProto proto;
    auto bytes = model_io::toBytes(graph);
    EXPECT_TRUE(bytes) << bytes.error().text();
    EXPECT_TRUE(bytes && proto.ParseFromString(*bytes));
    return proto;
}

const Node& onlyNode(const Graph& graph) {
    EXPECT_EQ(graph.nodeCount(), 1U);
    return graph.node(graph.nodes().front());
}

/// metadata_props of messages whose types are older than the field.
void addEntryTo(google::protobuf::Message& message, int field, const std::string& key,
                const std::string& value) {
    ::onnx::StringStringEntryProto entry;
    entry.set_key(key);
    entry.set_value(value);
    message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(
        field, entry.SerializeAsString());
}

constexpr int valueField = 4, nodeField = 9, functionField = 14, graphField = 16;
const char* const traceKey = "pkg.torch.onnx.stack_trace";

ModelBuilder withMetadata() {
    ModelBuilder model;
    model.input("x", {4}).output("y", {4});
    auto& exp = model.node("Exp", {"x"}, {"t"});
    auto& relu = model.node("Relu", {"t"}, {"y"});
    addEntryTo(exp, nodeField, traceKey, "File \"a.py\", line 1, in f");
    addEntryTo(exp, nodeField, "namespace", "same");
    addEntryTo(relu, nodeField, traceKey, "File \"a.py\", line 2, in f");
    addEntryTo(relu, nodeField, "namespace", "same");
    addEntryTo(model.graph(), graphField, "of", "graph");
    addEntryTo(*model.graph().mutable_input(0), valueField, "of", "input");
    addEntryTo(*model.graph().mutable_output(0), valueField, "of", "output");
    auto* inner = model.graph().add_value_info();
    inner->set_name("t");
    addEntryTo(*inner, valueField, "of", "inner");
    auto* entry = model.proto.add_metadata_props();
    entry->set_key("of");
    entry->set_value("model");
    return model;
}

const Metadata& ofNode(const Graph& graph, const std::string& name) {
    const NodeId id = graph.findNode(name);
    EXPECT_TRUE(id.valid()) << name;
    return graph.node(id).provenance.metadata;
}

const Metadata& ofValue(const Graph& graph, const std::string& name) {
    const ValueId id = graph.findValue(name);
    EXPECT_TRUE(id.valid()) << name;
    return graph.value(id).metadata;
}

void expectMetadata(const Graph& graph) {
    EXPECT_EQ(ofNode(graph, "Exp_t").at(traceKey), "File \"a.py\", line 1, in f");
    EXPECT_EQ(ofNode(graph, "Relu_y").at("namespace"), "same");
    EXPECT_EQ(graph.graphMetadata, (Metadata{{"of", "graph"}}));
    EXPECT_EQ(graph.metadata, (Metadata{{"of", "model"}}));
    for (auto [value, of] : {std::pair("x", "input"), {"t", "inner"}, {"y", "output"}})
        EXPECT_EQ(ofValue(graph, value), (Metadata{{"of", of}}));
}

} // namespace

TEST(OnnxForeign, AnUnknownAttributeKeepsTheNodeAndNamesBoth) {
    ModelBuilder model = attentionModel(25);
    addInt(*model.graph().mutable_node(0), "knob", 2);
    const Loaded loaded = loadNoting(model);
    const Node& node = onlyNode(loaded.graph);
    EXPECT_EQ(node.op, Op::Unknown);
    EXPECT_EQ(node.customOp, "Attention");
    EXPECT_EQ(node.notComputed, "attribute `knob` is not known");
    EXPECT_TRUE(loaded.noted("`knob` is not known (node `Attention_y`)"));
    const ::onnx::ModelProto again = written(loaded.graph);
    ASSERT_EQ(again.graph().node_size(), 1);
    EXPECT_EQ(again.graph().node(0).op_type(), "Attention");
    ASSERT_EQ(again.graph().node(0).attribute_size(), 1);
    EXPECT_EQ(again.graph().node(0).attribute(0).i(), 2);
    EXPECT_EQ(again.opset_import(0).version(), 25);
}

TEST(OnnxForeign, AnAttributeWithItsPublishedDefaultSaysNothing) {
    ModelBuilder model = attentionModel(25);
    addInt(*model.graph().mutable_node(0), "left_window_size", -1);
    const Loaded loaded = loadNoting(model);
    EXPECT_FALSE(loaded.noted("left_window_size"));
    for (NodeId id : loaded.graph.nodes())
        EXPECT_NE(loaded.graph.node(id).op, Op::Unknown);
}

TEST(OnnxForeign, AttributesThatNormalisingReadsAreKnown) {
    ModelBuilder model(11);
    model.input("x", {1, 4}).output("y", {4});
    auto& squeeze = model.node("Squeeze", {"x"}, {"y"});
    addAttribute(squeeze, "axes", ::onnx::AttributeProto::INTS).add_ints(0);
    EXPECT_EQ(onlyNode(loadNoting(model).graph).op, Op::Squeeze);
    addInt(squeeze, "frobnicate", 3); // and what was added for the axes goes again
    const Loaded kept = loadNoting(model);
    EXPECT_EQ(onlyNode(kept.graph).op, Op::Unknown);
    EXPECT_TRUE(onlyNode(kept.graph).attributes.has("axes"));
    EXPECT_EQ(kept.graph.values().size(), 2U);
}

TEST(OnnxForeign, AKeptNodeIsSavedWhereItsOperatorIsStillTheSame) {
    for (auto [op, good] : {std::pair("Identity", false), {"Flatten", false}, {"Mish", true}}) {
        ModelBuilder model(op == std::string("Mish") ? 18 : 7);
        model.input("x", {2, 2}).output("y", {2, 2});
        addInt(model.node(op, {"x"}, {"y"}), "frobnicate", 3);
        auto bytes = model_io::toBytes(loadNoting(model).graph);
        EXPECT_EQ(bool(bytes), good) << op;
        if (!bytes) {
            EXPECT_EQ(bytes.error().code, "save.opset");
        }
    }
}

TEST(OnnxForeign, InputsThatAreDeclaredOptionalMayBeLeftOut) {
    ModelBuilder model;
    model.input("n", {}, 7).input("x", {2}).output("y", {2});
    for (const std::vector<std::string>& inputs :
         {std::vector<std::string>{"n", "", "x"}, {"", "", "x"}}) {
        auto& loop = model.node("Loop", inputs, {"y"});
        auto& body = *addAttribute(loop, "body", ::onnx::AttributeProto::GRAPH).mutable_g();
        ModelBuilder::setType(*body.add_input(), "i", {}, 7);
        ModelBuilder::setType(*body.add_input(), "c", {}, 9);
        ModelBuilder::setType(*body.add_input(), "s", {2});
        ModelBuilder::addNode(*body.mutable_node(), "Identity", {"c"}, {"again"});
        ModelBuilder::addNode(*body.mutable_node(), "Relu", {"s"}, {"next"});
        ModelBuilder::setType(*body.add_output(), "again", {}, 9);
        ModelBuilder::setType(*body.add_output(), "next", {2});
        const Loaded loaded = loadNoting(model);
        EXPECT_EQ(onlyNode(loaded.graph).explicitInputs, 3U);
        EXPECT_EQ(written(loaded.graph).graph().node(0).input(1), "");
        model.graph().clear_node();
    }
}

/// A Loop without values of its own: the omitted condition is its last input, and what the body
/// reads from outside must not take its place.
TEST(OnnxForeign, AnOmittedConditionAtTheEndKeepsItsPlace) {
    ModelBuilder model;
    model.input("n", {}, 7).input("x", {2}).output("y", {3, 2});
    auto& loop = model.node("Loop", {"n", ""}, {"y"});
    auto& body = *addAttribute(loop, "body", ::onnx::AttributeProto::GRAPH).mutable_g();
    ModelBuilder::setType(*body.add_input(), "i", {}, 7);
    ModelBuilder::setType(*body.add_input(), "c", {}, 9);
    ModelBuilder::addNode(*body.mutable_node(), "Identity", {"c"}, {"again"});
    ModelBuilder::addNode(*body.mutable_node(), "Relu", {"x"}, {"scan"});
    ModelBuilder::setType(*body.add_output(), "again", {}, 9);
    ModelBuilder::setType(*body.add_output(), "scan", {2});
    const Loaded loaded = loadNoting(model);
    const Node& node = onlyNode(loaded.graph);
    EXPECT_EQ(node.explicitInputs, 2U);
    ASSERT_EQ(node.inputs.size(), 3U); // the last one is captured
    EXPECT_FALSE(node.inputs[1].valid());
    EXPECT_EQ(written(loaded.graph).graph().node(0).input_size(), 2);
    Tensor trips(DType::Int64, {}), x(DType::Float32, {2});
    trips.setInt(0, 3);
    x.set(0, -1);
    x.set(1, 2);
    ThreadPool pool(1);
    Progress silent;
    auto outputs = interpret(loaded.graph, {ReferenceValue::from(trips), ReferenceValue::from(x)},
                             pool, silent);
    ASSERT_TRUE(outputs) << outputs.error().text();
    EXPECT_EQ(outputs->front().floats, (std::vector<double>{0, 2, 0, 2, 0, 2}));
}

TEST(OnnxForeign, DynamicQuantizeLstmMayLeaveOutWhatItMay) {
    ModelBuilder model;
    auto* import = model.proto.add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
    model.input("x", {5, 1, 4}).output("y", {5, 1, 1, 3});
    model.initializer("w", {1, 4, 12}, 3).set_raw_data(std::string(48, 1));
    model.initializer("r", {1, 3, 12}, 3).set_raw_data(std::string(36, 1));
    for (const char* name : {"ws", "rs"})
        model.initializer(name, {1}).add_float_data(0.1F);
    for (const char* name : {"wz", "rz"})
        model.initializer(name, {1}, 3).set_raw_data(std::string(1, 0));
    auto& node = model.node("DynamicQuantizeLSTM",
                            {"x", "w", "r", "", "", "", "", "", "ws", "wz", "rs", "rz"}, {"y"});
    node.set_domain("com.microsoft");
    addInt(node, "hidden_size", 3);
    EXPECT_EQ(onlyNode(loadNoting(model).graph).op, Op::DynamicQuantizeLSTM);
    node.set_input(8, ""); // the scale is not optional
    EXPECT_EQ(model.loadCode(), "load.arity");
}

TEST(OnnxForeign, MetadataSurvivesLoadingAndSaving) {
    const Loaded loaded = loadNoting(withMetadata());
    expectMetadata(loaded.graph);
    auto bytes = model_io::toBytes(loaded.graph);
    ASSERT_TRUE(bytes);
    auto again = model_io::loadBytes(*bytes, ".", {});
    ASSERT_TRUE(again);
    expectMetadata(*again);
}

TEST(OnnxForeign, MetadataOfAFusedBodySurvivesToo) {
    Graph graph = loadNoting(withMetadata()).graph;
    const std::vector<NodeId> nodes = topologicalOrder(graph);
    Cut cut = cutOut(graph, nodes, {graph.findValue("y")});
    replaceByFused(graph, nodes, std::move(cut), "ExpRelu", {"ExpRelu", "r.fuse", 1, {"a", "b"}});
    auto bytes = model_io::toBytes(graph);
    ASSERT_TRUE(bytes);
    auto again = model_io::loadBytes(*bytes, ".", {});
    ASSERT_TRUE(again);
    const Node& fused = onlyNode(*again);
    ASSERT_TRUE(fused.body);
    EXPECT_EQ(ofNode(*fused.body, "Exp_t").at(traceKey), "File \"a.py\", line 1, in f");
    EXPECT_EQ(ofNode(*fused.body, "Relu_y").at(traceKey), "File \"a.py\", line 2, in f");
    EXPECT_EQ(ofValue(*fused.body, "t"), (Metadata{{"of", "inner"}}));
    expectMetadata(model_io::inlineFused(*again));
}

TEST(OnnxForeign, InlinedNodesHaveTheMetadataOfTheirCallAndFunction) {
    ModelBuilder model;
    model.input("x", {4}).output("y", {4});
    auto& call = model.node("Act", {"x"}, {"y"});
    call.set_domain("local");
    addEntryTo(call, nodeField, "namespace", "call");
    addEntryTo(call, nodeField, "of", "call");
    auto* import = model.proto.add_opset_import();
    import->set_domain("local");
    import->set_version(1);
    auto& function = *model.proto.add_functions();
    function.set_name("Act");
    function.set_domain("local");
    function.add_input("a");
    function.add_output("b");
    addEntryTo(function, functionField, "of", "function");
    addEntryTo(function, functionField, "author", "me");
    auto& relu = ModelBuilder::addNode(*function.mutable_node(), "Relu", {"a"}, {"b"});
    addEntryTo(relu, nodeField, "namespace", "own");
    const Loaded loaded = loadNoting(model);
    EXPECT_EQ(onlyNode(loaded.graph).provenance.metadata,
              (Metadata{{"author", "me"}, {"namespace", "own"}, {"of", "call"}}));
    addEntryTo(call, nodeField, "long", std::string(20000, 'x')); // would be copied to every node
    const Loaded bounded = loadNoting(model);
    EXPECT_EQ(onlyNode(bounded.graph).provenance.metadata, (Metadata{{"namespace", "own"}}));
    EXPECT_TRUE(bounded.noted("metadata of a call is longer than"));
}

TEST(OnnxForeign, MetadataThatIsNoneIsLeftOut) {
    ModelBuilder model = withMetadata();
    auto& node = *model.graph().mutable_node(0);
    auto* fields = node.GetReflection()->MutableUnknownFields(&node);
    fields->AddLengthDelimited(nodeField, "\xff\xff\xff");
    fields->AddVarint(nodeField, 7);
    expectMetadata(loadNoting(model).graph);
}

TEST(OnnxForeign, AnInputWithAValueIsNotedAsTheConstantThatItBecomes) {
    const auto loadOf = [](int64_t irVersion) {
        ModelBuilder model(17);
        model.input("x", {2}).input("w", {2}).output("y", {2}).node("Add", {"x", "w"}, {"y"});
        ::onnx::TensorProto& weight = *model.graph().add_initializer();
        weight.set_name("w");
        weight.set_data_type(::onnx::TensorProto::FLOAT);
        weight.add_dims(2);
        weight.add_float_data(1);
        weight.add_float_data(2);
        model.proto.set_ir_version(irVersion);
        return loadNoting(model);
    };
    const Loaded loaded = loadOf(8);
    EXPECT_EQ(loaded.graph.inputs().size(), 1U);
    EXPECT_TRUE(loaded.noted("input `w` has a value in the file: it is taken as a constant"));
    EXPECT_TRUE(loadOf(3).notes.empty()) << "there every constant is an input";
}

TEST(OnnxForeign, WhatIsLeftOutIsNoted) {
    ModelBuilder model = withMetadata();
    model.proto.add_training_info();
    model.graph().add_quantization_annotation()->set_tensor_name("t");
    auto& node = *model.graph().mutable_node(0);
    node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(10, "");
    const Loaded loaded = loadNoting(model);
    EXPECT_TRUE(loaded.noted("training information is left out"));
    EXPECT_TRUE(loaded.noted("quantization annotations are left out"));
    EXPECT_TRUE(loaded.noted("device configurations are left out (node `Exp_t`)"));
}
