// SPDX-License-Identifier: Apache-2.0
// Saving: what is written loads again as the same graph, fused nodes as shared functions.
#include "core/graph/subgraph.h"
#include "core/graph/text.h"
#include "core/graph/verify.h"
#include "core/onnx/file_opset.h"
#include "core/ops/op_schema.h"
#include "onnx_builder.h"

#include <map>
#include <random>
#include <set>

using namespace fuselage;
using namespace fuselage::onnx_test;

namespace {

Graph parse(const std::string& source) {
    auto graph = model_io::loadText(source);
    EXPECT_TRUE(graph) << graph.error().text();
    return graph ? *graph : Graph();
}

::onnx::ModelProto saved(const Graph& graph) {
    auto bytes = model_io::toBytes(graph);
    EXPECT_TRUE(bytes);
    ::onnx::ModelProto proto;
    EXPECT_TRUE(proto.ParseFromString(*bytes));
    return proto;
}

Graph reloaded(const Graph& graph, const model_io::LoadOptions& options = {}) {
    auto bytes = model_io::toBytes(graph);
    EXPECT_TRUE(bytes);
    auto again = model_io::loadBytes(*bytes, ".", options);
    EXPECT_TRUE(again) << again.error().text();
    return again ? *again : Graph();
}

int64_t opsetOf(const ::onnx::ModelProto& proto, const std::string& domain) {
    for (const auto& opset : proto.opset_import())
        if (opset.domain() == domain)
            return opset.version();
    return 0;
}

/// Replaces the producers of these values by one fused node that makes the last one.
NodeId fuse(Graph& graph, const std::vector<std::string>& values, const std::string& rule) {
    std::vector<NodeId> nodes;
    Provenance provenance{rule, "rules.fuse", 12, {}};
    for (const std::string& value : values) {
        nodes.push_back(graph.producer(graph.findValue(value)));
        provenance.sources.push_back(graph.node(nodes.back()).name);
    }
    Cut cut = cutOut(graph, nodes, {graph.findValue(values.back())});
    return replaceByFused(graph, nodes, std::move(cut), rule, provenance);
}

const char* const twoLayers =
    "g (float[1,4] x) => (float[1,4] y)\n"
    "<float[4,4] w1 = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, float b = {0.5}, "
    "float[4,4] w2 = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,17}>"
    "{ m1 = MatMul(x, w1) a1 = Add(m1, b) r1 = Relu(a1)"
    "  m2 = MatMul(r1, w2) a2 = Add(m2, b) y = Relu(a2) }";

} // namespace

TEST(OnnxSave, ONNXRuntimesOwnNormalisationIsTheStandardsInsideAFunction) {
    Graph graph = parse("g (float[2,4] x) => (float[2,4] y) <float[4] w = {1,2,3,4}>"
                        "{ t = SimplifiedLayerNormalization(x, w) y = Relu(t) }");
    EXPECT_EQ(saved(graph).graph().node(0).op_type(), "SimplifiedLayerNormalization");
    EXPECT_EQ(opsetOf(saved(graph), ""), 17);
    fuse(graph, {"t", "y"}, "Both");
    const ::onnx::ModelProto proto = saved(graph);
    ASSERT_EQ(proto.functions_size(), 1);
    EXPECT_EQ(proto.functions(0).node(0).op_type(), "RMSNormalization");
    EXPECT_EQ(opsetOf(proto, ""), 23);
}

TEST(OnnxSave, ASavedGraphLoadsAsTheSameText) {
    for (const char* source :
         {twoLayers,
          "g (bool c, float[N,2] x) => (y) { t = Neg(x) y = If <else_branch = e () => (f) "
          "{ f = Abs(t) }, then_branch = d () => (h) { h = Add(t, x) }> (c) }",
          "g (seq(float[2]) s, float[2] x) => (y) { t = SequenceInsert(s, x) y = "
          "SequenceAt(t, i) i = Constant<value = int64 {1}>() }",
          "g (float[2,3] x) => (y, z) { y, z = Split <axis = 1> (x, s) s = "
          "Constant<value = int64[2] {1,2}>() }"}) {
        Graph graph = parse(source);
        EXPECT_EQ(text(reloaded(graph)), text(graph));
    }
}

