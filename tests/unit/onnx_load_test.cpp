// SPDX-License-Identifier: Apache-2.0
// Loading: what real files contain, and what damaged ones must not do.
#include "core/graph/verify.h"
#include "core/passes/passes.h"
#include "onnx_builder.h"
#include "tests/support/temporary_folder.h"

#include <algorithm>
#include <cstring>
#include <random>

using namespace fuselage;
using namespace fuselage::onnx_test;

namespace {

/// x -> Relu -> y with one initializer added.
ModelBuilder small() {
    ModelBuilder model;
    model.input("x", {2}).output("y", {2});
    model.node("Add", {"x", "w"}, {"t"});
    model.node("Relu", {"t"}, {"y"});
    auto& w = model.initializer("w", {2});
    w.add_float_data(1.5F);
    w.add_float_data(-2);
    return model;
}

const Tensor& constantNamed(const Graph& graph, const char* name) {
    return *graph.value(graph.findValue(name)).constant;
}

} // namespace

TEST(OnnxLoad, InitializersListedAsInputsAreConstants) {
    ModelBuilder model = small();
    model.proto.set_ir_version(3);
    model.input("w", {2});
    auto graph = model.load();
    ASSERT_TRUE(graph);
    EXPECT_EQ(graph->inputs().size(), 1U);
    EXPECT_TRUE(graph->isConstant(graph->findValue("w")));
}

TEST(OnnxLoad, NodesMayStandInAnyOrder) {
    ModelBuilder model = small();
    model.graph().mutable_node()->SwapElements(0, 1);
    auto graph = model.load();
    ASSERT_TRUE(graph);
    EXPECT_EQ(topologicalOrder(*graph).size(), 2U);
    EXPECT_TRUE(verify(*graph));
}

TEST(OnnxLoad, CyclesAreRefusedWithTheirNodes) {
    ModelBuilder model = small();
    model.graph().mutable_node(0)->set_input(1, "y");
    auto graph = model.load();
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().code, "load.cycle");
    EXPECT_NE(graph.error().message.find("`Add_t`"), std::string::npos);
    EXPECT_NE(graph.error().message.find("`Relu_y`"), std::string::npos);
}

TEST(OnnxLoad, ACycleThroughASubgraphIsRefused) {
    ModelBuilder model = small();
    auto& branch = model.node("If", {"c"}, {"w2"});
    model.input("c", {}, 9);
    for (const char* name : {"then_branch", "else_branch"}) {
        auto* inner = addAttribute(branch, name, ::onnx::AttributeProto::GRAPH).mutable_g();
        ModelBuilder::addNode(*inner->mutable_node(), "Neg", {"y"}, {"n"});
        ModelBuilder::setType(*inner->add_output(), "n", {2});
    }
    model.graph().mutable_node(0)->set_input(0, "w2");
    EXPECT_EQ(model.loadCode(), "load.cycle");
}

TEST(OnnxLoad, UndefinedInputsNameValueAndNode) {
    ModelBuilder model = small();
    model.graph().mutable_node(1)->set_input(0, "nowhere");
    auto graph = model.load();
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().code, "load.undefined");
    EXPECT_EQ(graph.error().where, "Relu_y");
    EXPECT_NE(graph.error().message.find("`nowhere`"), std::string::npos);
}

TEST(OnnxLoad, TwoProducersOfOneNameAreRefused) {
    ModelBuilder model = small();
    model.node("Neg", {"x"}, {"t"});
    EXPECT_EQ(model.loadCode(), "load.duplicate");
}

TEST(OnnxLoad, NamesMayHoldAnyCharacters) {
    ModelBuilder model;
    model.input("a:0/b::c", {2}).output("17", {2});
    model.node("Relu", {"a:0/b::c"}, {"17"});
    auto graph = model.load();
    ASSERT_TRUE(graph);
    EXPECT_TRUE(graph->findValue("17").valid());
}

TEST(OnnxLoad, TypedFieldsOfNarrowTypesAreRead) {
    ModelBuilder model = small();
    model.initializer("half", {1}, ::onnx::TensorProto::FLOAT16).add_int32_data(0x3e00);
    model.initializer("brain", {1}, ::onnx::TensorProto::BFLOAT16).add_int32_data(0x3fc0);
    model.initializer("byte", {1}, ::onnx::TensorProto::INT8).add_int32_data(-3);
    model.initializer("flag", {1}, ::onnx::TensorProto::BOOL).add_int32_data(1);
    model.initializer("word", {1}, ::onnx::TensorProto::UINT32).add_uint64_data(4000000000U);
    model.initializer("text", {1}, ::onnx::TensorProto::STRING).add_string_data("a b");
    auto graph = model.load();
    ASSERT_TRUE(graph);
    EXPECT_EQ(constantNamed(*graph, "half").at(0), 1.5);
    EXPECT_EQ(constantNamed(*graph, "brain").at(0), 1.5);
    EXPECT_EQ(constantNamed(*graph, "byte").intAt(0), -3);
    EXPECT_EQ(constantNamed(*graph, "flag").intAt(0), 1);
    EXPECT_EQ(constantNamed(*graph, "word").intAt(0), 4000000000);
    EXPECT_EQ(constantNamed(*graph, "text").strings()[0], "a b");
}

