// SPDX-License-Identifier: Apache-2.0
// Operators that are written in terms of others: the notation of bodies, what refuses, what a call
// becomes.
#include "core/onnx/operator_body_internal.h"
#include "core/ops/op_schema.h"
#include "core/passes/passes.h"
#include "tests/unit/onnx_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

using namespace fuselage;
using namespace fuselage::model_io;
using onnx_test::ModelBuilder;

namespace {

void setInt(::onnx::NodeProto& node, const char* name, int64_t value) {
    onnx_test::addAttribute(node, name, ::onnx::AttributeProto::INT).set_i(value);
}

/// A call with these inputs given, of a shape that is known.
Call callWith(size_t inputs, std::map<std::string, CallAttribute, std::less<>> attributes) {
    Call out;
    out.attributes = std::move(attributes);
    out.inputs.assign(inputs, true);
    out.outputs = {true};
    out.extents = [](size_t) { return std::optional(std::vector<int64_t>{2, -1, 6}); };
    out.type = [](size_t) { return std::string("bool"); };
    return out;
}

/// The lines of the one body in `text` for a call, or why there are none.
std::string written(const std::string& text, const Call& call) {
    const std::vector<OperatorBody> bodies = parseBodies(text);
    const WrittenBody out = writeBody(bodies.at(0), call);
    return out.refused.empty() ? out.text.substr(out.text.find('{')) : "refused: " + out.refused;
}

std::string lineFor(const std::string& operand, const Call& call) {
    return written("T 1 (x, y) -> (z) | n=3 f=0.5 w=\"a\" list\n    z = Op (x, " + operand + ")\n",
                   call);
}

size_t unknowns(const Graph& graph) {
    const auto nodes = graph.nodes();
    return static_cast<size_t>(std::count_if(
        nodes.begin(), nodes.end(), [&](NodeId id) { return graph.node(id).op == Op::Unknown; }));
}

ModelBuilder swiGlu(int64_t opset) {
    ModelBuilder model(opset);
    model.input("a", {2, 3}).input("b", {2, 3}).output("y", {2, 3});
    model.node("SwiGLU", {"a", "b"}, {"y"});
    return model;
}

} // namespace

TEST(OperatorBody, EachNamesItsOperandsAsPublished) {
    ASSERT_FALSE(operatorBodies().empty());
    for (const OperatorBody& body : operatorBodies()) {
        if (body.domain == "fuselage.body")
            continue;
        ASSERT_NE(publishedSchema(body.domain, body.name, body.since), nullptr) << body.name;
        // What later versions add to the operator may be in it.
        const OpSchema* schema = publishedSchema(body.domain, body.name, INT64_MAX);
        ASSERT_NE(schema, nullptr) << body.name;
        ASSERT_LE(body.inputs.size(), schema->inputs.size()) << body.name;
        for (size_t i = 0; i < body.inputs.size(); ++i)
            EXPECT_EQ(body.inputs[i], schema->inputs[i].name) << body.name;
        for (size_t i = 0; i < body.outputs.size(); ++i)
            EXPECT_EQ(body.outputs[i], schema->outputs.at(i).name) << body.name;
        for (const auto& [name, value] : body.attributes)
            EXPECT_NE(schema->attribute(name), nullptr) << body.name << " " << name;
    }
}

TEST(OperatorBody, ConstantsAmongOperandsBecomeNodes) {
    EXPECT_EQ(
        lineFor("[0, $n, -1]", callWith(1, {})),
        "{\n  constant_1 = Constant <value_ints = [0, 3, -1]> ()\n  z = Op (x, constant_1)\n}");
    EXPECT_EQ(lineFor("$f", callWith(1, {})),
              "{\n  constant_1 = Constant <value_float = 0.5> ()\n  z = Op (x, constant_1)\n}");
    EXPECT_EQ(lineFor("7", callWith(1, {})),
              "{\n  constant_1 = Constant <value_int = 7> ()\n  z = Op (x, constant_1)\n}");
}

TEST(OperatorBody, AnOperandThatNoTakenLineMakesIsLeftOut) {
    const std::string body = "T 1 (x) -> (z) | n=3\n    if n == 4:\n        m = Mask (x)\n"
                             "    z = Op (x, m?, x)\n";
    EXPECT_EQ(written(body, callWith(1, {})), "{\n  z = Op (x, , x)\n}");
    EXPECT_EQ(written(body, callWith(1, {{"n", int64_t(4)}})),
              "{\n  m = Mask (x)\n  z = Op (x, m, x)\n}");
}