TEST(OnnxSave, EqualBodiesShareOneFunction) {
    Graph graph = parse(twoLayers);
    fuse(graph, {"m1", "a1", "r1"}, "LinearReLU");
    fuse(graph, {"m2", "a2", "y"}, "LinearReLU");
    ASSERT_TRUE(verify(graph));
    ::onnx::ModelProto proto = saved(graph);
    ASSERT_EQ(proto.functions_size(), 1);
    EXPECT_EQ(proto.functions(0).name(), "LinearReLU");
    EXPECT_EQ(proto.functions(0).domain(), "fuselage");
    EXPECT_EQ(proto.graph().node_size(), 2);
    EXPECT_EQ(opsetOf(proto, "fuselage"), 1);
}

TEST(OnnxSave, DifferentBodiesOfOneRuleGetDifferentNames) {
    Graph graph = parse(twoLayers);
    fuse(graph, {"m1", "a1"}, "Linear");
    fuse(graph, {"m2", "a2", "y"}, "Linear");
    ::onnx::ModelProto proto = saved(graph);
    ASSERT_EQ(proto.functions_size(), 2);
    EXPECT_TRUE(proto.functions(0).name().starts_with("Linear_"));
    EXPECT_NE(proto.functions(0).name(), proto.functions(1).name());
    EXPECT_EQ(text(reloaded(graph)), text(graph));
}

TEST(OnnxSave, FusedNodesComeBackWithBodyNamesAndProvenance) {
    Graph graph = parse(twoLayers);
    fuse(graph, {"m1", "a1", "r1"}, "LinearReLU");
    fuse(graph, {"m2", "a2", "y"}, "LinearReLU");
    Graph again = reloaded(graph);
    ASSERT_TRUE(verify(again)) << verify(again).error().text();
    EXPECT_EQ(text(again), text(graph));
    const Node& node = again.node(again.producer(again.findValue("y")));
    EXPECT_EQ(node.op, Op::Fused);
    EXPECT_EQ(node.customOp, "LinearReLU");
    EXPECT_EQ(node.provenance.rule, "LinearReLU");
    EXPECT_EQ(node.provenance.file, "rules.fuse");
    EXPECT_EQ(node.provenance.line, 12U);
    EXPECT_EQ(node.provenance.sources.size(), 3U);
    // The names inside are those of this node's own body, not of the shared function's.
    EXPECT_TRUE(node.body->findValue("m2").valid());
    EXPECT_TRUE(node.body->findNode("MatMul_1").valid());
}

TEST(OnnxSave, FunctionsMayBeInlinedOnLoading) {
    Graph graph = parse(twoLayers);
    fuse(graph, {"m2", "a2", "y"}, "LinearReLU");
    model_io::LoadOptions options;
    options.restoreFused = false;
    Graph plain = reloaded(graph, options);
    EXPECT_EQ(plain.nodeCount(), 7U); // the scalar of the body became a Constant node
    EXPECT_TRUE(verify(plain));
}

TEST(OnnxSave, InlineFusedGivesTheGraphBeforeFusion) {
    Graph before = parse(twoLayers);
    Graph graph = before.clone();
    fuse(graph, {"m1", "a1", "r1"}, "LinearReLU");
    fuse(graph, {"m2", "a2", "y"}, "LinearReLU");
    Graph after = model_io::inlineFused(graph);
    ASSERT_TRUE(verify(after)) << verify(after).error().text();
    EXPECT_EQ(after.nodeCount(), before.nodeCount());
    for (NodeId id : after.nodes())
        EXPECT_NE(after.node(id).op, Op::Fused);
    std::multiset<Op> left;
    std::multiset<Op> right;
    for (NodeId id : before.nodes())
        left.insert(before.node(id).op);
    for (NodeId id : after.nodes())
        right.insert(after.node(id).op);
    EXPECT_EQ(left, right);
    EXPECT_EQ(after.value(after.outputs()[0]).name, "y");
}

