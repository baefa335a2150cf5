// SPDX-License-Identifier: Apache-2.0
// What compare, merge and baseline read of folders of runs, and what they may write and remove.
#include "tests/cli/cli.h"
#include "tests/support/json_schema.h"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

using namespace fuselage::cli_test;
using nlohmann::json;

namespace {

class CliResults : public Command {
protected:
    /// A folder of a batch over models of these names, each of two nodes.
    void ran(const std::string& out, const std::vector<std::string>& names,
             const std::vector<std::string>& more = {"--no-verify"}) const {
        std::vector<std::string> arguments{"batch", "-o", out, "--device", "t4"};
        fs::create_directories(folder.file(out + "-models"));
        for (const std::string& name : names) {
            writeText("g (float[1,4] x) => (float[1,4] y) { a = Exp(x)  y = Relu(a) }");
            arguments.push_back(out + "-models/" + name + ".onnx");
            fs::rename(folder.file("m.onnx"), folder.file(arguments.back()));
        }
        arguments.insert(arguments.end(), more.begin(), more.end());
        const ProcessResult done = run(arguments);
        ASSERT_EQ(done.exitCode, ExitOk) << done.errors;
    }

    /// Writes FILE anew after a change of what it holds.
    template <typename Change> void change(const std::string& file, Change change) const {
        json document = json::parse(readAll(folder.file(file)));
        change(document);
        folder.write(file, document.dump());
    }
};

} // namespace

TEST_F(CliResults, AnIdThatIsAPathLeadsOutOfNoFolder) {
    ran("a", {"net"});
    folder.write("evil.onnx", "not of the run");
    for (const char* file : {"a/results.json", "a/timings.json"})
        change(file, [](json& run) { run["models"][0]["id"] = "../../evil"; });
    expectRefused({"merge", "a", "-o", "x/y/all"}, ExitInput, {"`../../evil` is no id of a model"});
    expectRefused({"baseline", "update", "a", "--baseline", "x/y/ci"}, ExitInput,
                  {"`../../evil` is no id of a model"});
    expectRefused({"compare", "a", "a"}, ExitInput, {"`../../evil` is no id of a model"});
}

/// The report is removed first: one of the files that are read would be lost, and its gates pass.
TEST_F(CliResults, AReportIsNoneOfTheFilesThatTheComparisonReads) {
    ran("a", {"net"});
    ran("b", {"net"});
    folder.write("gates.json", "[gate]\nl = { metric = \"launches\", max = 9 }\n");
    for (const char* name : {"a/results.json", "b/timings.json", "./b/../b/timings.json"})
        expectRefused({"compare", "a", "b", "--report", name}, ExitUsage,
                      {"the comparison reads this file"});
    expectRefused({"compare", "a/results.json", "b/results.json", "--report", "b/timings.json"},
                  ExitUsage, {"the comparison reads this file"});
    expectRefused({"compare", "a", "b", "--gate", "gates.json", "--report", "gates.json"},
                  ExitUsage, {"the comparison reads this file"});
    // Nor one that would be read the next time.
    fs::remove(folder.file("b/timings.json"));
    expectRefused({"compare", "a", "b", "--report", "b/timings.json"}, ExitUsage,
                  {"the comparison reads this file"});
    EXPECT_EQ(run({"compare", "a", "b", "--report", "b/c.json"}).exitCode, ExitOk);
}

TEST_F(CliResults, StandardOutputIsNoFileToRemove) {
    ran("a", {"net"});
    folder.write("-.json", "mine");
    ASSERT_EQ(run({"compare", "a", "a", "--report", "-.json"}).exitCode, ExitOk);
    EXPECT_EQ(readAll(folder.file("-.json")), "mine");
}

/// A device that cannot be used: what was planned is there, and nothing ran.
TEST_F(CliResults, AModelThatFailedWithAReportDidNotRun) {
    ran("a", {"net", "other"});
    fs::copy(folder.file("a"), folder.file("b"), fs::copy_options::recursive);
    const auto fails = [&](size_t model) {
        change("b/results.json", [&](json& run) { run["models"][model]["state"] = "failed"; });
    };
    folder.write("gates.toml", "[gate]\nl = { metric = \"launches\", max_increase = 0 }\n");
    fails(0);
    for (const std::vector<std::string>& asked :
         {std::vector<std::string>{"--gate", "gates.toml"}, {"--lost", "fail"}}) {
        std::vector<std::string> arguments{"compare", "a", "b"};
        arguments.insert(arguments.end(), asked.begin(), asked.end());
        const ProcessResult compared = run(arguments);
        EXPECT_EQ(compared.exitCode, ExitGate) << compared.output;
        expectHas(compared.output, "net\n  did not run in B: failed\n");
        expectHas(compared.output, "fail net: state was done, is failed, limit done");
    }
    fails(1);
    expectRefused({"compare", "a", "b", "--gate", "gates.toml"}, ExitUsage,
                  {"nothing was compared: no model ran on both sides"});
}

/// However OUT is given among what is merged, it is read, not emptied.
TEST_F(CliResults, AMergeNeverRemovesWhatItReads) {
    ran("b", {"net"});
    for (const char* input : {"b", "b/results.json", "b/../b/results.json"}) {
        EXPECT_EQ(run({"merge", input, "-o", "b"}).exitCode, ExitOk) << input;
        EXPECT_TRUE(files().contains("b/results.json")) << input;
        EXPECT_TRUE(files().contains("b/models/net.onnx")) << input;
    }
    ASSERT_EQ(run({"merge", "b/results.json", "-o", "all"}).exitCode, ExitOk);
    EXPECT_TRUE(files().contains("all/models/net.onnx")) << "of the folder that the results are in";
    // What it cannot read is not replaced either.
    expectRefused({"merge", "none", "-o", "fresh"}, ExitInput, {"none"});
}

