// SPDX-License-Identifier: Apache-2.0
// `fuselage compare`: two releases of a model in CI. What is paired, what fails, what is told.
#include "tests/cli/cli.h"
#include "tests/support/json_schema.h"

#include <nlohmann/json.hpp>

#include <filesystem>

using namespace fuselage::cli_test;
using nlohmann::json;

namespace {

class CliCompare : public Command {
protected:
    /// A report of a convolution and a Relu for `batch` images in FILE.json; the model's file is
    /// called so too.
    void report(const std::string& name, int images, const std::vector<std::string>& more = {},
                const std::string& activation = "Relu") const {
        writeText("g (float[" + std::to_string(images) + ",4] x) => (float[" +
                  std::to_string(images) + ",4] y) { a = Exp(x)  y = " + activation + "(a) }");
        std::filesystem::rename(folder.file("m.onnx"), folder.file(name + ".onnx"));
        std::vector<std::string> arguments{
            "bench",    name + ".onnx", "--no-verify", "--no-measure",
            "--report", name + ".json", "--device",    "t4"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const ProcessResult ran = run(arguments);
        ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
    }

    /// Writes TO.json: FROM.json as if the fused side had taken `microseconds`, within a percent.
    void timed(const std::string& from, const std::string& to, double microseconds,
               int threads = 2) const {
        json document = json::parse(readAll(folder.file(from + ".json")));
        json& after = document["timings"]["after"];
        after = {{"median_us", microseconds},      {"p10_us", microseconds * 0.98},
                 {"p90_us", microseconds * 1.02},  {"low_us", microseconds * 0.99},
                 {"high_us", microseconds * 1.01}, {"samples", 50}};
        document["timings"]["machine"]["threads"] = threads;
        folder.write(to + ".json", document.dump());
    }

    ProcessResult compare(std::vector<std::string> options, const std::string& a = "net-1.0.json",
                          const std::string& b = "net-1.1.json") const {
        std::vector<std::string> arguments{"compare", a, b};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return run(arguments);
    }
};

constexpr const char* countGate = "[gate]\nlaunches = { metric = \"launches\", max_increase = 0 }\n"
                                  "logical = { metric = \"logical_bytes\", max_increase = 0 }\n";

} // namespace

TEST_F(CliCompare, AReportNeverReplacesWhatIsCompared) {
    writeText("g (float[1,4] x) => (float[1,4] y) { y = Exp(x) }");
    for (const char* name : {"a.json", "b.json"})
        outputOf({"bench", "m.onnx", "-q", "--no-measure", "--no-verify", "--report", name});
    fs::create_hard_link(folder.file("b.json"), folder.file("other.json"));
    for (const char* name : {"a.json", "other.json"})
        expectRefused({"compare", "a.json", "b.json", "--report", name}, ExitUsage,
                      {"the comparison reads this file"});
}

TEST_F(CliCompare, OneModelIsComparedWithOneWhateverTheyAreCalled) {
    report("net-1.0", 1);
    report("net-1.1", 2);
    folder.write("gates.toml", countGate);
    ProcessResult ran = compare({});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    expectHas(ran.output, "net-1.1 (B) against net-1.0 (A)\n");
    expectHas(ran.output, "logical_bytes");
    EXPECT_EQ(ran.output.find("only in"), std::string::npos) << ran.output;
    ran = compare({"--gate", "gates.toml"});
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
    expectHas(ran.output, "fail net-1.1: logical_bytes was");
    EXPECT_EQ(compare({"--gate", "gates.toml"}, "net-1.1.json", "net-1.0.json").exitCode, ExitOk);
}

TEST_F(CliCompare, ManyModelsArePairedByNameOrByMap) {
    for (const char* name : {"models1/a", "models1/old", "models2/a", "models2/new"}) {
        std::filesystem::create_directories(
            folder.file(name).substr(0, folder.file(name).rfind('/')));
        writeText("g (float[1,4] x) => (float[1,4] y) { a = Exp(x)  y = Relu(a) }");
        std::filesystem::rename(folder.file("m.onnx"), folder.file(std::string(name) + ".onnx"));
    }
    for (const char* part : {"1", "2"})
        ASSERT_EQ(run({"batch", std::string("models") + part, "-o", std::string("out") + part,
                       "--no-verify", "--no-models"})
                      .exitCode,
                  ExitOk);
    ProcessResult ran = compare({}, "out1", "out2");
    expectHas(ran.output, "new\n  only in B\n");
    expectHas(ran.output, "old\n  only in A\n");
    ran = compare({"--map", "old=new"}, "out1", "out2");
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    expectHas(ran.output, "new (B) against old (A)\n");
    EXPECT_EQ(ran.output.find("only in"), std::string::npos) << ran.output;
    expectRefused({"compare", "out1", "out2", "--map", "odl=new"}, ExitUsage,
                  {"A has no model `odl`", "A has `a`, `old`, B has `a`, `new`"});
    expectRefused({"compare", "out1", "out2", "--map", "old=new", "--map", "a=new"}, ExitUsage,
                  {"`a=new` names a model that another pair has"});
}

TEST_F(CliCompare, AGateOfWhatWasNotComparedFailsAndSaysHow) {
    folder.write("gates.toml", countGate);
    for (const char* part : {"1", "2"})
        for (const char* name : {"x", "y"}) {
            const std::string models = std::string("models") + part;
            std::filesystem::create_directories(folder.file(models));
            writeText("g (float[1,4] x) => (float[1,4] y) { a = Exp(x)  y = Relu(a) }");
            std::filesystem::rename(folder.file("m.onnx"),
                                    folder.file(models + "/" + name + part + ".onnx"));
        }
    for (const char* part : {"1", "2"})
        ASSERT_EQ(run({"batch", std::string("models") + part, "-o", std::string("out") + part,
                       "--no-verify", "--no-models"})
                      .exitCode,
                  ExitOk);
    EXPECT_EQ(compare({}, "out1", "out2").exitCode, ExitOk) << "nobody asked for a verdict";
    for (const std::vector<std::string>& asked :
         {std::vector<std::string>{"--gate", "gates.toml"}, {"--fail-on", "regress"}}) {
        const ProcessResult ran = compare(asked, "out1", "out2");
        EXPECT_EQ(ran.exitCode, ExitUsage) << ran.output;
        expectHas(ran.errors, "nothing was compared: A has `x1`, `y1`, B has `x2`, `y2`");
        expectHas(ran.errors, "--map A=B");
    }
    report("net-1.0", 1);
    report("net-1.1", 1, {"--precision", "fp16"});
    const ProcessResult ran = compare({"--gate", "gates.toml"});
    EXPECT_EQ(ran.exitCode, ExitUsage) << ran.output;
    expectHas(ran.errors, "nothing was compared: `net-1.1` is of t4 (run by cpu), fp32 in A and of "
                          "t4 (run by cpu), fp16 in B");
}

TEST_F(CliCompare, ATimeThatIsSlowerBeyondDoubtFails) {
    report("m", 1);
    timed("m", "net-1.0", 500);
    timed("m", "net-1.1", 1690);
    folder.write("gates.toml", "[gate]\ntime = { metric = \"e2e_us\", max_increase = \"5%\" }\n");
    ProcessResult ran = compare({"--gate", "gates.toml"});
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
    expectHas(ran.output, "fail m: e2e_us was 500.0 us (495.0 us .. 505.0 us), is 1.69 ms");
    ran = compare({"--fail-on", "regress"});
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
    expectHas(ran.errors, "no --gate says what a regression is: launches +0, logical_bytes +0 B, "
                          "e2e_us +5 %");
    folder.write("expect.toml", "[m]\nNothing = 0\n");
    EXPECT_EQ(compare({"--fail-on", "expect", "--gate", "gates.toml", "--expect", "expect.toml"})
                  .exitCode,
              ExitOk)
        << "of another kind";
    timed("m", "net-1.1", 510);
    EXPECT_EQ(compare({"--fail-on", "regress"}).exitCode, ExitOk);
    EXPECT_EQ(compare({"--gate", "gates.toml"}).exitCode, ExitOk);
}

TEST_F(CliCompare, TimesThatCannotBeJudgedAreSaid) {
    report("m", 1);
    timed("m", "net-1.0", 500);
    timed("m", "net-1.1", 1690, 1);
    folder.write("gates.toml", "[gate]\ntime = { metric = \"e2e_us\", max_increase = \"5%\" }\n");
    ProcessResult ran = compare({"--gate", "gates.toml"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output;
    expectHas(ran.output,
              "skipped time: e2e_us of m (not comparable: measured with 2 and 1 threads)");
    report("net-1.1", 1);
    expectHas(compare({"--gate", "gates.toml"}).output,
              "skipped time: e2e_us of net-1.1 (not measured here)");
    expectRefused({"batch", "m.onnx", "-o", "out", "--fail-on", "regress"}, ExitUsage,
                  {"`regress` has no gate that could fail"});
}

TEST_F(CliCompare, WhatIsBehindTheNumbersIsNamed) {
    folder.write("one.fuse", "fuse 1;\nrule ExpRelu { match { y = Exp(x) -> Relu; } }\n");
    folder.write("two.fuse", "fuse 1;\nrule ExpNeg { match { y = Exp(x) -> Neg; } }\n");
    report("net-1.0", 1, {"--no-builtin", "-p", "one.fuse", "--decide", "rules"});
    report("net-1.1", 2, {"--no-builtin", "-p", "two.fuse", "--decide", "rules"}, "Neg");
    report("net-1.2", 1, {"--no-builtin", "-p", "two.fuse", "--decide", "rules"});
    const std::string text = compare({}).output;
    for (const char* piece :
         {"another structure: 2 nodes in A, 2 nodes in B\n",
          "input x: float[1,4] in A, float[2,4] in B\n",
          "output y: float[1,4] in A, float[2,4] in B\n", "rule lost: ExpRelu, 1 fused node\n",
          "rule gained: ExpNeg, 1 fused node\n"})
        expectHas(text, piece);
    expectHas(compare({}, "net-1.0.json", "net-1.2.json").output,
              "fused in A, not in B: 2 nodes, ");
    expectHas(compare({}, "net-1.0.json", "net-1.0.json").output, "no difference\n");
}

TEST_F(CliCompare, IsWrittenInTheFormatsOfAReport) {
    report("net-1.0", 1);
    report("net-1.1", 2);
    folder.write("gates.toml", countGate);
    const ProcessResult ran =
        compare({"--gate", "gates.toml", "--report", "c.json", "--report", "c.md", "--report",
                 "c.junit.xml", "--report", "c.gates.csv", "--report", "c.txt"});
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.errors;
    const json document = json::parse(readAll(folder.file("c.json")), nullptr, false);
    ASSERT_FALSE(document.is_discarded());
    for (const std::string& error : fuselage::testing_support::schemaErrors(
             document, FUSELAGE_SCHEMAS, "comparison.schema.json"))
        ADD_FAILURE() << error;
    EXPECT_EQ(document["status"]["exit"], ExitGate);
    EXPECT_EQ(document["models"][0]["a"], "net-1.0");
    EXPECT_EQ(document["models"][0]["b"], "net-1.1");
    EXPECT_EQ(document["models"][0]["parts"][1]["b"], "float[2,4]") << document.dump(1);
    EXPECT_EQ(document["gates"][1]["verdict"], "fail");
    expectHas(readAll(folder.file("c.md")),
              "**FAILED: 1 of 1 model ran, 2 gates, 1 fail**\n\n### From A to B\n");
    expectHas(readAll(folder.file("c.md")), "| logical&#95;bytes |");
    expectHas(readAll(folder.file("c.junit.xml")), "<failure message=\"fail: logical_bytes was");
    expectHas(readAll(folder.file("c.gates.csv")), "logical_bytes");
    expectHas(readAll(folder.file("c.txt")), "net-1.1 (B) against net-1.0 (A)");
    const ProcessResult alone = compare({"--gate", "gates.toml", "--report", "-.json"});
    EXPECT_EQ(alone.exitCode, ExitGate);
    EXPECT_FALSE(json::parse(alone.output, nullptr, false).is_discarded()) << alone.output;
    expectRefused({"compare", "net-1.0.json", "net-1.1.json", "--report", "c.png"}, ExitUsage,
                  {"no report format for `c.png`"});
}

TEST_F(CliCompare, TheLimitsOfThePageAreRead) {
    report("net-1.0", 1);
    const std::string examples = FUSELAGE_EXAMPLES "/ci/";
    const std::string page = readAll(examples + "README.md");
    const size_t begin = page.find("```toml\n"), end = page.find("```\n", begin + 8);
    ASSERT_LT(end, page.size());
    folder.write("page.toml", page.substr(begin + 8, end - begin - 8));
    for (const std::string& gates : {folder.file("page.toml"), examples + "gates.toml"}) {
        const ProcessResult ran = compare({"--gate", gates}, "net-1.0.json", "net-1.0.json");
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
        expectHas(ran.output, "PASSED");
    }
}
