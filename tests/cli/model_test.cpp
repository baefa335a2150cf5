// SPDX-License-Identifier: Apache-2.0
// Files that are not what they should be: exit code 3, the code and place of the mistake and one
// fix, and nothing written.
#include "tests/cli/cli.h"
#include "tests/unit/onnx_builder.h"

#include <filesystem>

using namespace fuselage::cli_test;
using fuselage::onnx_test::ModelBuilder;
namespace fs = std::filesystem;

namespace {

class CliModel : public Command {
protected:
    /// Every command that reads models refuses m.onnx in the same words.
    void expectModelRefused(const std::string& bytes, const std::vector<std::string>& pieces,
                            bool needsToRun = false) const {
        folder.write("m.onnx", bytes);
        std::vector<std::string> all = pieces;
        all.emplace_back("fuselage: ");
        all.emplace_back("fix: ");
        expectRefused({"bench", "m.onnx", "--report", "r.json", "--save-fused", "f.onnx"},
                      ExitInput, all);
        expectRefused({"run", "m.onnx", "-o", "outputs"}, ExitInput, all);
        if (needsToRun)
            return;
        expectRefused({"fuse", "m.onnx", "-o", "fused.onnx"}, ExitInput, all);
        expectRefused({"inspect", "m.onnx"}, ExitInput, all);
        expectRefused({"explain", "m.onnx"}, ExitInput, all);
    }
};

ModelBuilder relu() {
    ModelBuilder model;
    model.input("x", {4}).output("y", {4});
    model.node("Relu", {"x"}, {"y"});
    return model;
}

ModelBuilder withExternal(const std::string& location) {
    ModelBuilder model;
    model.input("x", {2}).output("y", {2});
    model.node("Add", {"x", "w"}, {"y"});
    auto& w = model.initializer("w", {2});
    w.set_data_location(::onnx::TensorProto::EXTERNAL);
    auto* entry = w.add_external_data();
    entry->set_key("location");
    entry->set_value(location);
    return model;
}

} // namespace

TEST_F(CliModel, AMissingFileIsNamed) {
    for (const char* command : {"fuse", "bench", "run", "inspect", "explain"})
        expectRefused({command, "nowhere.onnx"}, ExitInput,
                      {"nowhere.onnx", "does not exist", "[load.missing]", "fix:"});
    expectRefused({"fuse", "."}, ExitInput, {"[load.missing]", "a folder, not a file"});
}

TEST_F(CliModel, TextIsNoModel) {
    expectModelRefused("this is not an ONNX file\n", {"m.onnx", "not an ONNX file"});
}

TEST_F(CliModel, AnEmptyFileIsNoModel) {
    expectModelRefused("", {"m.onnx", "[load."});
}

TEST_F(CliModel, ATruncatedFileIsRefused) {
    ModelBuilder model = relu();
    model.initializer("w", {256}).set_raw_data(std::string(1024, 'w'));
    std::string bytes = model.bytes();
    expectModelRefused(bytes.substr(0, bytes.size() / 2), {"m.onnx", "truncated", "[load.parse]"});
}

TEST_F(CliModel, ACycleIsRefusedAtOneOfItsNodes) {
    ModelBuilder model;
    model.input("x", {4}).output("y", {4});
    model.node("Add", {"x", "b"}, {"a"});
    model.node("Relu", {"a"}, {"b"});
    model.node("Neg", {"b"}, {"y"});
    expectModelRefused(model.bytes(), {"m.onnx: ", "cycle", "`Add_a`"});
}

TEST_F(CliModel, AMissingInitializerIsNamedWithItsReader) {
    ModelBuilder model;
    model.input("x", {4}).output("y", {4});
    model.node("Add", {"x", "weight"}, {"y"});
    expectModelRefused(model.bytes(), {"m.onnx", "`weight`", "Add_y"});
}

TEST_F(CliModel, AnOutputThatNothingMakesIsNamed) {
    ModelBuilder model = relu();
    model.output("z", {4});
    expectModelRefused(model.bytes(), {"m.onnx", "`z`"});
}

TEST_F(CliModel, WrongElementTypesAreRefusedAtTheNode) {
    ModelBuilder model;
    model.input("x", {4}).input("k", {4}, 7).output("y", {4});
    model.node("Add", {"x", "k"}, {"y"});
    expectModelRefused(model.bytes(), {"m.onnx", "Add_y", "float", "int64"});
}