TEST_F(CliResults, AFolderThatARunWritesIsNotMergedInto) {
    ran("a", {"net"});
    ran("out", {"other"});
    const int models = ::open(folder.file("out/models").c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_EQ(::flock(models, LOCK_EX | LOCK_NB), 0); // as a batch into it has
    const std::string before = readAll(folder.file("out/results.json"));
    expectRefused({"merge", "a", "-o", "out"}, ExitResource,
                  {"another run writes into this folder", "[save.busy]"});
    EXPECT_EQ(readAll(folder.file("out/results.json")), before);
    ::close(models);
    EXPECT_EQ(run({"merge", "a", "-o", "out"}).exitCode, ExitOk);
    EXPECT_FALSE(files().contains("out/models/other.onnx"));
    EXPECT_TRUE(files().contains("out/models/net.onnx"));
}

TEST_F(CliResults, AGateThatIsCalledAsAWordIsNotAskedForByIt) {
    ran("a", {"net"}, {});
    folder.write("gates.toml", "[gate]\nverify = { metric = \"launches\", max = 0 }\n");
    EXPECT_EQ(run({"compare", "a", "a", "--gate", "gates.toml"}).exitCode, ExitGate);
    EXPECT_EQ(run({"compare", "a", "a", "--gate", "gates.toml", "--fail-on", "verify"}).exitCode,
              ExitOk);
    EXPECT_EQ(
        run({"compare", "a", "a", "--gate", "gates.toml", "--fail-on", "verify,regress"}).exitCode,
        ExitGate);
}

/// What one shard has not, another one may have.
TEST_F(CliResults, AShardIsNotTheWholeRun) {
    const std::vector<std::string> names{"a", "b", "c", "d"};
    ran("whole", names);
    ran("one", names, {"--no-verify", "--shard", "1/2"});
    ran("two", names, {"--no-verify", "--shard", "2/2"});
    ASSERT_TRUE(files().contains("one/models/a.onnx") != files().contains("two/models/a.onnx"));
    folder.write("gates.toml", "[gate]\n"
                               "l = { metric = \"launches\", max_increase = 0 }\n"
                               "m = { metric = \"launches\", max = 9, models = [\"a\", \"b\", "
                               "\"c\", \"d\"] }\n");
    for (const char* shard : {"one", "two"}) {
        const ProcessResult compared = run(
            {"compare", "whole", shard, "--gate", "gates.toml", "--fail-on", "regress,unknown"});
        EXPECT_EQ(compared.exitCode, ExitOk) << compared.output;
        expectHas(compared.errors, "what other shards have is not called lost");
    }
    ASSERT_EQ(run({"merge", "one", "-o", "part"}).exitCode, ExitPartial);
    EXPECT_EQ(run({"compare", "whole", "part", "--gate", "gates.toml"}).exitCode, ExitGate)
        << "that is the whole of B";
}

TEST_F(CliResults, AShardThatMeasuresIsOfAnotherRun) {
    std::vector<std::string> options{"--no-verify", "--seconds", "0.02", "--shard", "1/2"};
    ran("one", {"a", "b", "c", "d"}, options);
    options.back() = "2/2";
    options.insert(options.end(), {"--measure", "on"});
    ran("two", {"a", "b", "c", "d"}, options);
    expectRefused({"merge", "one", "two", "-o", "all"}, ExitUsage,
                  {"folder 2 is no shard of the run that the first one is of"});
}

/// JSON has no word for a result that is no number; the text says it.
TEST_F(CliResults, WhatIsNoNumberIsNoNumberInJson) {
    ran("a", {"net"}, {});
    fs::copy(folder.file("a"), folder.file("b"), fs::copy_options::recursive);
    change("b/timings.json", [](json& run) {
        for (json& output : run["models"][0]["timings"]["agreement"])
            output["max_rel"] = nullptr;
    });
    folder.write("gates.toml", "[gate]\nr = { metric = \"max_rel\", max = 1 }\n");
    EXPECT_EQ(run({"compare", "a", "b", "--gate", "gates.toml", "--report", "c.json"}).exitCode,
              ExitGate);
    const json document = json::parse(readAll(folder.file("c.json")));
    for (const std::string& error : fuselage::testing_support::schemaErrors(
             document, FUSELAGE_SCHEMAS, "comparison.schema.json"))
        ADD_FAILURE() << error;
    EXPECT_EQ(document["gates"][0]["now"], "nan") << document.dump(1);
    EXPECT_FALSE(document["gates"][0].contains("now_value"));
}

/// `--commit "$CI_COMMIT_SHA"` outside of CI.
TEST_F(CliResults, AnEmptyCommitIsUnknown) {
    ran("a", {"net"});
    ASSERT_EQ(run({"baseline", "update", "a", "--baseline", "ci", "--commit", ""}).exitCode,
              ExitOk);
    expectHas(outputOf({"baseline", "show", "--baseline", "ci"}), "unknown");
    expectRefused({"baseline", "update", "a", "--baseline", ""}, ExitUsage,
                  {"--baseline: the value is empty"});
}

TEST_F(CliResults, ANameThatAPairTookIsNotCalledMissing) {
    ran("a", {"net", "one"});
    ran("b", {"one"});
    const ProcessResult compared =
        run({"compare", "a", "b", "--map", "net=one", "--fail-on", "regress"});
    EXPECT_EQ(compared.exitCode, ExitGate) << compared.output;
    expectHas(compared.output,
              "fail one: state was done, is missing, limit done (B's model of this "
              "name is compared with `net` of A)");
}