TEST(OperatorBody, NumbersAreOfTheCallAndCheckedForTheirSize) {
    const auto number = [](const std::string& sum, int64_t n) {
        const std::string out = lineFor("$(" + sum + ")", callWith(1, {{"n", n}}));
        const size_t at = out.find("value_int = ");
        return at == std::string::npos ? out : out.substr(at + 12, out.find('>') - at - 12);
    };
    EXPECT_EQ(number("n + 2 * n", 4), "12");
    EXPECT_EQ(number("(n - 1) * -2", 4), "-6");
    EXPECT_EQ(number("n / 2", 4), "2");
    EXPECT_EQ(number("given(x) + 2 * given(y) + channel_block", 4), "9");
    EXPECT_EQ(number("rank(x) + size(x, -1)", 4), "9");
    EXPECT_EQ(number("size(x, 1)", 4), "refused: the shape of `x` is not known");
    EXPECT_EQ(number("n / 3", 4), "refused: 4 is no multiple of 3");
    EXPECT_EQ(number("4 / n", 0), "refused: 4 is no multiple of 0");
    constexpr int64_t largest = std::numeric_limits<int64_t>::max();
    for (const char* sum : {"n + 1", "2 * n", "0 - n - 2", "-n - 2"})
        EXPECT_EQ(number(sum, largest), "refused: its numbers are too large") << sum;
    EXPECT_EQ(number("-n", std::numeric_limits<int64_t>::min()),
              "refused: its numbers are too large");
}

TEST(OperatorBody, NumbersOfAListOfRealsAreTakenByTheirPlace) {
    const Call call = callWith(1, {{"list", std::vector<double>{0.25, -3}}});
    EXPECT_NE(lineFor("$list[0]", call).find("value_float = 0.25"), std::string::npos);
    EXPECT_NE(lineFor("$list[1]", call).find("value_float = -3.0"), std::string::npos);
    EXPECT_EQ(lineFor("$list[2]", call), "refused: it has no number `list[2]`");
    EXPECT_EQ(lineFor("$list[0]", callWith(1, {})), "refused: it has no number `list[0]`");
}

/// Weights of ONNX Runtime's layout for a processor: rows of blocks of outputs, of inputs too where
/// there are enough.
TEST(OperatorBody, BlockedWeightsAreTurnedBack) {
    const OperatorBody* body = operatorBody("com.microsoft.nchwc", "Conv", 1);
    ASSERT_NE(body, nullptr);
    const auto weights = [&](std::vector<int64_t> extents, int64_t group, int64_t block) {
        Call call = callWith(2, {{"group", group}});
        call.extents = [=](size_t) { return std::optional(extents); };
        call.channelBlock = block;
        const WrittenBody out = writeBody(*body, call);
        const size_t at = out.text.find("value_ints = ");
        return out.refused.empty() ? out.text.substr(at + 13, out.text.find('>', at) - at - 13)
                                   : out.refused;
    };
    EXPECT_EQ(weights({32, 16, 3, 5}, 1, 16), "[2, 1, 3, 5, 16, 16]");
    EXPECT_EQ(weights({32, 16, 3, 5}, 1, 8), "[4, 2, 3, 5, 8, 8]");
    EXPECT_EQ(weights({32, 3, 3, 5}, 1, 16), "[2, 3, 3, 5, 16]") << "an image's channels";
    EXPECT_EQ(weights({32, 1, 3, 3}, 32, 16), "[2, 1, 3, 3, 16]") << "depthwise";
    EXPECT_EQ(weights({24, 16, 3, 3}, 1, 16), "24 is no multiple of 16") << "of another processor";
}

TEST(OperatorBody, ConditionsTakeOneBranch) {
    const auto taken = [](const std::string& condition) {
        return written("T 1 (x, y) -> (z) | n=3 f=0.0 w=\"a\"\n    if " + condition +
                           ":\n        if n == 3:\n            z = Yes (x)\n    elif n == 9:\n"
                           "        z = Never (x)\n    else:\n        z = No (x)\n",
                       callWith(1, {}));
    };
    for (const char* holds :
         {"x", "not y", "n", "not f", "w == \"a\"", "w != \"b\"", "n > 2, n <= 3", "rank(x) == 3",
          "size(x, 0) == 2, x", "type(x) == \"bool\"", "f == 0", "f < 1"})
        EXPECT_EQ(taken(holds), "{\n  z = Yes (x)\n}") << holds;
    for (const char* fails : {"y", "not x", "f", "w == \"b\"", "n < 3", "n != 3", "x, y",
                              "type(x) != \"bool\"", "f != 0"})
        EXPECT_EQ(taken(fails), "{\n  z = No (x)\n}") << fails;
}

