// SPDX-License-Identifier: Apache-2.0
// Files that say more than is known here, in every command: unknown attributes, a newer opset, the
// metadata of PyTorch's exporter. Whole commands; what is read and written, unit_onnx tests.
#include "core/onnx/model_file.h"
#include "core/onnx/model_text.h"
#include "core/onnx/outline.h"
#include "tests/cli/cli.h"
#include "tests/support/json_schema.h"
#include "tests/unit/onnx_builder.h"

#include <google/protobuf/unknown_field_set.h>
#include <nlohmann/json.hpp>
#include <onnx/defs/parser.h>

#include <algorithm>
#include <cstring>

using namespace fuselage::cli_test;
using fuselage::onnx_test::addAttribute;
using fuselage::onnx_test::ModelBuilder;
using nlohmann::json;

namespace {

/// Attention as opset 25 has it, which nothing here knows, before a Relu.
ModelBuilder attention() {
    ModelBuilder model(25);
    for (const char* name : {"q", "k", "v"})
        model.input(name, {1, 2, 4, 8});
    model.output("y", {1, 2, 4, 8});
    auto& node = model.node("Attention", {"q", "k", "v"}, {"t"});
    addAttribute(node, "knob", ::onnx::AttributeProto::INT).set_i(2);
    model.node("Relu", {"t"}, {"y"});
    return model;
}

void addMetadata(::onnx::NodeProto& node, const std::string& key, const std::string& value) {
    ::onnx::StringStringEntryProto entry;
    entry.set_key(key);
    entry.set_value(value);
    node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(
        9, entry.SerializeAsString());
}

/// Of an opset to come, with what PyTorch says about its nodes.
ModelBuilder exported() {
    ModelBuilder model(99);
    model.input("x", {2, 4}).output("y", {2, 4});
    model.initializer("w", {4, 4}).set_raw_data(std::string(64, '\0'));
    int line = 10;
    for (auto [op, inputs, output] :
         {std::tuple("MatMul", std::vector<std::string>{"x", "w"}, "t"), {"Relu", {"t"}, "y"}}) {
        auto& node = model.node(op, inputs, {output});
        addMetadata(node, "pkg.torch.onnx.name_scopes", "['', 'blocks.0.mlp', 'linear']");
        addMetadata(node, "pkg.torch.onnx.stack_trace",
                    "File \"models/net.py\", line " + std::to_string(line++) +
                        ", in forward\n    return self.act(x)");
    }
    return model;
}

bool has(const std::string& text, const std::string& piece) {
    return text.find(piece) != std::string::npos;
}

constexpr const char* newer = "opset 99 is newer than 28";
constexpr const char* kept = "`Attention` is kept and not computed: attribute `knob` "
                             "is not known (node `Attention_t`)";

class CliForeign : public Command {
protected:
    void SetUp() override {
        folder.write("attention.onnx", attention().bytes());
        folder.write("exported.onnx", exported().bytes());
    }

    json report(const std::string& name) const {
        return json::parse(readAll(folder.file(name)), nullptr, false);
    }

    std::vector<float> numbers(const std::string& name) const {
        ::onnx::TensorProto proto;
        EXPECT_TRUE(proto.ParseFromString(readAll(folder.file(name)))) << name;
        std::vector<float> out(proto.raw_data().size() / sizeof(float));
        std::memcpy(out.data(), proto.raw_data().data(), out.size() * sizeof(float));
        return out;
    }

    ::onnx::ModelProto model(const std::string& name) const {
        ::onnx::ModelProto out;
        EXPECT_TRUE(out.ParseFromString(readAll(folder.file(name)))) << name;
        return out;
    }
};

} // namespace

TEST_F(CliForeign, InspectShowsNotesAndWhatIsNotComputed) {
    const auto known = run({"inspect", "exported.onnx"});
    EXPECT_EQ(known.exitCode, ExitOk);
    EXPECT_TRUE(has(known.output, std::string("note: ") + newer)) << known.output;
    const auto unknown = run({"inspect", "attention.onnx"});
    EXPECT_EQ(unknown.exitCode, ExitOk);
    EXPECT_TRUE(has(unknown.output, std::string("note: ") + kept)) << unknown.output;
    EXPECT_TRUE(has(unknown.output, "cannot be run: `Attention`")) << unknown.output;
}