TEST_F(CliModel, ShapesThatContradictAreRefusedAtTheNode) {
    ModelBuilder model;
    model.input("x", {2, 3}).input("w", {4, 5}).output("y", {2, 5});
    model.node("MatMul", {"x", "w"}, {"y"});
    expectModelRefused(model.bytes(), {"m.onnx", "MatMul_y", "3", "4"});
}

TEST_F(CliModel, AProductOfDimensionsThatOverflowsIsRefused) {
    constexpr int64_t big = int64_t{1} << 40;
    ModelBuilder model;
    model.input("x", {big, big}).output("y", {big, big});
    model.node("Relu", {"x"}, {"y"});
    expectModelRefused(model.bytes(), {"m.onnx: x: ", "product of the dimensions", "overflows"});
}

TEST_F(CliModel, AnInitializerWithTooFewBytesIsRefused) {
    ModelBuilder model = relu();
    model.node("Add", {"x", "w"}, {"z"});
    model.output("z", {4});
    model.initializer("w", {int64_t{1} << 32, int64_t{1} << 32}).set_raw_data("abcd");
    expectModelRefused(model.bytes(), {"m.onnx: w: ", "[4294967296,4294967296] overflows"});
}

TEST_F(CliModel, ExternalDataOutsideTheFolderIsRefused) {
    TemporaryFolder elsewhere;
    elsewhere.write("w.bin", std::string(8, 'x'));
    expectModelRefused(withExternal("../w.bin").bytes(),
                       {"`../w.bin`", "not inside the model's folder", "[load.external_path]"});
    expectModelRefused(withExternal(elsewhere.file("w.bin")).bytes(),
                       {"not inside the model's folder", "[load.external_path]"});
    fs::create_symlink(elsewhere.file("w.bin"), folder.file("link.bin"));
    expectModelRefused(withExternal("link.bin").bytes(),
                       {"`link.bin`", "leads out of the model's folder", "[load.external_path]"});
}

TEST_F(CliModel, MissingExternalDataIsNamedAndTheModelIsShownWithoutIt) {
    expectModelRefused(withExternal("weights.bin").bytes(),
                       {"`weights.bin`", "does not exist", "[load.missing]"}, true);
    for (const std::vector<std::string>& command : {std::vector<std::string>{"inspect", "m.onnx"},
                                                    {"fuse", "m.onnx"},
                                                    {"explain", "m.onnx"}}) {
        const auto shown = run(command);
        EXPECT_EQ(shown.exitCode, ExitOk) << command[0] << shown.errors;
        EXPECT_NE((shown.output + shown.errors).find("`weights.bin` does not exist"),
                  std::string::npos)
            << command[0];
    }
    // What is written would refer to a file that is not there either.
    expectRefused({"fuse", "m.onnx", "-o", "fused.onnx"}, ExitInput,
                  {"a model without its weights is not written: `w` has none",
                   "`weights.bin` does not exist", "[load.external_missing]"});
}

/// A name is no line of its own, in whatever is printed.
TEST_F(CliModel, NamesThatHoldLinesStayInTheirs) {
    ModelBuilder model;
    model.input("x\nEVIL in", {4, 4}).output("y\nEVIL out", {4, 4});
    model.node("MatMul", {"x\nEVIL in", "w\nEVIL weight"}, {"a\nEVIL value"})
        .set_name("node\nEVIL node");
    model.node("Relu", {"a\nEVIL value"}, {"b\nEVIL value"}).set_name("relu\nEVIL node");
    model.node("Strange\nEVIL op", {"b\nEVIL value"}, {"c\nEVIL value"})
        .set_domain("some\nEVIL domain");
    model.node("Neg", {"c\nEVIL value"}, {"y\nEVIL out"});
    auto& w = model.initializer("w\nEVIL weight", {4, 4});
    for (int i = 0; i < 16; ++i)
        w.add_float_data(1);
    for (const char* file : {"m.onnx", "m\nEVIL file.onnx"})
        folder.write(file, model.bytes());
    const std::string evil = "m\nEVIL file.onnx";
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"inspect", evil},
          {"inspect", "m.onnx", "--precision", "fp16"},
          {"fuse", evil, "-o", "fused.onnx"},
          {"bench", "m.onnx", "--no-measure", "--no-verify"},
          {"bench", evil},
          {"explain", evil},
          {"explain", "m.onnx", "--node", "relu\nEVIL node"},
          {"run", evil},
          {"derive", "m.onnx", "--nodes", "node\nEVIL node,relu\nEVIL node"},
          {"check", "-m", evil},
          {"tactics", "m.onnx", "--device", "t4"},
          {"quantize", "m.onnx", "-o", "q.onnx"},
          {"batch", evil, "-o", "out", "--no-verify"}}) {
        const auto ran = run(command);
        EXPECT_EQ((ran.output + ran.errors).find("\nEVIL"), std::string::npos)
            << command[0] << ": " << ran.output << ran.errors;
    }
}

