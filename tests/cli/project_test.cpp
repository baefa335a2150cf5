// SPDX-License-Identifier: Apache-2.0
// fuselage.toml: options of a project.
#include "tests/cli/cli.h"

#include <filesystem>

using namespace fuselage::cli_test;
namespace testing_support = fuselage::testing_support;

namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& piece) {
    return text.find(piece) != std::string::npos;
}

class CliProject : public Command {
protected:
    void SetUp() override { zoo("lstm"); }

    void project(const std::string& text) const { folder.write("fuselage.toml", text); }
};

} // namespace

TEST_F(CliProject, OptionsOfTheFileAreTakenAndThoseOfThePersonWin) {
    project("device = \"t4\"\nquiet = true\ndim = { N = 3, S = 5 }\n");
    const std::vector<std::string> bench{"bench", "lstm.onnx", "--no-measure", "--no-verify"};
    ProcessResult ran = run(bench);
    ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran.output, "(t4: built-in)")) << ran.output;
    EXPECT_TRUE(has(ran.output, "int64[3,5]")) << ran.output;
    std::vector<std::string> other = bench;
    other.insert(other.end(), {"--device", "h200", "--dim", "N=2", "--dim", "S=4"});
    ran = run(other);
    EXPECT_TRUE(has(ran.output, "(h200: built-in)")) << ran.output;
    EXPECT_TRUE(has(ran.output, "int64[2,4]")) << ran.output;
    other = bench;
    other.emplace_back("--config=none");
    EXPECT_FALSE(has(run(other).output, "(t4:"));
}

TEST_F(CliProject, ABatchNeedsNothingButItsFile) {
    fs::create_directory(folder.file("ci"));
    fs::create_directory(folder.file("models"));
    fs::rename(folder.file("lstm.onnx"), folder.file("models/lstm.onnx"));
    folder.write("gates.toml", "[gate]\nless = { metric = \"launches\", max = 1 }\n");
    folder.write("mine.fuse", "fuse 1;\nrule Mine { match { y = Relu(Softplus(x)); } }\n");
    project("device = \"t4\"\npatterns = [\"mine.fuse\"]\n"
            "[batch]\nmodels = [\"models\"]\ngate = \"gates.toml\"\noutput = \"out\"\n"
            "no-verify = true\njobs = 2\nno-builtin = true\n[bench]\nreport = \"never.json\"\n");
    ProcessResult ran = run({"batch"});
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.output << ran.errors;
    EXPECT_TRUE(has(ran.output, "fail lstm: launches")) << ran.output;
    EXPECT_TRUE(files().contains("out/results.json"));
    EXPECT_FALSE(files().contains("never.json")) << "children are told everything";
    EXPECT_TRUE(has(readAll(folder.file("out/results.json")), "mine.fuse") ||
                !has(readAll(folder.file("out/results.json")), "std/"));
    EXPECT_EQ(run({"batch", "--exit-zero"}).exitCode, ExitOk);
}

TEST_F(CliProject, MistakesAreNamedWithTheirLine) {
    const std::vector<std::string> inspect{"inspect", "lstm.onnx"};
    project("device = \"t4\"\ndevise = \"t4\"\n");
    expectRefused(inspect, ExitUsage, {"fuselage.toml:2", "`devise`", "did you mean `device`?"});
    project("[batch]\nbaselines = \"x\"\n");
    expectRefused(inspect, ExitUsage, {"fuselage.toml:2", "`batch`", "`baselines`", "`baseline`"});
    project("[bathc]\njobs = 1\n");
    expectRefused(inspect, ExitUsage, {"fuselage.toml:2", "`bathc`"});
    project("device = [1979-05-27]\n");
    expectRefused(inspect, ExitUsage, {"fuselage.toml:1", "`device`"});
    project("device = \n");
    expectRefused(inspect, ExitUsage, {"fuselage.toml:1"});
    project("\n\njobs = 0\n");
    expectRefused({"batch", "lstm.onnx", "-o", "out"}, ExitUsage, {"fuselage.toml:3: ", "--jobs"});
    expectRefused({"--config", "absent.toml", "inspect", "lstm.onnx"}, ExitInput, {"absent.toml"});
}