TEST_F(CliForeign, WhatRunsRefusesAnUnknownAttributeByNodeAndName) {
    const std::vector<std::string> pieces{"`Attention` (Attention_t: attribute `knob`",
                                          "[load.missing]", "fix:"};
    expectRefused({"run", "attention.onnx", "-o", "out"}, ExitInput, pieces);
    expectRefused({"bench", "attention.onnx", "--report", "r.json"}, ExitInput, pieces);
}

TEST_F(CliForeign, FusingAndExplainingWorkAroundIt) {
    const auto fused = run({"fuse", "attention.onnx", "-o", "f.onnx"});
    ASSERT_EQ(fused.exitCode, ExitOk) << fused.errors;
    EXPECT_TRUE(has(fused.errors, kept)) << fused.errors;
    const ::onnx::ModelProto written = model("f.onnx");
    const auto& nodes = written.graph().node();
    const auto node = std::find_if(nodes.begin(), nodes.end(),
                                   [](const auto& each) { return each.op_type() == "Attention"; });
    ASSERT_NE(node, nodes.end());
    ASSERT_EQ(node->attribute_size(), 1);
    EXPECT_EQ(node->attribute(0).name(), "knob");
    EXPECT_EQ(node->attribute(0).i(), 2);
    const auto explained = run({"explain", "attention.onnx"});
    EXPECT_EQ(explained.exitCode, ExitOk) << explained.errors;
    EXPECT_TRUE(has(explained.output, kept)) << explained.output;
}

TEST_F(CliForeign, AnOperatorThatARuleNamesIsReadAsItIs) {
    ModelBuilder model(24);
    auto* import = model.proto.add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
    model.input("x", {2, 5, 16}).output("y", {2, 5, 8});
    model.initializer("b", {16}).set_raw_data(std::string(64, '\0'));
    model.node("BiasSplitGelu", {"x", "b"}, {"y"}).set_domain("com.microsoft");
    folder.write("m.onnx", model.bytes());
    folder.write("r.fuse", "fuse 1;\n"
                           "rule Ours in convert {\n"
                           "  match { y = com.microsoft.BiasSplitGelu(x, b); }\n"
                           "  rewrite { y = com.acme.Gated(x, b); }\n}\n");
    expectHas(outputOf({"run", "m.onnx", "-q"}), "y: float[2,5,8]"); // by what it stands for
    expectHas(outputOf({"fuse", "m.onnx", "-p", "r.fuse", "-q", "-o", "out.onnx"}), "Ours");
    expectHas(outputOf({"inspect", "out.onnx"}), "Gated");
}

/// Functions of a file: inspect lists and shows them, a rule matches them by name, and what the
/// rule does not replace is computed.
TEST_F(CliForeign, AFunctionOfTheFileIsSeenAndMatchedByItsName) {
    ModelBuilder model(18);
    for (const char* domain : {"com.acme", "com.microsoft"}) {
        auto* import = model.proto.add_opset_import();
        import->set_domain(domain);
        import->set_version(1);
    }
    model.input("x", {2, 4}).output("y", {2, 4});
    auto& function = *model.proto.add_functions();
    function.set_domain("com.acme");
    function.set_name("Gated");
    function.add_input("a");
    function.add_output("b");
    auto* import = function.add_opset_import();
    import->set_domain("");
    import->set_version(18);
    ModelBuilder::addNode(*function.mutable_node(), "Sigmoid", {"a"}, {"s"});
    ModelBuilder::addNode(*function.mutable_node(), "Mul", {"a", "s"}, {"b"});
    auto& first = model.node("Gated", {"x"}, {"t"});
    first.set_domain("com.acme");
    first.set_name("gate");
    model.node("Gated", {"t"}, {"u"}).set_domain("com.acme");
    model.node("Relu", {"u"}, {"y"});
    folder.write("m.onnx", model.bytes());
    const std::string seen = outputOf({"inspect", "m.onnx"});
    for (const char* piece : {"com.acme.Gated", "2 nodes", "2 calls", "`gate/...`"})
        expectHas(seen, piece);
    const std::string shown = outputOf({"inspect", "m.onnx", "--function", "com.acme.Gated"});
    for (const char* piece : {"com.acme.Gated of node `gate`", "Sigmoid(a)", "Mul(a, s)"})
        expectHas(shown, piece);
    expectRefused({"inspect", "m.onnx", "--function", "com.acme.Other"}, ExitUsage,
                  {"`com.acme.Other`", "[function.unknown]"});
    folder.write("r.fuse", "fuse 1;\n"
                           "rule Ours { match { y = com.acme.Gated(x) -> Relu; } gate always; }\n");
    expectHas(outputOf({"fuse", "m.onnx", "-p", "r.fuse", "--no-builtin", "-q", "-o", "out.onnx"}),
              "Ours");
    // Both calls run: the one that the rule took, and the other.
    outputOf({"run", "m.onnx", "-q", "--backend", "cpu", "-o", "plain"});
    outputOf({"run", "m.onnx", "-p", "r.fuse", "--no-builtin", "--fuse", "-q", "--backend", "cpu",
              "-o", "fused"});
    const std::vector<float> plain = numbers("plain/output_0.pb"),
                             fused = numbers("fused/output_0.pb");
    ASSERT_EQ(plain.size(), 8U);
    ASSERT_EQ(fused.size(), 8U);
    for (size_t i = 0; i < plain.size(); ++i)
        EXPECT_NEAR(plain[i], fused[i], 1e-6F);
}