TEST(OnnxSave, NewerOperatorsRaiseTheOpsetAndChangeReductions) {
    Graph graph = parse("g (float[2,3] x) => (y) { t = Gelu(x) y = ReduceMax <axes = [1]> (t) }");
    ::onnx::ModelProto proto = saved(graph);
    EXPECT_EQ(opsetOf(proto, ""), 20);
    EXPECT_EQ(proto.ir_version(), 9);
    const auto& reduce = proto.graph().node(1);
    EXPECT_EQ(reduce.op_type(), "ReduceMax");
    EXPECT_EQ(reduce.input_size(), 2);
    for (const auto& attribute : reduce.attribute())
        EXPECT_NE(attribute.name(), "axes");
    EXPECT_EQ(text(reloaded(graph)).find("ReduceMax <axes = [1]>") != std::string::npos, true);
}

TEST(OnnxSave, ValuesAndOperandsOfNewerOpsetsRaiseIt) {
    EXPECT_EQ(opsetOf(saved(parse("g (float[1,1,4,4] x) => (float[1,1,8,8] y) "
                                  "<float[4] s = {1, 1, 2, 2}> { y = "
                                  "Resize<coordinate_transformation_mode=\"half_pixel_symmetric\","
                                  "mode=\"linear\">(x, , s) }")),
                      ""),
              19);
    EXPECT_EQ(opsetOf(saved(parse("g (float[2] x) => (bool y) { y = OptionalHasElement(x) }")), ""),
              18);
}

TEST(OnnxSave, AxesOfASumAreAnOperandSinceOpset13) {
    Graph graph = parse("g (float[2,3] x) => (float[2,1] y) { y = ReduceSum<axes=[-1]>(x) }");
    const NodeId sum = graph.producer(graph.outputs()[0]);
    graph.edit(sum).attributes.set("axes", std::vector<int64_t>{-1}); // as a rule may write them
    const ::onnx::NodeProto node = saved(graph).graph().node(0);
    EXPECT_EQ(node.input_size(), 2);
    for (const auto& attribute : node.attribute())
        EXPECT_NE(attribute.name(), "axes");
}

TEST(OnnxSave, AxesThatAreComputedNeedOpset18) {
    Graph graph = parse("<ir_version: 8, opset_import: [\"\" : 21]> "
                        "g (float[2,3] x, int64[1] a) => (y) { y = ReduceMax(x, a) }");
    EXPECT_EQ(opsetOf(saved(graph), ""), 18);
    EXPECT_EQ(text(reloaded(graph)), text(graph));
}

TEST(OnnxSave, OldModelsAreWrittenAsOpset17) {
    Graph graph = parse("<ir_version: 4, opset_import: [\"\" : 9]> g (float[2,3] x) => (y) "
                        "{ y = Clip <min = 0.0, max = 6.0> (x) }");
    ::onnx::ModelProto proto = saved(graph);
    EXPECT_EQ(opsetOf(proto, ""), 17);
    EXPECT_EQ(proto.ir_version(), 8);
    EXPECT_EQ(proto.graph().node(0).input_size(), 3);
}

