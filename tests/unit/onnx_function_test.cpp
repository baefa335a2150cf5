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

namespace {

/// d.F calls d.G and Neg; the second call leaves an operand out.
onnx_test::ModelBuilder callsOf() {
    onnx_test::ModelBuilder model(17);
    auto* import = model.proto.add_opset_import();
    import->set_domain("d");
    import->set_version(1);
    model.input("x", {2}).output("y", {2}).output("z", {2});
    auto add = [&](const char* name, std::initializer_list<const char*> inputs) {
        auto& function = *model.proto.add_functions();
        function.set_domain("d");
        function.set_name(name);
        for (const char* input : inputs)
            function.add_input(input);
        function.add_output("c");
        for (auto [domain, version] : {std::pair{"", 17}, {"d", 1}}) {
            auto* imported = function.add_opset_import();
            imported->set_domain(domain);
            imported->set_version(version);
        }
        return &function;
    };
    auto* inner = add("G", {"a", "b"});
    onnx_test::ModelBuilder::addNode(*inner->mutable_node(), "Clip", {"a", "b"}, {"c"});
    auto* outer = add("F", {"a", "b"});
    onnx_test::ModelBuilder::addNode(*outer->mutable_node(), "G", {"a", "b"}, {"t"})
        .set_domain("d");
    onnx_test::ModelBuilder::addNode(*outer->mutable_node(), "Neg", {"t"}, {"c"});
    model.initializer("low", {}).set_raw_data(std::string(4, '\0'));
    model.node("F", {"x", "low"}, {"y"}).set_domain("d");
    model.node("F", {"x"}, {"z"}).set_domain("d");
    return model;
}

} // namespace

TEST(OnnxFunction, OneThatARuleNamesIsANodeWithItsNodesInside) {
    model_io::LoadOptions named;
    named.whole = {"d.F"};
    const auto graph = callsOf().load(named);
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_TRUE(verify(*graph));
    const NodeId first = graph->producer(graph->findValue("y"));
    const Node& node = graph->node(first);
    EXPECT_EQ(node.op, Op::Fused);
    EXPECT_EQ(node.customDomain, "d");
    EXPECT_EQ(node.customOp, "F");
    ASSERT_TRUE(node.body);
    EXPECT_EQ(node.body->nodeCount(), 2U) << "d.G is named by no rule";
    // The other call has no place for what it leaves out.
    EXPECT_EQ(graph->node(graph->producer(graph->findValue("z"))).op, Op::Neg);
    named.whole = {"d.G"};
    const auto inside = callsOf().load(named);
    ASSERT_TRUE(inside) << inside.error().text();
    const NodeId negated = inside->producer(inside->findValue("y"));
    const Node& called = inside->node(inside->producer(inside->node(negated).inputs[0]));
    EXPECT_EQ(called.op, Op::Fused);
    EXPECT_EQ(called.customOp, "G");
    const NodeId other = inside->producer(inside->findValue("z"));
    EXPECT_EQ(inside->node(inside->producer(inside->node(other).inputs[0])).op, Op::Clip);
}