/// Runtimes look for overloads from the graph only.
TEST_F(CliForeign, FunctionsCallNoneThatHasOverloads) {
    ModelBuilder model(18);
    auto* import = model.proto.add_opset_import();
    import->set_domain("com.acme");
    import->set_version(1);
    model.input("x", {2, 4}).output("y", {2, 4}).output("z", {2, 4});
    for (const auto& [from, between, to, by] :
         {std::tuple("x", "s", "y", 2.0F), std::tuple("y", "t", "z", 3.0F)}) {
        auto& node = model.node("Scale", {from}, {between});
        node.set_domain("com.acme");
        addAttribute(node, "by", ::onnx::AttributeProto::FLOAT).set_f(by);
        model.node("Relu", {between}, {to});
    }
    folder.write("m.onnx", model.bytes());
    folder.write("r.fuse", "fuse 1;\n"
                           "op com.acme.Scale(x) -> y [by: float = 1] { y = Mul(x, by); }\n"
                           "rule R { match { y = com.acme.Scale(x) -> Relu; } gate always; }\n");
    expectHas(outputOf({"fuse", "m.onnx", "-p", "r.fuse", "-q", "-o", "out.onnx"}), "R ");
    ::onnx::ModelProto fused;
    ASSERT_TRUE(fused.ParseFromString(readAll(folder.file("out.onnx"))));
    size_t calls = 0;
    for (const auto& function : fused.functions())
        for (const auto& node : function.node()) {
            EXPECT_NE(node.domain(), "com.acme") << function.name();
            calls += node.domain() == "fuselage" ? 1 : 0;
        }
    EXPECT_EQ(calls, 2U);
    EXPECT_EQ(outputOf({"run", "out.onnx", "-q"}),
              outputOf({"run", "m.onnx", "--fuse", "-p", "r.fuse", "-q"}));
}

/// Scaler has no routine here: its result's type is what its published form says, a copy's is what
/// the file declares, and neither asks for a newer opset. A rule that writes it out makes it run.
TEST_F(CliForeign, WhatAPublishedOperatorMakesKeepsItsTypesAndRunsByARule) {
    ModelBuilder model(15);
    auto* import = model.proto.add_opset_import();
    import->set_domain("ai.onnx.ml");
    import->set_version(3);
    model.input("x", {2, 3}).output("y", {2, 3}).output("z", {2, 3});
    auto& scaler = model.node("Scaler", {"x"}, {"s"});
    scaler.set_domain("ai.onnx.ml");
    addAttribute(scaler, "offset", ::onnx::AttributeProto::FLOATS).add_floats(1);
    addAttribute(scaler, "scale", ::onnx::AttributeProto::FLOATS).add_floats(2);
    model.node("Identity", {"s"}, {"y"});
    model.node("Equal", {"s", "x"}, {"e"});
    auto& cast = model.node("Cast", {"e"}, {"z"});
    addAttribute(cast, "to", ::onnx::AttributeProto::INT).set_i(::onnx::TensorProto::FLOAT);
    folder.write("m.onnx", model.bytes());
    outputOf({"fuse", "m.onnx", "-q", "-o", "out.onnx"});
    ::onnx::ModelProto fused;
    ASSERT_TRUE(fused.ParseFromString(readAll(folder.file("out.onnx"))));
    for (const auto& output : fused.graph().output())
        EXPECT_EQ(output.type().tensor_type().elem_type(), ::onnx::TensorProto::FLOAT);
    for (const auto& opset : fused.opset_import())
        EXPECT_TRUE(!opset.domain().empty() || opset.version() == 17) << opset.version();
    folder.write("r.fuse",
                 "fuse 1;\n"
                 "rule Written in convert { match { y = s@ai.onnx.ml.Scaler(x); } rewrite { "
                 "y = Mul(Sub(x, Constant()[value_floats = s.offset]), "
                 "Constant()[value_floats = s.scale]); } }\n"
                 "pipeline default = convert* then fuse;\n");
    expectRefused({"run", "m.onnx", "-q"}, ExitInput, {"ai.onnx.ml.Scaler", "[load.missing]"});
    outputOf({"run", "m.onnx", "-q", "--fuse", "-p", "r.fuse", "-o", "ran"});
    EXPECT_EQ(numbers("ran/output_0.pb").size(), 6U);
    expectRefused({"run", "m.onnx", "-q", "--fuse", "-p", "r.fuse", "--verify"}, ExitInput,
                  {"[load.missing]"});
}