TEST(OnnxLoad, DataThatDoesNotFitTheDimensionsIsRefused) {
    for (const char* raw : {"", "1234567", "123456789"}) {
        ModelBuilder model = small();
        model.initializer("bad", {2}).set_raw_data(raw);
        EXPECT_EQ(model.loadCode(), "load.tensor_size") << raw;
    }
}

TEST(OnnxLoad, HugeAndNegativeDimensionsAreRefusedBeforeAllocating) {
    ModelBuilder negative = small();
    negative.initializer("bad", {-1});
    EXPECT_EQ(negative.loadCode(), "load.dimensions");
    ModelBuilder overflow = small();
    overflow.initializer("bad", {int64_t(1) << 40, int64_t(1) << 40});
    EXPECT_EQ(overflow.loadCode(), "load.dimensions");
    ModelBuilder huge = small();
    huge.initializer("bad", {int64_t(1) << 45});
    EXPECT_EQ(huge.loadCode(), "load.tensor_size");
    ModelBuilder declared = small();
    declared.input("z", {int64_t(1) << 40, int64_t(1) << 40});
    EXPECT_EQ(declared.loadCode(), "load.dimensions");
}

TEST(OnnxLoad, UnknownElementTypesAreNamed) {
    ModelBuilder model = small();
    model.initializer("bad", {1}, 99).set_raw_data("1");
    auto graph = model.load();
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().code, "load.dtype");
    EXPECT_NE(graph.error().message.find("number 99"), std::string::npos);
}

TEST(OnnxLoad, ComplexNumbersAreKept) {
    ModelBuilder model = small();
    model.node("MadeUp", {"c"}, {"z"}).set_domain("com.acme");
    model.output("z");
    auto& parts = model.initializer("c", {2}, 14);
    for (const float part : {1.0F, -2.0F, 0.5F, 8.0F})
        parts.add_float_data(part);
    auto graph = model.load();
    ASSERT_TRUE(graph) << graph.error().text();
    const ValueId c = graph->findValue("c");
    ASSERT_TRUE(c.valid());
    ASSERT_TRUE(graph->value(c).constant);
    const Tensor& kept = *graph->value(c).constant;
    EXPECT_EQ(kept.dtype(), DType::Complex64);
    ASSERT_EQ(kept.byteCount(), 16U);
    float last = 0;
    std::memcpy(&last, kept.bytes() + 12, sizeof last);
    EXPECT_EQ(last, 8.0F);
    auto bytes = model_io::toBytes(*graph);
    ASSERT_TRUE(bytes);
    ::onnx::ModelProto written;
    ASSERT_TRUE(written.ParseFromString(*bytes));
    const auto& constants = written.graph().initializer();
    const auto again = std::find_if(constants.begin(), constants.end(),
                                    [](const auto& each) { return each.data_type() == 14; });
    ASSERT_NE(again, constants.end());
    EXPECT_EQ(again->raw_data(), std::string(reinterpret_cast<const char*>(kept.bytes()), 16));
    model.graph().mutable_initializer(model.graph().initializer_size() - 1)->add_float_data(1);
    EXPECT_EQ(model.loadCode(), "load.tensor_size");
}

TEST(OnnxLoad, MapsAndNestedSequencesAreKeptAsDeclared) {
    ModelBuilder model = small();
    model.node("MadeUp", {"y"}, {"deep"}).set_domain("com.acme");
    auto* deep = model.graph().add_output();
    deep->set_name("deep");
    auto* map =
        deep->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_map_type();
    map->set_key_type(7);
    map->mutable_value_type()->mutable_tensor_type()->set_elem_type(1);
    auto graph = model.load();
    ASSERT_TRUE(graph) << graph.error().text();
    const Type& type = graph->value(graph->findValue("deep")).type;
    EXPECT_EQ(type.kind, TypeKind::Foreign);
    EXPECT_EQ(type.text(), "seq(map(int64,float))");
    inferShapes(*graph);
    EXPECT_EQ(graph->value(graph->findValue("deep")).type.text(), "seq(map(int64,float))");
    auto bytes = model_io::toBytes(*graph);
    ASSERT_TRUE(bytes);
    ::onnx::ModelProto written;
    ASSERT_TRUE(written.ParseFromString(*bytes));
    const auto& outputs = written.graph().output();
    EXPECT_TRUE(std::any_of(outputs.begin(), outputs.end(), [&](const auto& output) {
        return output.type().SerializeAsString() == deep->type().SerializeAsString();
    }));
}