TEST(OperatorBody, WhatItDoesNotCoverRefuses) {
    const std::string body = "T 1 (x, y) -> (z, w) | n=3\n    z = Op (x)\n    if n == 4:\n"
                             "        refuse \"n is 4\"\n    if n == 5:\n        ignore y\n";
    EXPECT_EQ(written(body, callWith(1, {{"m", int64_t(1)}})),
              "refused: attribute `m` is not covered");
    EXPECT_EQ(written(body, callWith(2, {})), "refused: input `y` is not covered");
    EXPECT_EQ(written(body, callWith(3, {})), "refused: input 2 is not covered");
    EXPECT_EQ(written(body, callWith(1, {{"n", int64_t(4)}})), "refused: n is 4");
    EXPECT_EQ(written(body, callWith(2, {{"n", int64_t(5)}})), "{\n  z = Op (x)\n}");
    Call second = callWith(1, {});
    second.outputs = {true, true};
    EXPECT_EQ(written(body, second), "refused: output `w` is not covered");
}

TEST(OperatorBody, AKnownOneIsReadAsItsNodes) {
    const auto graph = swiGlu(28).load({});
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_EQ(unknowns(*graph), 0U);
    EXPECT_EQ(graph->nodes().size(), 2U);
    EXPECT_TRUE(graph->findNode("SwiGLU_y/Swish").valid());
}

TEST(OperatorBody, BeforeItsOpsetAndWhereFunctionsStayItIsKept) {
    const auto older = swiGlu(27).load({});
    ASSERT_TRUE(older);
    EXPECT_EQ(unknowns(*older), 1U);
    LoadOptions whole;
    whole.inlineFunctions = false;
    const auto kept = swiGlu(28).load(whole);
    ASSERT_TRUE(kept);
    EXPECT_EQ(unknowns(*kept), 1U);
}

/// A rule finds it as one node, and it is computed.
TEST(OperatorBody, OneThatARuleNamesIsANodeWithItsNodesInside) {
    LoadOptions named;
    named.whole = {"SwiGLU"};
    ModelBuilder model = swiGlu(28);
    onnx_test::addAttribute(*model.graph().mutable_node(0), "alpha", ::onnx::AttributeProto::FLOAT)
        .set_f(0.5F);
    auto graph = model.load(named);
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_EQ(graph->nodes().size(), 1U);
    const Node& node = graph->node(graph->nodes()[0]);
    EXPECT_EQ(node.op, Op::Fused);
    EXPECT_EQ(node.customDomain, "ai.onnx");
    EXPECT_EQ(node.customOp, "SwiGLU");
    EXPECT_EQ(node.attributes.number("alpha"), 0.5);
    ASSERT_TRUE(node.body);
    EXPECT_EQ(node.body->nodeCount(), 2U);
    inferShapes(*graph);
    EXPECT_EQ(graph->value(node.outputs[0]).type.text(), "float[2,3]");
}

/// Operands between others that are left out have no place in a function's call.
TEST(OperatorBody, OneThatARuleNamesSaysWhyItIsNotComputed) {
    ModelBuilder model(17);
    auto* import = model.proto.add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
    for (const char* name : {"q", "k", "v", "c", "s"})
        model.input(name, {1, 2, 16});
    model.input("l", {1}, ::onnx::TensorProto::INT32).input("t", {}, ::onnx::TensorProto::INT32);
    model.output("y", {1, 2, 16});
    auto& node = model.node("GroupQueryAttention", {"q", "k", "v", "", "", "l", "t"}, {"y"});
    node.set_domain("com.microsoft");
    setInt(node, "num_heads", 2);
    setInt(node, "kv_num_heads", 2);
    LoadOptions named;
    named.whole = {"com.microsoft.GroupQueryAttention"};
    const auto graph = model.load(named);
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_EQ(unknowns(*graph), 1U);
    EXPECT_EQ(graph->node(graph->nodes()[0]).notComputed,
              "a rule names it, and an operand is left out");
    named.whole = {};
    EXPECT_EQ(unknowns(*model.load(named)), 0U);
}