TEST_F(CliForeign, EveryReportHasTheNotes) {
    const auto ran = run({"run", "exported.onnx", "-o", "out"});
    ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran.errors, newer)) << ran.errors;
    const auto timed = run({"bench", "exported.onnx", "--no-measure", "--report", "r.json",
                            "--report", "r.html", "--report", "r.md"});
    ASSERT_EQ(timed.exitCode, ExitOk) << timed.errors;
    EXPECT_TRUE(has(timed.output, newer)) << timed.output;
    for (const char* file : {"r.html", "r.md"})
        EXPECT_TRUE(has(readAll(folder.file(file)), newer)) << file;
    const json written = report("r.json");
    ASSERT_TRUE(written["results"]["model"]["notes"].is_array());
    EXPECT_TRUE(has(written["results"]["model"]["notes"][0], newer));
    for (const std::string& error :
         fuselage::testing_support::schemaErrors(written, FUSELAGE_SCHEMAS, "report.schema.json"))
        ADD_FAILURE() << error;
    const json explained = json::parse(run({"explain", "exported.onnx", "--json"}).output);
    EXPECT_TRUE(has(explained["notes"][0], newer));
    for (const std::string& error : fuselage::testing_support::schemaErrors(
             explained, FUSELAGE_SCHEMAS, "explain.schema.json"))
        ADD_FAILURE() << error;
    ASSERT_EQ(run({"batch", "exported.onnx", "-o", "batch"}).exitCode, ExitOk);
    EXPECT_TRUE(has(readAll(folder.file("batch/results.json")), newer));
}

TEST_F(CliForeign, FusedNodesSayWhichModuleAndLineTheyComeFrom) {
    const std::string place = "blocks.0.mlp, net.py:10";
    const auto timed = run({"bench", "exported.onnx", "--no-measure", "--report", "r.json",
                            "--report", "r.html", "--report", "r.md", "--save-fused", "f.onnx"});
    ASSERT_EQ(timed.exitCode, ExitOk) << timed.errors;
    EXPECT_TRUE(has(timed.output, place)) << timed.output;
    EXPECT_TRUE(has(readAll(folder.file("r.html")), place));
    EXPECT_TRUE(has(readAll(folder.file("r.md")), "blocks.0.mlp, net.py&#58;10"));
    const json written = report("r.json");
    ASSERT_EQ(written["results"]["matches"].size(), 1U);
    EXPECT_EQ(written["results"]["matches"][0]["origins"],
              json::parse(R"(["blocks.0.mlp, net.py:10", "blocks.0.mlp, net.py:11"])"));
    const auto node = run({"explain", "exported.onnx", "--node", "Relu_y"});
    EXPECT_TRUE(has(node.output, "Relu_y comes from blocks.0.mlp, net.py:11")) << node.output;
    // The saved model's fused node has the entries of both nodes.
    const ::onnx::ModelProto saved = model("f.onnx");
    ASSERT_EQ(saved.graph().node_size(), 1);
    EXPECT_TRUE(has(saved.graph().node(0).SerializeAsString(), "line 10"));
    EXPECT_TRUE(has(saved.graph().node(0).SerializeAsString(), "line 11"));
    const auto hidden =
        run({"bench", "exported.onnx", "--no-measure", "--redact", "--report", "h.json"});
    ASSERT_EQ(hidden.exitCode, ExitOk) << hidden.errors;
    EXPECT_FALSE(has(readAll(folder.file("h.json")), "net.py"));
    EXPECT_FALSE(has(readAll(folder.file("h.json")), "blocks.0"));
}