TEST(OnnxLoad, SparseInitializersBecomeDense) {
    ModelBuilder model = small();
    auto* sparse = model.graph().add_sparse_initializer();
    sparse->add_dims(2);
    sparse->add_dims(3);
    auto* values = sparse->mutable_values();
    values->set_name("s");
    values->set_data_type(1);
    values->add_dims(2);
    values->add_float_data(7);
    values->add_float_data(9);
    auto* indices = sparse->mutable_indices();
    indices->set_data_type(7);
    indices->add_dims(2);
    indices->add_int64_data(1);
    indices->add_int64_data(5);
    auto graph = model.load();
    ASSERT_TRUE(graph);
    const Tensor& dense = constantNamed(*graph, "s");
    EXPECT_EQ(dense.extents(), (Extents{2, 3}));
    EXPECT_EQ(dense.at(1), 7);
    EXPECT_EQ(dense.at(5), 9);
    EXPECT_EQ(dense.at(0), 0);

    indices->set_int64_data(1, 6);
    EXPECT_EQ(model.loadCode(), "load.sparse");
    indices->set_int64_data(1, 5);
    sparse->set_dims(0, int64_t(1) << 40);
    EXPECT_EQ(model.loadCode(), "load.sparse");
}

TEST(OnnxLoad, MissingDimensionsOfInputsAreUnknown) {
    ModelBuilder model;
    model.output("y");
    auto* shape = model.graph().add_input()->mutable_type()->mutable_tensor_type();
    model.graph().mutable_input(0)->set_name("x");
    shape->set_elem_type(1);
    shape->mutable_shape()->add_dim();
    shape->mutable_shape()->add_dim()->set_dim_value(-1);
    shape->mutable_shape()->add_dim()->set_dim_param("batch*2");
    shape->mutable_shape()->add_dim()->set_dim_value(3);
    model.node("Relu", {"x"}, {"y"});
    auto graph = model.load();
    ASSERT_TRUE(graph);
    EXPECT_EQ(graph->value(graph->inputs()[0]).type.text(), "float[?,?,batch*2,3]");
}

TEST(OnnxLoad, SubgraphsCaptureOuterValuesThroughAllLevels) {
    ModelBuilder model;
    model.input("x", {2}).input("c", {}, 9).output("y", {2});
    auto& outer = model.node("If", {"c"}, {"y"});
    for (const char* name : {"then_branch", "else_branch"}) {
        auto* middle = addAttribute(outer, name, ::onnx::AttributeProto::GRAPH).mutable_g();
        auto& inner = ModelBuilder::addNode(*middle->mutable_node(), "If", {"c"}, {"m"});
        ModelBuilder::setType(*middle->add_output(), "m", {2});
        for (const char* branch : {"then_branch", "else_branch"}) {
            auto* leaf = addAttribute(inner, branch, ::onnx::AttributeProto::GRAPH).mutable_g();
            ModelBuilder::addNode(*leaf->mutable_node(), "Add", {"x", "w"}, {"l"});
            ModelBuilder::setType(*leaf->add_output(), "l", {2});
        }
    }
    auto& w = model.initializer("w", {1});
    w.add_float_data(1);
    auto graph = model.load();
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_TRUE(verify(*graph)) << verify(*graph).error().text();
    const Node& node = graph->node(graph->findNode("If_y"));
    EXPECT_EQ(node.explicitInputs, 1U);
    // c and x for each of the two branches; the initializer is a constant inside.
    EXPECT_EQ(node.inputs.size(), 5U);
    auto middle = node.attributes.graph("then_branch");
    auto leaf = middle->node(middle->nodes()[0]).attributes.graph("then_branch");
    EXPECT_TRUE(leaf->isConstant(leaf->findValue("w")));
    EXPECT_EQ(leaf->captures().size(), 1U);
}

