// SPDX-License-Identifier: Apache-2.0
// Model-local functions are replaced by their nodes.
#include "core/graph/text.h"
#include "core/graph/verify.h"
#include "core/onnx/model_file.h"
#include "onnx_builder.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

Result<Graph> model(const std::string& graph, const std::string& functions) {
    return model_io::loadText(R"(<ir_version: 8, opset_import: ["" : 17, "d" : 1]> )" + graph +
                              functions);
}

const char* const header = R"( <domain: "d", opset_import: ["" : 17, "d" : 1]> )";

} // namespace

TEST(OnnxFunction, CallsAreInlinedWithTheCallersNames) {
    auto graph = model("g (float[2] x) => (float[2] y) { y = d.F(x) }",
                       std::string(header) + "F (a) => (c) { b = Relu(a) c = Neg(b) }");
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_EQ(text(*graph), "g (float[2] x) => (float[2] y)\n{\n   `F/b` = Relu(x)\n"
                            "   y = Neg(`F/b`)\n}\n");
    EXPECT_TRUE(verify(*graph));
}

TEST(OnnxFunction, NestedCallsAreInlined) {
    auto graph = model("g (float[2] x) => (float[2] y) { t = d.F(x) y = d.F(t) }",
                       std::string(header) + "E (a) => (b) { b = Relu(a) }" + header +
                           "F (a) => (c) { b = d.E(a) c = Neg(b) }");
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_EQ(graph->nodeCount(), 4U);
    EXPECT_TRUE(graph->findValue("y").valid());
}

TEST(OnnxFunction, AttributeReferencesTakeTheCallersValue) {
    auto graph =
        model("g (float[2] x) => (y) { t = d.F<s = 0.25>(x) y = d.F(t) }",
              std::string(header) + "F <s> (a) => (b) { b = LeakyRelu<alpha : float = @s>(a) }");
    if (!graph && graph.error().code == "load.text")
        GTEST_SKIP() << "the installed parser has no attribute references: "
                     << graph.error().text();
    ASSERT_TRUE(graph) << graph.error().text();
    std::vector<NodeId> order = topologicalOrder(*graph);
    EXPECT_EQ(graph->node(order[0]).attributes.number("alpha"), 0.25);
    // The second call does not give it: LeakyRelu's own default holds.
    EXPECT_FLOAT_EQ(static_cast<float>(graph->node(order[1]).attributes.number("alpha")), 0.01F);
}

namespace {

::onnx::AttributeProto& addReference(::onnx::NodeProto& node, const std::string& name,
                                     ::onnx::AttributeProto::AttributeType type,
                                     const std::string& reference) {
    auto& attribute = onnx_test::addAttribute(node, name, type);
    attribute.set_ref_attr_name(reference);
    return attribute;
}

} // namespace

TEST(OnnxFunction, SubgraphsReferToTheFunctionsAttributes) {
    onnx_test::ModelBuilder model;
    model.input("x", {2}).input("c", {}, 9).output("y", {2});
    auto& call = model.node("F", {"c", "x"}, {"y"});
    call.set_domain("d");
    onnx_test::addAttribute(call, "s", ::onnx::AttributeProto::FLOAT).set_f(0.25F);
    auto* function = model.proto.add_functions();
    function->set_domain("d");
    function->set_name("F");
    function->add_input("c");
    function->add_input("a");
    function->add_output("b");
    function->add_attribute("s");
    auto& choice = onnx_test::ModelBuilder::addNode(*function->mutable_node(), "If", {"c"}, {"b"});
    for (const char* branch : {"then_branch", "else_branch"}) {
        auto* body =
            onnx_test::addAttribute(choice, branch, ::onnx::AttributeProto::GRAPH).mutable_g();
        auto& node =
            onnx_test::ModelBuilder::addNode(*body->mutable_node(), "LeakyRelu", {"a"}, {"r"});
        addReference(node, "alpha", ::onnx::AttributeProto::FLOAT, "s");
        body->add_output()->set_name("r");
    }
    auto graph = model.load();
    ASSERT_TRUE(graph) << graph.error().text();
    auto body = graph->node(topologicalOrder(*graph)[0]).attributes.graph("then_branch");
    ASSERT_TRUE(body);
    EXPECT_EQ(body->node(body->nodes()[0]).attributes.number("alpha"), 0.25);
}

TEST(OnnxFunction, ATensorThatIsReferredToTwiceIsReadTwice) {
    onnx_test::ModelBuilder model;
    model.output("y", {2});
    auto& call = model.node("F", {}, {"y"});
    call.set_domain("d");
    auto* tensor = onnx_test::addAttribute(call, "t", ::onnx::AttributeProto::TENSOR).mutable_t();
    tensor->set_data_type(1);
    tensor->add_dims(2);
    tensor->set_raw_data(std::string(8, '\0'));
    auto* function = model.proto.add_functions();
    function->set_domain("d");
    function->set_name("F");
    function->add_output("c");
    function->add_attribute("t");
    for (const char* name : {"a", "b"})
        addReference(
            onnx_test::ModelBuilder::addNode(*function->mutable_node(), "Constant", {}, {name}),
            "value", ::onnx::AttributeProto::TENSOR, "t");
    onnx_test::ModelBuilder::addNode(*function->mutable_node(), "Add", {"a", "b"}, {"c"});
    EXPECT_EQ(model.loadCode(), "");
}

TEST(OnnxFunction, RecursionIsRefused) {
    auto graph = model("g (float[2] x) => (float[2] y) { y = d.F(x) }",
                       std::string(header) + "F (a) => (b) { b = d.F(a) }");
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().code, "load.function");
}

TEST(OnnxFunction, AForwardedInputKeepsBothNames) {
    auto graph = model("g (float[2] x) => (float[2] y) { y = d.F(x) }",
                       std::string(header) + "F (a) => (a) { b = Relu(a) }");
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_EQ(graph->value(graph->outputs()[0]).name, "y");
    EXPECT_TRUE(verify(*graph));
}

TEST(OnnxFunction, DoublingFunctionsStopAtTheNodeLimit) {
    onnx_test::ModelBuilder model;
    model.input("x", {2}).output("y", {2});
    model.node("F0", {"x"}, {"y"}).set_domain("d");
    for (int i = 0; i <= 40; ++i) {
        auto* function = model.proto.add_functions();
        function->set_domain("d");
        function->set_name("F" + std::to_string(i));
        function->add_input("a");
        function->add_output("c");
        std::string callee = i == 40 ? "Relu" : "F" + std::to_string(i + 1);
        for (auto [from, to] : {std::pair("a", "b"), std::pair("b", "c")})
            onnx_test::ModelBuilder::addNode(*function->mutable_node(), callee, {from}, {to})
                .set_domain(i == 40 ? "" : "d");
    }
    model_io::LoadOptions options;
    options.maxNodes = 10000;
    EXPECT_EQ(model.loadCode(options), "load.too_large");
}