TEST(OnnxSave, AnOlderOpsetIsWrittenWhereTheOperatorsHaveTheirFormThere) {
    const struct {
        const char* body;
        int64_t least, wanted;
    } rows[] = {
        {"(float[2,3] x) => (y) { y = Relu(x) }", 13, 13},
        {"(float[2,3] x) => (y) { y = Relu(x) }", 15, 15},
        {"(float[2,3] x) => (y) { y = Relu(x) }", 9, 13},
        {"(int32[2,3] x) => (y) { y = Relu(x) }", 13, 14}, // a type that came later
        {"(bfloat16[2,3] x) => (y) { y = LeakyRelu(x) }", 13, 16},
        {"(int8[2,3] x) => (y) { y = Add(x, x) }", 13, 14},
        {"(float[2,3] x) => (y) { y = HardSwish(x) }", 13, 14}, // an operator that did
        {"(float[2,3] x, float[3] s) => (y) { y = LayerNormalization(x, s) }", 13, 17},
        {"(float[2,3] x, int64[2] s) => (y) { y = Reshape(x, s) }", 13, 13},
        {"(float[2,3] x, int64[2] s) => (y) { y = Reshape <allowzero = 1> (x, s) }", 13, 14},
        {"(float[2,3] x) => (y) { y = Shape <start = 1> (x) }", 13, 15}, // an attribute
        {"(float[1,2,3,3] x, float[2] s, float[2] b, float[2] m, float[2] v) => (y) "
         "{ y = BatchNormalization(x, s, b, m, v) }",
         13, 13},
        {"(float[1,1,4,4] x, float[1,4] r, int64[1] i) => (y) { y = RoiAlign(x, r, i) }", 13, 17},
        {"(float[2] x, bool c) => (y) { y = If(c) <then_branch = g () => (a) { a = HardSwish(x) }, "
         "else_branch = h () => (b) { b = Relu(x) }> }",
         13, 14},
        {"(float[2,3] x) => (y) <float s = {0.5}, int8 z = {0}> "
         "{ q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }",
         13, 13},
        {"(float[2,3] x) => (y) <float s = {0.5}, int16 z = {0}> "
         "{ q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }",
         13, 21},
        {"(float16[2,3] x, float16 s) => (y) <int8 z = {0}> "
         "{ q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }",
         17, 19},
        {"(bfloat16[1,1,3,3] x, bfloat16[1,1,1,1] w) => (y) { y = Conv(x, w) }", 13, 22},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.body);
        const Graph graph =
            parse("<ir_version: 8, opset_import: [\"\" : 21]> g " + std::string(row.body));
        EXPECT_EQ(model_io::opsetFor(graph, row.least), row.wanted);
        auto bytes = model_io::toBytesOf(graph, row.least);
        ASSERT_TRUE(bytes) << bytes.error().text();
        ::onnx::ModelProto proto;
        ASSERT_TRUE(proto.ParseFromString(*bytes));
        EXPECT_EQ(opsetOf(proto, ""), row.wanted);
        EXPECT_EQ(proto.ir_version(), row.wanted < 15   ? 7
                                      : row.wanted < 19 ? 8
                                      : row.wanted < 21 ? 9
                                                        : 10);
        auto again = model_io::loadBytes(*bytes, ".", {});
        ASSERT_TRUE(again) << again.error().text();
        EXPECT_EQ(text(*again), text(graph));
    }
}

/// Every type of an operand, of every operator: the opset that the file declares has it.
TEST(OnnxSave, TheOpsetTakesTheTypesOfOperands) {
    size_t tried = 0;
    for (const OpRow& row : allRows()) {
        const OpSchema* newest = publishedSchema(row.domain, row.name, newestPublishedOpset());
        if (row.domain[0] != '\0' || !newest || newest->inputs.empty())
            continue;
        for (auto type = DType::Float32; type < DType::Float8E4M3FN;
             type = static_cast<DType>(static_cast<int>(type) + 1)) {
            Graph graph;
            NodeSpec spec{row.op, "", {}, {"y"}};
            bool isLegal = true;
            for (size_t slot = 0; slot < static_cast<size_t>(row.minInputs) && isLegal; ++slot) {
                const bool isAlike =
                    newest->inputs[std::min(slot, newest->inputs.size() - 1)].type ==
                    newest->inputs[0].type;
                const DType of = isAlike                                           ? type
                                 : newest->inputTypes(slot).allows(DType::Float32) ? DType::Float32
                                                                                   : DType::Int64;
                isLegal = newest->inputTypes(slot).allows(of);
                spec.inputs.push_back(
                    graph.addInput("x" + std::to_string(slot), Type{TypeKind::Tensor, of}));
            }
            if (!isLegal || spec.inputs.empty())
                continue;
            graph.addOutput(graph.node(graph.addNode(std::move(spec))).outputs[0]);
            const int64_t opset = model_io::opsetFor(graph);
            const OpSchema* form = publishedSchema("", row.name, opset);
            ASSERT_TRUE(form) << row.name << " " << opset;
            EXPECT_TRUE(form->inputTypes(0).allows(type))
                << row.name << " of " << nameOf(type) << " in opset " << opset;
            ++tried;
        }
    }
    EXPECT_GT(tried, 500U);
}