TEST(OnnxLoad, DeepNestingIsRefused) {
    ModelBuilder model;
    model.input("c", {}, 9).output("y");
    ::onnx::NodeProto* node = &model.node("If", {"c"}, {"y"});
    for (int depth = 0; depth < 230; ++depth) {
        auto* graph = addAttribute(*node, "then_branch", ::onnx::AttributeProto::GRAPH).mutable_g();
        ModelBuilder::setType(*graph->add_output(), "y", {1});
        node = &ModelBuilder::addNode(*graph->mutable_node(), "If", {"c"}, {"y"});
    }
    std::string code = model.loadCode();
    EXPECT_TRUE(code == "load.depth" || code == "load.parse") << code;
}

TEST(OnnxLoad, TheNodeLimitIsNamed) {
    ModelBuilder model = small();
    model_io::LoadOptions options;
    options.maxNodes = 1;
    auto graph = model.load(options);
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().code, "load.too_large");
    EXPECT_NE(graph.error().message.find("maxNodes"), std::string::npos);
}

TEST(OnnxLoad, LongChainsInReverseOrderLoad) {
    ModelBuilder model;
    constexpr int length = 50000;
    model.input("v0", {1}).output("v" + std::to_string(length));
    for (int i = length; i > 0; --i)
        model.node("Relu", {"v" + std::to_string(i - 1)}, {"v" + std::to_string(i)});
    auto graph = model.load();
    ASSERT_TRUE(graph);
    EXPECT_EQ(graph->nodeCount(), static_cast<size_t>(length));
}

TEST(OnnxLoad, UnknownOperatorsAreKeptAndNoted) {
    ModelBuilder model = small();
    model.node("Frobnicate", {"t"}, {"z"}).set_domain("com.acme");
    std::vector<std::string> notes;
    model_io::LoadOptions options;
    options.notes = &notes;
    auto graph = model.load(options);
    ASSERT_TRUE(graph);
    const Node& node = graph->node(graph->findNode("Frobnicate_z"));
    EXPECT_EQ(node.op, Op::Unknown);
    EXPECT_EQ(node.customDomain, "com.acme");
    EXPECT_EQ(node.customOp, "Frobnicate");
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
        return note.find("com.acme.Frobnicate") != std::string::npos;
    }));
}

TEST(OnnxLoad, WrongArityAndAttributeKindsAreRefused) {
    ModelBuilder arity = small();
    arity.node("Conv", {"x"}, {"z"});
    EXPECT_EQ(arity.loadCode(), "load.arity");
    ModelBuilder kind = small();
    auto& node = kind.node("Softmax", {"x"}, {"z"});
    addAttribute(node, "axis", ::onnx::AttributeProto::STRING).set_s("last");
    EXPECT_EQ(kind.loadCode(), "load.attribute");
}

TEST(OnnxLoad, AnAttributeGivenTwiceIsRefused) {
    ModelBuilder model;
    model.input("x", {2}).input("c", {}, 9).output("y", {2});
    auto& node = model.node("If", {"c"}, {"y"});
    for (const char* read : {"x", "c"}) { // the second would hide what the first captures
        auto* branch = addAttribute(node, "then_branch", ::onnx::AttributeProto::GRAPH).mutable_g();
        ModelBuilder::addNode(*branch->mutable_node(), "Relu", {read}, {"l"});
        ModelBuilder::setType(*branch->add_output(), "l", {2});
    }
    EXPECT_EQ(model.loadCode(), "load.attribute");
}

TEST(OnnxLoad, AGraphThatNormalisingDropsCapturesNothing) {
    ModelBuilder model(18);
    model.input("x", {2}).input("z", {2}).output("y", {2});
    auto& node = model.node("ReduceMax", {"x"}, {"y"});
    addAttribute(node, "noop_with_empty_axes", ::onnx::AttributeProto::INT).set_i(1);
    auto* body = addAttribute(node, "body", ::onnx::AttributeProto::GRAPH).mutable_g();
    ModelBuilder::addNode(*body->mutable_node(), "Relu", {"z"}, {"l"});
    ModelBuilder::setType(*body->add_output(), "l", {2});
    auto graph = model.load();
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_TRUE(verify(*graph)) << verify(*graph).error().text();
}