TEST_F(CliProject, ATableOfAModelIsForThatModelOnly) {
    fs::create_directory(folder.file("models"));
    fs::copy(folder.file("lstm.onnx"), folder.file("models/other.onnx"));
    fs::rename(folder.file("lstm.onnx"), folder.file("models/lstm_small.onnx"));
    project("device = \"t4\"\ndim = { N = 2, S = 3 }\n"
            "[batch]\nmodels = [\"models\"]\noutput = \"out\"\nno-verify = true\n"
            "[model.\"lstm*\"]\ndim = { N = 5, S = 7 }\nprecision = \"fp16\"\n");
    ProcessResult ran = run({"batch"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
    const std::string own = readAll(folder.file("out/models/lstm_small.json"));
    const std::string other = readAll(folder.file("out/models/other.json"));
    EXPECT_TRUE(has(own, "int64[5,7]"));
    EXPECT_TRUE(has(own, "\"precision\": \"fp16\""));
    EXPECT_FALSE(has(other, "\"precision\": \"fp16\""));
    EXPECT_TRUE(has(other, "int64[2,3]"));
    // The person wins.
    EXPECT_EQ(run({"batch", "--dim", "N=4", "--dim", "S=1"}).exitCode, ExitOk);
    EXPECT_TRUE(has(readAll(folder.file("out/models/lstm_small.json")), "int64[4,1]"));
    project("[model.lstm]\nbaseline = \"x\"\n");
    expectRefused({"batch", "models", "-o", "out"}, ExitUsage, {"`--baseline`", "fix: "});
    project("[model.lstm]\ndimm = 1\n");
    expectRefused({"batch", "models", "-o", "out"}, ExitUsage,
                  {"fuselage.toml:2", "`dimm`", "did you mean `dim`?"});
    project("[model]\nlstm = 3\n");
    expectRefused({"batch", "models", "-o", "out"}, ExitUsage, {"fuselage.toml:2", "`lstm`"});
}

TEST_F(CliProject, TheSettingsAreShownWithWhereTheyComeFrom) {
    project("device = \"t4\"\nseed = 3\n[batch]\nmodels = [\"models\"]\noutput = \"out\"\n"
            "[model.bert]\ndim = { S = 384 }\n");
    const std::set<std::string> before = files();
    ProcessResult ran = run({"batch", "--seed", "9", "--print-config"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    auto line = [&](const std::string& setting, const std::string& origin) {
        const size_t at = ran.output.find("\n" + setting + " ");
        const std::string text =
            at == std::string::npos
                ? ""
                : ran.output.substr(at + 1, ran.output.find('\n', at + 1) - at - 1);
        EXPECT_TRUE(text.ends_with("  " + origin)) << setting << ": `" << text << "`\n"
                                                   << ran.output;
    };
    line("device = t4", "fuselage.toml:1");
    line("seed = 9", "command line");
    line("jobs = 1", "default");
    line("output = out", "fuselage.toml:5");
    line("models = models", "fuselage.toml");
    line("model-option = bert:dim=S=384", "fuselage.toml:7");
    EXPECT_EQ(files(), before) << "nothing ran";
}

TEST_F(CliProject, FilesAreRelativeToTheFileWhereverTheCommandRuns) {
    fs::create_directory(folder.file("below"));
    project("device = \"profiles/mine.toml\"\ngain-cache = \"gains.txt\"\n[bench]\n"
            "plan = \"m.fuseplan\"\nreport = [\"r.json\"]\ncache = \"none\"\n");
    auto settings = [&](const std::vector<std::string>& words) {
        std::vector<std::string> line{FUSELAGE_PROGRAM};
        line.insert(line.end(), words.begin(), words.end());
        auto ran = testing_support::runProcess(line, {.folder = folder.file("below")});
        return ran ? ran->output + ran->errors : ran.error().message;
    };
    const std::string shown = settings({"bench", "../lstm.onnx", "--print-config"});
    for (const char* setting : {"device = ../profiles/mine.toml", "gain-cache = ../gains.txt",
                                "plan = ../m.fuseplan", "report = ../r.json", "cache = none"})
        EXPECT_TRUE(has(shown, setting)) << setting << "\n" << shown;
    project("device = \"t4\"\n");
    EXPECT_TRUE(has(settings({"bench", "../lstm.onnx", "--print-config"}), "device = t4 "));
}