TEST(OperatorBody, AKeptNodeSaysWhy) {
    ModelBuilder model = swiGlu(28);
    setInt(*model.graph().mutable_node(0), "frobnicate", 3);
    std::vector<std::string> notes;
    LoadOptions options;
    options.notes = &notes;
    const auto graph = model.load(options);
    ASSERT_TRUE(graph);
    ASSERT_EQ(graph->nodes().size(), 1U);
    const Node& node = graph->node(graph->nodes()[0]);
    EXPECT_EQ(node.customOp, "SwiGLU");
    EXPECT_EQ(node.notComputed, "attribute `frobnicate` is not covered");
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
        return note.find("attribute `frobnicate` is not covered") != std::string::npos;
    }));
}

TEST(OperatorBody, ALocalFunctionOfThatNameComesFirst) {
    ModelBuilder model = swiGlu(28);
    auto& function = *model.proto.add_functions();
    function.set_name("SwiGLU");
    function.add_input("p");
    function.add_input("q");
    function.add_output("r");
    ModelBuilder::addNode(*function.mutable_node(), "Add", {"p", "q"}, {"r"});
    const auto graph = model.load({});
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_EQ(graph->nodes().size(), 1U);
    EXPECT_EQ(graph->node(graph->nodes()[0]).op, Op::Add);
}

/// What a mask's type is known from, and the rank of what stands deep in a graph without shapes.
TEST(OperatorBody, TypesAndRanksAreKnownFromTheWayToAValue) {
    ModelBuilder model(23);
    model.input("q", {1, 2, 4, 8}).input("k", {1, 2, 6, 8}).input("v", {1, 2, 6, 8});
    model.input("m", {4, 6}).output("y", {1, 2, 4, 8});
    model.node("GreaterOrEqual", {"m", "m"}, {"mask"});
    std::string value = "q";
    for (int i = 0; i < 400; ++i) { // more steps than one question may take
        const std::string next = "q" + std::to_string(i);
        model.node("Add", {value, value}, {next});
        value = next;
    }
    model.node("Attention", {value, "k", "v", "mask"}, {"y"});
    for (const char* name : {"q_num_heads", "kv_num_heads"}) // extents of `value` are not known
        setInt(*model.graph().mutable_node(401), name, 2);
    const auto graph = model.load({});
    ASSERT_TRUE(graph) << graph.error().text();
    size_t choices = 0;
    for (NodeId id : graph->nodes())
        choices += graph->node(id).op == Op::Where ? 1 : 0;
    // Its padding, what is hidden, rows that see nothing in weights and result.
    EXPECT_EQ(choices, 4U) << "a mask of booleans";
}

/// Whatever numbers a file puts there, loading and inferring end with an answer.
TEST(OperatorBody, HostileNumbersEndInARefusalOrAnError) {
    constexpr int64_t largest = std::numeric_limits<int64_t>::max();
    for (int64_t heads : {int64_t(0), int64_t(-1), int64_t(3), largest, largest / 2, -largest - 1})
        for (int64_t groups : {int64_t(0), int64_t(-3), int64_t(2), largest})
            for (int64_t rotary : {0, 1}) {
                ModelBuilder model(17);
                auto* import = model.proto.add_opset_import();
                import->set_domain("com.microsoft");
                import->set_version(1);
                for (const char* name : {"q", "k", "v"})
                    model.input(name, {1, 2, 16});
                model.input("c", {0, 4}).input("s", {5, 4}).output("y", {1, 2, 16});
                model.input("lengths", {1}, ::onnx::TensorProto::INT32)
                    .input("total", {}, ::onnx::TensorProto::INT32);
                auto& node =
                    model.node("GroupQueryAttention",
                               {"q", "k", "v", "", "", "lengths", "total", "c", "s"}, {"y"});
                node.set_domain("com.microsoft");
                setInt(node, "num_heads", heads);
                setInt(node, "kv_num_heads", groups);
                setInt(node, "do_rotary", rotary);
                setInt(node, "local_window_size", heads);
                auto graph = model.load({});
                if (graph)
                    inferShapes(*graph);
            }
}