TEST(OnnxSave, TheOpsetOfAModelIsKeptFrom13On) {
    auto own = [](const char* opset) {
        return model_io::ownOpset(
            parse("<ir_version: 8, opset_import: [\"\" : " + std::string(opset) +
                  "]> g (float[2,3] x) => (y) { y = Relu(x) }"));
    };
    EXPECT_EQ(own("11"), 13);
    EXPECT_EQ(own("13"), 13);
    EXPECT_EQ(own("16"), 16);
    EXPECT_EQ(own("20"), 17) << "files are never newer than their operators";
}

TEST(OnnxSave, CustomDomainsAreImported) {
    Graph graph = parse("<ir_version: 8, opset_import: [\"\" : 17, \"com.acme\" : 3]> "
                        "g (float[2] x) => (y) { y = com.acme.Foo <k = 3> (x) }");
    EXPECT_EQ(opsetOf(saved(graph), "com.acme"), 3);
    EXPECT_EQ(text(reloaded(graph)), text(graph));
}

TEST(OnnxSave, SubgraphsReadSharedConstantsFromOutside) {
    Graph graph = parse("g (bool c, float[20] x) => (y, z) "
                        "<float[2] w = {1, 2}> { z = Neg(w) y = If <else_branch = e () => (f) "
                        "{ f = Abs(w) }, then_branch = d () => (h) { h = Add(w, w) }> (c) }");
    ::onnx::ModelProto proto = saved(graph);
    EXPECT_EQ(proto.graph().initializer_size(), 1);
    for (const auto& node : proto.graph().node())
        for (const auto& attribute : node.attribute())
            EXPECT_EQ(attribute.g().initializer_size(), 0);
    EXPECT_EQ(text(reloaded(graph)), text(graph));
}

/// Of all lengths around what is left out of the message, in all places of the list.
TEST(OnnxSave, DataOfAnySizeAndTypeComesBackInItsPlace) {
    TemporaryFolder folder;
    std::mt19937 random(7);
    const DType types[] = {DType::Float32, DType::Float16, DType::Int4,
                           DType::UInt8,   DType::Bool,    DType::String};
    for (int round = 0; round < 60; ++round) {
        Graph graph = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }");
        std::vector<Tensor> kept;
        for (size_t i = 0, count = random() % 8; i < count; ++i) {
            Tensor tensor(
                types[random() % std::size(types)],
                {static_cast<int64_t>(random() % 3), static_cast<int64_t>(random() % 1500)});
            for (int64_t at = 0; at < tensor.elementCount() && tensor.dtype() != DType::String;
                 ++at)
                tensor.set(at, double(random() % 2));
            kept.push_back(tensor);
            graph.addOutput(
                graph.addConstant("c" + std::to_string(i), std::make_shared<const Tensor>(tensor)));
        }
        model_io::SaveOptions options;
        options.externalAbove = random() % 2 ? 3000 : 1 << 20;
        const std::string path = folder.file("m.onnx");
        ASSERT_TRUE(model_io::save(graph, path, options));
        Progress progress;
        auto again = model_io::load(path, {}, progress);
        ASSERT_TRUE(again) << round << ": " << again.error().text();
        for (size_t i = 0; i < kept.size(); ++i) {
            const ValueId id = again->findValue("c" + std::to_string(i));
            ASSERT_TRUE(id.valid() && again->value(id).constant) << round;
            EXPECT_TRUE(identical(*again->value(id).constant, kept[i])) << round << ", " << i;
        }
        EXPECT_EQ(saved(graph).graph().initializer_size(), static_cast<int>(kept.size()));
    }
}

TEST(OnnxSave, AFailedSaveLeavesNothing) {
    TemporaryFolder folder;
    Graph graph = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }");
    std::filesystem::create_directory(folder.file("taken.onnx"));
    auto failed = model_io::save(graph, folder.file("taken.onnx"));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, "save.write");
    EXPECT_EQ(model_io::save(graph, folder.file("no/such/folder.onnx")).error().code, "save.write");
    size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path()))
        ++files;
    EXPECT_EQ(files, 1U);
}

