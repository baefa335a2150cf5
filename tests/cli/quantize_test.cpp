// SPDX-License-Identifier: Apache-2.0
// `quantize` and `quantize --lint` from outside: what they say, exit codes, which opset is written,
// and that bad input leaves nothing behind.
#include "tests/cli/cli.h"
#include "tests/unit/onnx_builder.h"

#include <algorithm>
#include <filesystem>

using namespace fuselage::cli_test;
using fuselage::onnx_test::addAttribute;
using fuselage::onnx_test::ModelBuilder;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

bool has(const std::string& text, const std::string& piece) {
    return text.find(piece) != std::string::npos;
}

class CliQuantize : public Command {
protected:
    static Words with(Words words, const Words& more) {
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }

    /// A product in front of an activation; `zero` of the pair in front of it, none: no pair.
    void writeProduct(const std::string& load) const {
        writeText("g (float[4,4] x) => (float[4,2] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, "
                  "int8[4,2] w8 = {1, 2, 3, 4, 5, 6, 7, 8}, float s = {0.5}, float[2] t = {0.5, "
                  "0.25}, int8 z = {0}, int8 three = {3}> {" +
                  load + " y = Relu(m) }");
    }
};

} // namespace

TEST_F(CliQuantize, LintOfPairsThatAreAsTheyShouldBe) {
    writeProduct("q = QuantizeLinear(x, s, z) f = DequantizeLinear(q, s, z) "
                 "v = DequantizeLinear<axis=1>(w8, t) m = MatMul(f, v)");
    const std::set<std::string> before = files();
    const ProcessResult ran = run({"quantize", "m.onnx", "--lint", "-q"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_EQ(ran.output, "0 findings\n");
    EXPECT_EQ(files(), before);
}

TEST_F(CliQuantize, AdviceIsNothingAmiss) {
    writeProduct("c = Relu(x) p = Transpose(c) q = QuantizeLinear(p, s, z) "
                 "f = DequantizeLinear(q, s, z) t2 = Transpose(f) "
                 "v = DequantizeLinear<axis=1>(w8, t) m = MatMul(t2, v)");
    const ProcessResult ran = run({"quantize", "m.onnx", "--lint", "-q"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
    expectHas(ran.output, "[pair-movable]\n  advice: ");
    EXPECT_TRUE(ran.output.ends_with("0 findings, 1 piece of advice\n")) << ran.output;
}

TEST_F(CliQuantize, ExplainSaysWhatTheLintSaysOfTheNodeAskedFor) {
    writeText("g (float[2,2] x) => (float[2,2] y, float[2,2] z) <int8[2,2] w8 = {1, 2, 3, 4}, "
              "float[2] t = {0.5, 0.25}, float s = {0.5}, int8 o = {0}> "
              "{ q = QuantizeLinear(x, s, o) f = DequantizeLinear(q, s, o) "
              "v = DequantizeLinear<axis=0>(w8, t) y = MatMul(f, v) "
              "q2 = QuantizeLinear(y, s, o) f2 = DequantizeLinear(q2, s, o) z = Softmax(f2) }");
    const std::string lint = run({"quantize", "m.onnx", "--lint", "-q"}).output;
    expectHas(lint, "[pair-wrong-axis]");
    expectHas(lint, "[pair-unused]");
    const std::string all = outputOf({"explain", "m.onnx"});
    expectHas(all, "[pair-wrong-axis]\n    fix: quantise it again with axis = 1");
    expectHas(all, "[pair-unused]\n    fix: ");
    const std::string one = outputOf({"explain", "m.onnx", "--node", "y"});
    expectHas(one, "[pair-wrong-axis]");
    const std::string other = outputOf({"explain", "m.onnx", "--node", "z"});
    expectHas(other, "[pair-unused]");
    EXPECT_FALSE(has(other, "[pair-wrong-axis]")) << other;
    const std::string report = outputOf({"explain", "m.onnx", "--json"});
    expectHas(report, "\"pair_lint\": [");
}

TEST_F(CliQuantize, ExplainSaysWhichNodesStayInFloat32) {
    writeText("g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 1000000}> "
              "{ m = MatMul(x, w) y = Relu(m) }");
    expectHas(outputOf({"explain", "m.onnx", "--precision", "fp16"}),
              "2 nodes stay in float32\n  MatMul: weight `w` holds 1000000, which float16 cannot "
              "store\n");
    const std::string one = outputOf({"explain", "m.onnx", "--precision", "fp16", "--node", "y"});
    expectHas(one, "1 node stays in float32\n  Relu: ");
    EXPECT_FALSE(has(one, "holds 1000000")) << one;
    EXPECT_FALSE(has(outputOf({"explain", "m.onnx"}), "in float32"));
}

TEST_F(CliQuantize, LintNamesTheNodeTheFindingAndWhatToDo) {
    writeProduct("q = QuantizeLinear(x, s, three) f = DequantizeLinear(q, s, three) "
                 "v = DequantizeLinear<axis=1>(w8, t) m = MatMul(f, v)");
    const std::set<std::string> before = files();
    const ProcessResult ran = run({"quantize", "m.onnx", "--lint", "-q"});
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.errors;
    expectHas(ran.output, "QuantizeLinear: `QuantizeLinear` has a zero point that is not 0, which "
                          "TensorRT refuses [pair-asymmetric]\n  fix: ");
    EXPECT_TRUE(ran.output.ends_with("1 finding\n")) << ran.output;
    EXPECT_EQ(files(), before);
}

TEST_F(CliQuantize, LintOfBadInputSaysSoAndWritesNothing) {
    folder.write("text.onnx", "this is a text\n");
    expectRefused({"quantize", "missing.onnx", "--lint"}, ExitInput, {"missing.onnx"});
    expectRefused({"quantize", "text.onnx", "--lint"}, ExitInput, {"text.onnx"});
    writeProduct("m = MatMul(x, w)");
    const Words lint{"quantize", "m.onnx", "--lint"};
    for (const char* option : {"-o", "--plan-out", "--plan", "--data"})
        expectRefused(with(lint, {option, "other"}), ExitUsage, {"usage.quantize", "--lint"});
    expectRefused(with(lint, {"-p", "nowhere.fuse"}), ExitInput, {"nowhere.fuse"});
}

TEST_F(CliQuantize, BadModelsAndPlansLeaveNothingBehind) {
    const Words quantize{"quantize", "m.onnx",     "-q",          "-o",
                         "out.onnx", "--plan-out", "out.fuseplan"};
    writeText("g (float[4,2] x) => (float[4,2] y) { y = Exp(x) }");
    expectRefused(quantize, ExitInput, {"quantize.nothing"});
    writeProduct("m = MatMul(x, w)");
    folder.write("range.fuseplan",
                 "quantize 1\n\"MatMul\"[0] INPUT: int8 minmax 2 .. -2 by hand\n");
    folder.write("node.fuseplan", "quantize 1\n\"Nobody\"[0] INPUT: int8 minmax -2 .. 2 by hand\n");
    folder.write("axis.fuseplan", "quantize 1\n\"MatMul\"[1] W: int8 axis 7 minmax by hand\n");
    for (const char* plan : {"range", "node", "axis"})
        expectRefused(with(quantize, {"--plan", std::string(plan) + ".fuseplan"}), ExitInput,
                      {std::string(plan) + ".fuseplan", "line 2"});
}

TEST_F(CliQuantize, SaysWhichOpsetIsWrittenAndWhatTensorRTRefuses) {
    const struct {
        Words types;
        const char *opset, *refused;
    } rows[] = {
        {{}, "17", ""},
        {{"--type", "uint8"}, "17", "uint8"},
        {{"--type", "float8e4m3fn"}, "19", ""},
        {{"--type", "float8e5m2"}, "19", "float8e5m2"},
        {{"--type", "int16"}, "21", "int16"},
        {{"--type", "float", "--weights", "int4"}, "21", ""},
        {{"--type", "float", "--weights", "int4", "--block", "32"}, "21", "int4 in blocks of 32"},
        {{"--type", "float", "--weights", "int4", "--block", "0"}, "21", "int4 without blocks"},
        {{"--type", "float", "--weights", "uint4"}, "21", "uint4"},
    };
    for (const auto& row : rows) {
        writeProduct("m = MatMul(x, w)");
        const ProcessResult ran =
            run(with({"quantize", "m.onnx", "-q", "--no-check", "-o", "out.onnx"}, row.types));
        ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
        EXPECT_TRUE(ran.output.ends_with(std::string("\nout.onnx: opset ") + row.opset + "\n"))
            << ran.output;
        ::onnx::ModelProto model;
        ASSERT_TRUE(model.ParseFromString(readAll(folder.file("out.onnx"))));
        EXPECT_EQ(std::to_string(model.opset_import(0).version()), row.opset);
        EXPECT_EQ(has(ran.errors, "TensorRT takes no "), *row.refused != 0) << ran.errors;
        if (*row.refused != 0)
            expectHas(ran.errors, std::string("TensorRT takes no ") + row.refused + "; only int8");
        const ProcessResult lint = run({"quantize", "out.onnx", "--lint", "-q"});
        const bool told = has(lint.output, "[pair-type]") || has(lint.output, "[pair-block]");
        EXPECT_EQ(told, *row.refused != 0) << "the note and the lint agree\n" << lint.output;
        fs::remove(folder.file("out.onnx"));
    }
}

TEST_F(CliQuantize, AModelOfAnOlderOpsetKeepsItWhereTheTypesAllow) {
    auto writtenOf = [&](int64_t opset, const Words& types) {
        writeProduct("m = MatMul(x, w)");
        ::onnx::ModelProto model;
        EXPECT_TRUE(model.ParseFromString(readAll(folder.file("m.onnx"))));
        model.mutable_opset_import(0)->set_version(opset);
        folder.write("m.onnx", model.SerializeAsString());
        const ProcessResult ran =
            run(with({"quantize", "m.onnx", "-q", "--no-check", "-o", "out.onnx"}, types));
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
        EXPECT_TRUE(model.ParseFromString(readAll(folder.file("out.onnx"))));
        expectHas(ran.output,
                  "out.onnx: opset " + std::to_string(model.opset_import(0).version()) + "\n");
        return model.opset_import(0).version();
    };
    EXPECT_EQ(writtenOf(11, {}), 13);
    EXPECT_EQ(writtenOf(13, {}), 13);
    EXPECT_EQ(writtenOf(16, {"--type", "uint8"}), 16);
    EXPECT_EQ(writtenOf(13, {"--type", "float8e4m3fn"}), 19);
    EXPECT_EQ(writtenOf(13, {"--type", "float", "--weights", "int4"}), 21);
    expectHas(outputOf({"quantize", "--help"}), "of the model's own opset");
}

TEST_F(CliQuantize, DataThatDoesNotFitIsNamedByItsFolderAndNothingIsWritten) {
    writeProduct("m = MatMul(x, w)");
    const Words quantize{"quantize", "m.onnx",     "-q",          "-o",
                         "out.onnx", "--plan-out", "out.fuseplan"};
    fs::create_directories(folder.file("wide"));
    ASSERT_TRUE(fuselage::model_io::saveTensor(fuselage::Tensor(fuselage::DType::Float32, {4, 9}),
                                               folder.file("wide/input_0.pb")));
    expectRefused(with(quantize, {"--data", "wide"}), ExitInput,
                  {"wide: the tensor given for input `x` is float[4,9]"});
    expectRefused(with(quantize, {"--data", "wide", "--sets", "2"}), ExitUsage,
                  {"--sets", "only generated inputs"});
}

TEST_F(CliQuantize, SixteenBitsTakeAllThatWasSeenWhereNothingElseIsAsked) {
    writeProduct("m = MatMul(x, w)");
    const Words plan{"quantize", "m.onnx", "-q", "--no-check", "--plan-out", "-.txt"};
    expectHas(outputOf(plan), "int8 entropy");
    expectHas(outputOf(with(plan, {"--type", "int16"})), "int16 minmax");
    expectHas(outputOf(with(plan, {"--type", "uint16", "--range", "entropy"})), "uint16 entropy");
}

TEST_F(CliQuantize, ASecondQuantisationIsToldAboutThePairsThatThereAre) {
    writeProduct("q = QuantizeLinear(x, s, z) f = DequantizeLinear(q, s, z) "
                 "v = DequantizeLinear<axis=1>(w8, t) m = MatMul(f, v)");
    expectRefused({"quantize", "m.onnx", "-q", "-o", "out.onnx"}, ExitInput,
                  {"quantize.nothing", "--again"});
}

TEST_F(CliQuantize, ASavedModelOf16BitsCarriesItsCasts) {
    writeProduct("m = MatMul(x, w)");
    ASSERT_EQ(run({"fuse", "m.onnx", "--precision", "fp16", "-q", "-o", "half.onnx"}).exitCode,
              ExitOk);
    const std::string nodes = outputOf({"inspect", "half.onnx"});
    expectHas(nodes, "Cast");
    expectHas(nodes, "float[4,4]"); // the boundary stays
    expectHas(outputOf({"run", "half.onnx", "-q"}), "y: float[4,2]");
}

// Weights in forms that nothing here computes: read, named with their nodes, kept by `fuse`.
TEST_F(CliQuantize, StoredFormsThatAreNotRunAreNamed) {
    const struct {
        const char* op;
        Words inputs;
        std::vector<std::pair<const char*, int64_t>> attributes;
    } rows[] = {
        {"GatherBlockQuantized", // along another axis than the first
         {"w", "i", "s"},
         {{"block_size", 16}, {"bits", 8}, {"gather_axis", 1}, {"quantize_axis", 0}}},
        {"MatMulBnb4",
         {"x", "w", "s"},
         {{"K", 16}, {"N", 4}, {"block_size", 16}, {"quant_type", 1}}},
    };
    for (const auto& row : rows) {
        ModelBuilder model(21);
        auto* import = model.proto.add_opset_import();
        import->set_domain("com.microsoft");
        import->set_version(1);
        model.input("x", {2, 16}).output("y", {2, 16});
        model.initializer("w", {4, 16}, ::onnx::TensorProto::UINT8)
            .set_raw_data(std::string(64, '\1'));
        model.initializer("i", {2}, ::onnx::TensorProto::INT64).set_raw_data(std::string(16, '\0'));
        model.initializer("s", {4, 1}).set_raw_data(std::string(16, '\0'));
        auto& node = model.node(row.op, row.inputs, {"t"});
        node.set_domain("com.microsoft");
        for (const auto& [name, value] : row.attributes)
            addAttribute(node, name, ::onnx::AttributeProto::INT).set_i(value);
        model.node("Relu", {"t"}, {"y"});
        folder.write("m.onnx", model.bytes());
        expectHas(outputOf({"inspect", "m.onnx"}),
                  std::string("cannot be run: `com.microsoft.") + row.op + "`");
        expectRefused({"run", "m.onnx"}, ExitInput, {"load.missing", row.op, node.name()});
        expectRefused({"quantize", "m.onnx", "-o", "q.onnx"}, ExitInput, {"load.missing", row.op});
        ASSERT_EQ(run({"fuse", "m.onnx", "-q", "-o", "out.onnx"}).exitCode, ExitOk);
        expectHas(outputOf({"inspect", "out.onnx"}), row.op);
        fs::remove(folder.file("out.onnx"));
    }
}