TEST(OnnxLoad, OtherFilesAreNamed) {
    using namespace std::string_literals;
    const std::pair<std::string, std::string> files[] = {
        {"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n", "Git LFS"},
        {"PK\x03\x04\x14\0\0\0"s, "zip"},
        {"\x80\x02}q\0."s, "pickle"},
        {"\x1f\x8b\x08\0"s, "gzip"},
        {"\x1c\0\0\0TFL3\0\0"s, "TensorFlow Lite"},
        {"\x18\0\0\0ORTM"s, "ONNX Runtime's own"},
        {"\x89HDF\r\n\x1a\n", "Keras"},
        {"\x40\0\0\0\0\0\0\0{\"a\":{}}"s, "safetensors"},
        {"\xef\xbb\xbf\n <!DOCTYPE html><html>", "a page of a web server"},
        {"<?xml version=\"1.0\"?><net name=\"m\">", "OpenVINO"},
        {"{\"graph\": 1}", "JSON"},
        {"// of ours\n// all\nfuse 1;\nrule R { match { y = Relu(x); } }", "rules"},
        {"< \n  ir_version: 8\n> g (float[1] x) => (float[1] y) { y = Relu(x) }", "textual syntax"},
        {std::string(257, 'a') + "ustar", "tar"},
    };
    for (const auto& [bytes, what] : files) {
        auto graph = model_io::loadBytes(bytes, ".", {});
        ASSERT_FALSE(graph) << what;
        EXPECT_EQ(graph.error().code, "load.parse") << what;
        EXPECT_NE(graph.error().message.find(what), std::string::npos) << graph.error().message;
    }
}

TEST(OnnxLoad, AFolderNamesItsModels) {
    const testing_support::TemporaryFolder folder;
    Progress progress;
    const auto fix = [&] { return model_io::load(folder.path(), {}, progress).error().fix; };
    EXPECT_EQ(fix(), "give the path of an .onnx file");
    for (const char* name : {"d.onnx", "b.onnx", "c.onnx", "a.txt"})
        folder.write(name, "");
    EXPECT_EQ(fix(), "give one of its files: b.onnx, c.onnx, d.onnx");
    folder.write("a.onnx", "");
    EXPECT_EQ(fix(), "give one of its files: a.onnx, b.onnx, c.onnx ...");
}

TEST(OnnxLoad, OtherFilesAreRefused) {
    EXPECT_EQ(model_io::loadBytes("", ".", {}).error().code, "load.not_onnx");
    EXPECT_EQ(model_io::loadBytes("#!/bin/sh\necho hello\n", ".", {}).error().code, "load.parse");
    Progress progress;
    EXPECT_EQ(model_io::load("/nonexistent.onnx", {}, progress).error().code, "load.missing");
    EXPECT_EQ(model_io::load("/", {}, progress).error().code, "load.missing");
}

TEST(OnnxLoad, CancellingStopsTheLoad) {
    TemporaryFolder folder;
    folder.write("m.onnx", small().bytes());
    Progress progress;
    progress.cancel();
    EXPECT_EQ(model_io::load(folder.file("m.onnx"), {}, progress).error().code, "cancelled");
}

/// Whatever bytes a file holds: a graph that verifies, or an Error. Never a crash.
TEST(OnnxLoad, DamagedFilesNeverCrash) {
    ModelBuilder model = small();
    auto& conv = model.node("Conv", {"t", "k"}, {"z"});
    addAttribute(conv, "pads", ::onnx::AttributeProto::INTS).add_ints(1);
    auto& choice = model.node("If", {"c"}, {"u"});
    for (const char* name : {"then_branch", "else_branch"}) {
        auto* inner = addAttribute(choice, name, ::onnx::AttributeProto::GRAPH).mutable_g();
        ModelBuilder::addNode(*inner->mutable_node(), "Clip", {"z"}, {"n"});
        ModelBuilder::setType(*inner->add_output(), "n", {2});
    }
    model.input("c", {}, 9);
    model.initializer("k", {1, 1}).set_raw_data("abcd");
    auto* function = model.proto.add_functions();
    function->set_name("F");
    function->set_domain("d");
    function->add_input("a");
    function->add_output("b");
    ModelBuilder::addNode(*function->mutable_node(), "Softmax", {"a"}, {"b"});
    model.node("F", {"u"}, {"f"}).set_domain("d");
    const std::string whole = model.bytes();
    ASSERT_TRUE(model_io::loadBytes(whole, ".", {}));
    std::mt19937 random(20240117);
    size_t loaded = 0;
    size_t refused = 0;
    auto attempt = [&](const std::string& bytes) {
        auto graph = model_io::loadBytes(bytes, ".", {});
        if (!graph) {
            EXPECT_TRUE(graph.error().code.starts_with("load.")) << graph.error().code;
            ++refused;
            return;
        }
        EXPECT_TRUE(verify(*graph)) << verify(*graph).error().text();
        (void)model_io::toBytes(*graph);
        ++loaded;
    };
    for (size_t length = 0; length < whole.size(); ++length)
        attempt(whole.substr(0, length));
    for (int round = 0; round < 4000; ++round) {
        std::string bytes = whole;
        for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        attempt(bytes);
    }
    EXPECT_GT(loaded, 100U);
    EXPECT_GT(refused, 100U);
}