TEST(OnnxSave, TensorsSurviveTheirFile) {
    TemporaryFolder folder;
    Tensor half(DType::Float16, {2, 2});
    for (int i = 0; i < 4; ++i)
        half.set(i, i - 1.5);
    ASSERT_TRUE(model_io::saveTensor(half, folder.file("t.pb")));
    auto again = model_io::loadTensor(folder.file("t.pb"));
    ASSERT_TRUE(again);
    EXPECT_TRUE(identical(*again, half));
}

/// Every model of ONNX's backend tests: loads, verifies, and is the same after saving.
TEST(OnnxSave, BackendTestModelsSurviveSaving) {
    namespace fs = std::filesystem;
    if (!fs::is_directory(FUSELAGE_ONNX_TESTDATA))
        GTEST_SKIP() << "no ONNX backend test data at " << FUSELAGE_ONNX_TESTDATA
                     << ": install libonnx-testdata";
    size_t models = 0;
    for (const auto& entry : fs::recursive_directory_iterator(FUSELAGE_ONNX_TESTDATA)) {
        if (entry.path().filename() != "model.onnx")
            continue;
        std::string path = entry.path().string();
        Progress progress;
        auto graph = model_io::load(path, {}, progress);
        ASSERT_TRUE(graph) << graph.error().text();
        auto sound = verify(*graph);
        EXPECT_TRUE(sound) << path << ": " << sound.error().text();
        ++models;
        auto bytes = model_io::toBytes(*graph);
        if (!bytes) {
            // Scan of opset 8 is another operator than today's.
            EXPECT_EQ(bytes.error().code, "save.opset") << path;
            continue;
        }
        auto again = model_io::loadBytes(*bytes, ".", {});
        ASSERT_TRUE(again) << path << ": " << again.error().text();
        EXPECT_EQ(text(*again), text(*graph)) << path;
    }
    EXPECT_GT(models, 1000U);
}

TEST(OnnxSave, OperatorsKeepTheirFunctionsAndBodiesOfOneNameAreOverloads) {
    Graph graph = parse("g (float[4] x) => (float[4] y) { a = Mul(x, x) b = Neg(a) y = Exp(b) }");
    for (const char* name : {"Mul", "Neg"}) {
        const std::vector<NodeId> nodes{graph.findNode(name)};
        Cut cut = cutOut(graph, nodes, escapingValues(graph, nodes));
        const NodeId fused = replaceByFused(graph, nodes, std::move(cut), "Act", {});
        graph.edit(fused).customDomain = "com.acme";
        graph.edit(fused).attributes.set("alpha", 0.5);
    }
    const ::onnx::ModelProto proto = saved(graph);
    ASSERT_EQ(proto.functions_size(), 2);
    for (const auto& function : proto.functions()) {
        EXPECT_EQ(function.domain() + "." + function.name(), "com.acme.Act");
        ASSERT_EQ(function.attribute_size(), 1);
        EXPECT_EQ(function.attribute(0), "alpha");
    }
    EXPECT_GE(proto.ir_version(), 10);
    EXPECT_EQ(opsetOf(proto, "com.acme"), 1);
    const Graph again = reloaded(graph);
    EXPECT_EQ(text(again), text(graph));
    size_t operators = 0;
    for (NodeId id : again.nodes()) {
        const Node& node = again.node(id);
        operators += node.op == Op::Fused && node.customDomain == "com.acme" ? 1 : 0;
    }
    EXPECT_EQ(operators, 2U);
}

TEST(OnnxSave, AnOperatorThatARuleMadeHasItsOpset) {
    Graph graph = parse("g (float[4] x) => (float[4] y) { y = Relu(x) }");
    EXPECT_EQ(opsetOf(saved(graph), ""), 17);
    Node& node = graph.edit(graph.findNode("Relu"));
    node.op = Op::Unknown;
    node.customOp = "TensorScatter";
    EXPECT_EQ(opsetOf(saved(graph), ""), 24);
    node.customDomain = "com.acme";
    EXPECT_EQ(opsetOf(saved(graph), ""), 17);
    EXPECT_EQ(opsetOf(saved(graph), "com.acme"), 1);
}
