// SPDX-License-Identifier: Apache-2.0
// Help, versions and wrong command lines.
#include "tests/cli/cli.h"

using namespace fuselage::cli_test;

namespace {

bool has(const std::string& text, const std::string& piece) {
    return text.find(piece) != std::string::npos;
}

class CliUsage : public Command {};

} // namespace

TEST_F(CliUsage, HelpListsCommandsExamplesAndExitCodes) {
    ProcessResult ran = run({"--help"});
    EXPECT_EQ(ran.exitCode, ExitOk);
    for (const char* piece :
         {"fuse", "bench", "explain", "derive", "inspect", "run", "check", "zoo", "devices",
          "cache", "doctor", "examples:", "exit codes:", "130 interrupted"})
        EXPECT_TRUE(has(ran.output, piece)) << piece;
}

TEST_F(CliUsage, VersionIsANumber) {
    ProcessResult ran = run({"--version"});
    EXPECT_EQ(ran.exitCode, ExitOk);
    EXPECT_EQ(ran.output, FUSELAGE_VERSION "\n");
}

TEST_F(CliUsage, EachCommandTeachesItselfByExamples) {
    for (const char* name : {"fuse", "bench", "explain", "derive", "inspect", "run", "check", "zoo",
                             "devices", "cache", "calibrate", "doctor"}) {
        ProcessResult ran = run({name, "--help"});
        EXPECT_EQ(ran.exitCode, ExitOk) << name;
        EXPECT_TRUE(has(ran.output, std::string("examples:\n  fuselage ") + name)) << ran.output;
    }
}

TEST_F(CliUsage, AProfileIsShownAsAFileThatIsReadAgain) {
    const ProcessResult shown = run({"devices", "h200"});
    EXPECT_EQ(shown.exitCode, ExitOk);
    EXPECT_TRUE(has(shown.output, "launch_seconds = { value = 1.06e-06, source = \"measured"))
        << shown.output;
    folder.write("mine.toml", shown.output);
    const ProcessResult again = run({"devices", "mine.toml"});
    EXPECT_EQ(again.exitCode, ExitOk);
    auto figures = [](const std::string& text) { return text.substr(text.find('\n')); };
    EXPECT_EQ(figures(again.output), figures(shown.output));
}

/// `-o "$OUT"` of a script where nobody set OUT.
TEST_F(CliUsage, AnEmptyValueIsNoneAndSaidSo) {
    zoo("lstm");
    folder.write("r.fuse", "fuse 1;\nrule A { match { y = Relu(Softplus(x)); } }\n");
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"fuse", "lstm.onnx", "-o", ""},
          {"fuse", "lstm.onnx", "--output="},
          {"fuse", "lstm.onnx", "--plan-out", ""},
          {"fuse", "lstm.onnx", "--plan", ""},
          {"bench", "lstm.onnx", "--no-measure", "--save-fused", ""},
          {"bench", "lstm.onnx", "--no-measure", "--report", ""},
          {"bench", "lstm.onnx", "--no-measure", "--dump-kernels", ""},
          {"bench", "lstm.onnx", "--no-measure", "-p", ""},
          {"batch", "lstm.onnx", "-o", ""},
          {"batch", "lstm.onnx", "-o", "out", "--gate", ""},
          {"batch", "lstm.onnx", "-o", "out", "--baseline", ""},
          {"batch", "", "-o", "out"},
          {"merge", "a", "-o", ""},
          {"compare", "a", "", "--gate", "g.toml"},
          {"baseline", "update", "a", "--baseline", ""},
          {"run", "lstm.onnx", "-o", ""},
          {"run", "lstm.onnx", "--inputs", ""},
          {"quantize", "lstm.onnx", "-o", ""},
          {"calibrate", "-o", ""},
          {"derive", "lstm.onnx", "--nodes", "A", "-o", ""},
          {"zoo", "lstm", "-o", ""},
          {"reduce", "lstm.onnx", "-o", "", "--", "true"},
          {"fuse", "lstm.onnx", "--config", ""},
          {"fmt", ""},
          {"test", ""}}) {
        SCOPED_TRACE(command[0] + " " + command[command.size() - 2]);
        expectRefused(command, ExitUsage, {"the value is "});
    }
    folder.write("fuselage.toml", "[fuse]\noutput = \"\"\n");
    expectRefused({"fuse", "lstm.onnx"}, ExitUsage, {"the value is "});
}

TEST_F(CliUsage, WrongCommandLinesExitWithTwo) {
    expectRefused({}, ExitUsage, {"subcommand"});
    expectRefused({"fusee"}, ExitUsage, {"fusee"});
    expectRefused({"fuse"}, ExitUsage, {"model"});
    expectRefused({"fuse", "a.onnx", "--no-such-option"}, ExitUsage, {"--no-such-option"});
    expectRefused({"bench", "a.onnx", "--threads", "many"}, ExitUsage, {"--threads"});
    expectRefused({"zoo", "resnet51"}, ExitUsage, {"resnet51", "resnet50", "zoo.unknown"});
    expectRefused({"devices", "h9000"}, ExitUsage, {"h9000", "h200"});
    for (const char* word : {"--type", "--range", "--skip", "--keep-float"})
        expectRefused({"quantize", "a.onnx", "--plan", "a.fuseplan", word, "uint8"}, ExitUsage,
                      {word, "line by line"});
    expectRefused({"fuse", "a.onnx", "--precision-of", "op:Conv=fp64"}, ExitUsage,
                  {"fp64", "usage.precision"});
}

TEST_F(CliUsage, WrongValuesOfOptionsNameTheChoices) {
    zoo("lstm");
    expectRefused({"fuse", "lstm.onnx", "--dim", "N"}, ExitUsage, {"`N`", "NAME=NUMBER", "fix:"});
    expectRefused({"fuse", "lstm.onnx", "--dim", "N=-1"}, ExitUsage, {"`N=-1`"});
    expectRefused({"fuse", "lstm.onnx", "--device", "h200", "--decide", "measure"}, ExitUsage,
                  {"h200", "--decide cost"});
    expectRefused({"fuse", "lstm.onnx", "--pipeline", "fastest"}, ExitUsage,
                  {"`fastest`", "default", "usage.pipeline"});
    expectRefused({"fuse", "lstm.onnx", "--decide", "luck"}, ExitUsage, {"`luck`", "rules, cost"});
    expectRefused({"bench", "lstm.onnx", "--backend", "tpu"}, ExitUsage,
                  {"`tpu`", "cuda, reference"});
    expectRefused({"bench", "lstm.onnx", "--device", "h9000"}, ExitUsage, {"h9000", "h200"});
    expectRefused({"bench", "lstm.onnx", "--report", "r.pdf"}, ExitUsage, {"`r.pdf`", ".json"});
    expectRefused({"derive", "lstm.onnx", "--nodes", "NoNode"}, ExitInput, {"`NoNode`", "fix:"});
    expectRefused({"explain", "lstm.onnx", "--rule", "NoRule"}, ExitUsage, {"`NoRule`"});
    expectRefused({"explain", "lstm.onnx", "--node", "NoNode"}, ExitUsage, {"`NoNode`", "fix:"});
}

TEST_F(CliUsage, AnUnknownDimensionNamesThoseOfTheModel) {
    zoo("lstm");
    for (const char* command : {"fuse", "bench", "run", "inspect", "explain"})
        expectRefused({command, "lstm.onnx", "--dim", "BATCH=2"}, ExitUsage,
                      {"`BATCH`", "N, S", "fix:"});
}