TEST_F(CliForeign, SavedOutputsKeepTheNamesOfTheirTensors) {
    ModelBuilder odd;
    odd.input("x", {2}).output("../../y:0", {2});
    odd.node("Relu", {"x"}, {"../../y:0"});
    folder.write("odd.onnx", odd.bytes());
    ASSERT_EQ(run({"run", "odd.onnx", "-o", "out"}).exitCode, ExitOk);
    ::onnx::TensorProto tensor;
    ASSERT_TRUE(tensor.ParseFromString(readAll(folder.file("out/output_0.pb"))));
    EXPECT_EQ(tensor.name(), "../../y:0");
}

TEST_F(CliForeign, ATargetKeepsTheOperatorsThatItsRuntimeHas) {
    fuselage::model_io::LoadOptions reading;
    reading.whole = {"com.microsoft.FusedGemm"};
    const auto graph = fuselage::model_io::loadText(
        "g (float[2,3] a, float[3,2] b, float[2,2] c) => (y) {"
        " m = com.microsoft.FusedGemm<activation = \"Relu\">(a, b)  y = Add(m, c) }",
        reading);
    ASSERT_TRUE(graph && fuselage::model_io::save(*graph, folder.file("m.onnx")));
    const auto operators = [&](const char* target) {
        outputOf({"fuse", "m.onnx", "-o", "t.onnx", "--target", target, "-q"});
        std::string out;
        const auto outline = fuselage::model_io::outlineOf(folder.file("t.onnx"));
        for (const auto& node : outline->nodes)
            out += node.op + " ";
        return out;
    };
    EXPECT_EQ(operators("ort-cpu"), "com.microsoft.FusedGemm Add ");
    EXPECT_EQ(operators("standard"), "Gemm Relu Add ");
}

TEST_F(CliForeign, WhatIsWrittenOutIsSaidWithTheTargetsThatKeepIt) {
    ::onnx::ModelProto model; // as others write it
    ASSERT_TRUE(::onnx::OnnxParser::Parse(
                    model, "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> "
                           "g (float[3,8] x, float[3,2] p, float[2,6,8] w, float[2,8,6] v, "
                           "float[8] b) => (float[3,4] y) {"
                           " r = com.microsoft.MoE<k = 1>(x, p, w, , v)"
                           " y = com.microsoft.BiasSplitGelu(r, b) }")
                    .IsOK());
    folder.write("m.onnx", model.SerializeAsString());
    const auto said = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments = {"fuse", "m.onnx", "-q"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return outputOf(arguments);
    };
    const std::string plain = said({"-o", "t.onnx"});
    const auto lineOf = [&](const char* name) {
        const size_t begin = plain.find(name);
        return begin == std::string::npos ? plain
                                          : plain.substr(begin, plain.find('\n', begin) - begin);
    };
    EXPECT_TRUE(lineOf("com.microsoft.MoE 1;").ends_with("keeps: ort-cpu, ort-cuda")) << plain;
    EXPECT_TRUE(lineOf("com.microsoft.BiasSplitGelu 1;").ends_with("keeps: ort-cuda")) << plain;
    EXPECT_NE(plain.find("opset 17 -> 20: "), std::string::npos) << "Gelu is that new: " << plain;
    EXPECT_EQ(said({"-o", "t.onnx", "--target", "ort-cpu"}).find("written out"), std::string::npos);
    EXPECT_EQ(said({}).find("written out"), std::string::npos) << "nothing was written";
}

TEST_F(CliForeign, NobodyIsToldThatADeclaredOperatorIsUnknown) {
    writeText("<ir_version: 8, opset_import: [\"\" : 17, \"com.acme\" : 1]> "
              "g (float[2,3] x, float[2,3] w) => (y) {"
              " m = com.acme.Gated(x, w)  y = com.acme.Other(m) }");
    folder.write("ops.fuse", "fuse 1;\nop com.acme.Gated(x, w) -> y { y = Mul(Sigmoid(x), w); }\n");
    const auto ran = run({"fuse", "m.onnx", "-o", "t.onnx", "-p", "ops.fuse"});
    EXPECT_EQ(ran.exitCode, 0) << ran.errors;
    const std::string said = ran.output + ran.errors;
    EXPECT_EQ(said.find("`com.acme.Gated` of opset"), std::string::npos) << said;
    EXPECT_NE(said.find("`com.acme.Other` of opset 1 is not known"), std::string::npos) << said;
}