/// The same of a model that every command can run, so that all of their tables are printed.
TEST_F(CliModel, NamesThatHoldLinesStayInTheirsWhereTheModelRuns) {
    ModelBuilder model;
    model.input("x\nEVIL in", {4, 4}).output("y\nEVIL out", {4, 4});
    model.node("MatMul", {"x\nEVIL in", "w\nEVIL weight"}, {"a\nEVIL value"})
        .set_name("node\nEVIL node");
    model.node("Relu", {"a\nEVIL value"}, {"y\nEVIL out"}).set_name("relu\nEVIL node");
    auto& w = model.initializer("w\nEVIL weight", {4, 4});
    for (int i = 0; i < 16; ++i)
        w.add_float_data(1);
    const std::string evil = "m\nEVIL file.onnx";
    folder.write(evil, model.bytes());
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"bench", evil, "--seconds", "0.02"},
          {"bench", evil, "--no-measure", "--precision", "fp16", "--report", "r.txt"},
          {"explain", evil},
          {"run", evil},
          {"run", evil, "--verify"},
          {"quantize", evil, "-o", "q.onnx"},
          {"tactics", evil, "--device", "t4"},
          {"batch", evil, "-o", "out", "--no-verify"}}) {
        const auto ran = run(command);
        EXPECT_EQ(ran.exitCode, ExitOk) << command[0] << ": " << ran.errors;
        EXPECT_EQ((ran.output + ran.errors).find("\nEVIL"), std::string::npos)
            << command[0] << ": " << ran.output << ran.errors;
    }
}

TEST_F(CliModel, OperatorsThatCannotBeRunAreListedWithTheirNodes) {
    ModelBuilder model = relu();
    model.node("Wobble", {"x"}, {"z"}).set_domain("com.example");
    model.output("z", {4});
    expectModelRefused(model.bytes(), {"Wobble", "Wobble_z", "[load.missing"}, true);
    EXPECT_EQ(run({"inspect", "m.onnx"}).exitCode, ExitOk);
}

TEST_F(CliModel, AModelThatMemoryCannotHoldExitsWithSix) {
    constexpr int64_t huge = int64_t{1} << 44;
    ModelBuilder model;
    model.input("x", {huge}).output("y", {huge});
    model.node("Relu", {"x"}, {"y"});
    folder.write("m.onnx", model.bytes());
    expectRefused({"run", "m.onnx", "-o", "outputs"}, ExitResource, {"memory", "[resource."});
    expectRefused({"bench", "m.onnx", "--report", "r.json"}, ExitResource,
                  {"memory", "[resource."});
    EXPECT_EQ(run({"inspect", "m.onnx"}).exitCode, ExitOk);
}

TEST_F(CliModel, InputsOfAnotherShapeAreRefused) {
    folder.write("m.onnx", relu().bytes());
    expectRefused({"run", "m.onnx", "--inputs", "nowhere"}, ExitInput,
                  {"input_0.pb", "does not exist"});
}

TEST_F(CliModel, AnOutputThatCannotBeWrittenExitsWithSix) {
    folder.write("m.onnx", relu().bytes());
    expectRefused({"fuse", "m.onnx", "-o", "no/such/folder/f.onnx"}, ExitResource,
                  {"no/such/folder/f.onnx", "its folder does not exist", "fix:"});
    expectRefused({"zoo", "lstm", "-o", "no/such/folder/f.onnx"}, ExitResource, {"no/such/folder"});
    expectRefused({"bench", "m.onnx", "--no-measure", "--report", "no/such/folder/r.json"},
                  ExitResource, {"no/such/folder/r.json", "fix:"});
    folder.write("file", "");
    expectRefused({"run", "m.onnx", "-o", "file/outputs"}, ExitResource, {"file/outputs"});
}
