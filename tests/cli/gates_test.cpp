// SPDX-License-Identifier: Apache-2.0
// Gates say the same in batch, bench, compare and merge: what nobody could judge does not hold,
// what fits nothing is said, and what is lost fails.
#include "tests/cli/cli.h"
#include "tests/support/json_schema.h"

#include <nlohmann/json.hpp>

#include <filesystem>

using namespace fuselage::cli_test;
using nlohmann::json;

namespace {

class CliGates : public Command {
protected:
    /// FOLDER/NAME.onnx, a model of two nodes.
    void model(const std::string& where, const std::string& name) const {
        fs::create_directories(folder.file(where));
        writeText("g (float[1,4] x) => (float[1,4] y) { a = Exp(x)  y = Relu(a) }");
        fs::rename(folder.file("m.onnx"), folder.file(where + "/" + name + ".onnx"));
    }

    ProcessResult batch(const std::string& models, const std::string& out,
                        std::vector<std::string> options = {}) const {
        options.insert(options.begin(),
                       {"batch", models, "-o", out, "--device", "t4", "--no-models"});
        return run(options);
    }

    /// A folder of a batch over models of these names.
    void ran(const std::string& out, const std::vector<std::string>& names,
             std::vector<std::string> options = {"--no-verify"}) const {
        for (const std::string& name : names)
            model(out + "-models", name);
        const ProcessResult done = batch(out + "-models", out, std::move(options));
        ASSERT_EQ(done.exitCode, ExitOk) << done.errors;
    }

    /// batch, compare, merge and bench of the same model with these gates, each by its name.
    std::vector<std::pair<std::string, ProcessResult>>
    everywhere(const std::vector<std::string>& options, bool withBench) const {
        const auto with = [&](std::vector<std::string> command) {
            command.insert(command.end(), options.begin(), options.end());
            return run(command);
        };
        std::vector<std::pair<std::string, ProcessResult>> out{
            {"batch", with({"batch", "a-models", "-o", "b", "--device", "t4", "--no-models"})},
            {"compare", with({"compare", "a", "a"})},
            {"merge", with({"merge", "a", "-o", "merged"})}};
        if (withBench)
            out.emplace_back("bench", with({"bench", "a-models/net.onnx", "--no-measure"}));
        return out;
    }

    json read(const std::string& name) const {
        return json::parse(readAll(folder.file(name)), nullptr, false);
    }
};

constexpr const char* counts = "[gate]\nl = { metric = \"launches\", max_increase = 0 }\n";

} // namespace

TEST_F(CliGates, AModelThatTheSecondRunLostFails) {
    ran("a", {"net", "old"});
    ran("b", {"net", "new"});
    folder.write("gates.toml", counts);
    ProcessResult ran = run({"compare", "a", "b"});
    EXPECT_EQ(ran.exitCode, ExitOk) << "nobody asked for a verdict";
    for (const std::vector<std::string>& asked : {std::vector<std::string>{"--gate", "gates.toml"},
                                                  {"--fail-on", "regress"},
                                                  {"--lost", "fail"}}) {
        std::vector<std::string> arguments{"compare", "a",        "b",          "--report",
                                           "c.json",  "--report", "c.junit.xml"};
        arguments.insert(arguments.end(), asked.begin(), asked.end());
        ran = run(arguments);
        EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
        expectHas(ran.output, "FAILED: ");
        expectHas(ran.output, "fail old: state was done, is missing, limit done (A has it and B");
        EXPECT_EQ(read("c.json")["status"]["reasons"], json::array({"lost:old"}));
        expectHas(readAll(folder.file("c.junit.xml")),
                  "<testcase classname=\"old\" name=\"gate lost\"");
    }
    expectHas(run({"compare", "a", "b", "--gate", "gates.toml"}).output,
              "skipped l: launches of new (A has nothing to compare it with)");
    // It may be meant, or it may have another name.
    ran = run({"compare", "a", "b", "--gate", "gates.toml", "--lost", "warn"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output;
    expectHas(ran.output, "warn old: state was done, is missing");
    EXPECT_EQ(run({"compare", "a", "b", "--gate", "gates.toml", "--map", "old=new"}).exitCode,
              ExitOk);
    // The other way round `new` is lost; a model that is not there in A is none.
    EXPECT_EQ(run({"compare", "b", "a", "--gate", "gates.toml"}).exitCode, ExitGate);
    EXPECT_EQ(run({"compare", "a", "b", "--fail-on", "launches > 100"}).exitCode, ExitGate);
}

TEST_F(CliGates, AModelThatDoesNotRunAnyMoreIsLost) {
    ran("a", {"net", "other"});
    folder.write("gates.toml", counts);
    folder.write("a-models/other.onnx", "broken");
    ASSERT_EQ(batch("a-models", "b", {"--no-verify"}).exitCode, ExitInput);
    ProcessResult ran = run({"compare", "a", "b", "--gate", "gates.toml"});
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
    expectHas(ran.output, "fail other: state was done, is failed, limit done (");
    EXPECT_EQ(run({"compare", "b", "b", "--gate", "gates.toml"}).exitCode, ExitOk)
        << "it was broken before";
}

TEST_F(CliGates, AModelOfAnotherPrecisionIsNotCompared) {
    ran("a", {"net", "other"});
    ran("b", {"net", "other"}, {"--no-verify", "--model-option", "other:precision=fp16"});
    folder.write("gates.toml", counts);
    folder.write("bound.toml", "[gate]\nl = { metric = \"launches\", max = 9 }\n");
    const ProcessResult ran = run({"compare", "a", "b", "--gate", "gates.toml"});
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
    expectHas(ran.output, "fail other: kind was ");
    EXPECT_EQ(run({"compare", "a", "b", "--gate", "bound.toml"}).exitCode, ExitOk)
        << "a bound asks nothing of A";
}

TEST_F(CliGates, WrongResultsOfTheSecondRunFailTheComparison) {
    ran("a", {"net"}, {});
    folder.write("gates.toml", counts);
    fs::copy(folder.file("a"), folder.file("b"), fs::copy_options::recursive);
    json timings = read("b/timings.json");
    for (json& output : timings["models"][0]["timings"]["agreement"])
        output["ok"] = false;
    folder.write("b/timings.json", timings.dump());
    EXPECT_EQ(run({"compare", "a", "b", "--gate", "gates.toml"}).exitCode, ExitVerification);
    EXPECT_EQ(run({"compare", "a", "b", "--fail-on", "verify"}).exitCode, ExitVerification);
    EXPECT_EQ(run({"compare", "a", "a", "--fail-on", "verify"}).exitCode, ExitOk);
    EXPECT_EQ(run({"compare", "a", "b", "--fail-on", "regress"}).exitCode, ExitOk);
}

TEST_F(CliGates, ANameThatNothingHasIsSaidEverywhere) {
    ran("a", {"net", "resnet50"});
    folder.write("model.toml", "[gate]\nl = { metric = \"launches\", max = 9, models = "
                               "[\"resnet5O\"] }\n");
    expectHas(batch("a-models", "b", {"--no-verify", "--gate", "model.toml"}).errors,
              "no model here is called so; did you mean `resnet50`?"); // before anything runs
    for (const auto& [command, ran] : everywhere({"--gate", "model.toml"}, false)) {
        SCOPED_TRACE(command);
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
        expectHas(ran.output, "1 warn\n");
        expectHas(ran.output, "warn resnet5O: launches is unknown, limit <= 9 (no model here is "
                              "called so; did you mean `resnet50`?)");
    }
    for (const auto& [command, ran] :
         everywhere({"--gate", "model.toml", "--fail-on", "unknown"}, false)) {
        SCOPED_TRACE(command);
        EXPECT_EQ(ran.exitCode, ExitGate) << ran.output << ran.errors;
    }
    for (const auto& [command, ran] : everywhere({"--fail-on", "matches.ConvBNRelu > 3"}, true)) {
        SCOPED_TRACE(command);
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
        expectHas(command == "bench" ? ran.errors : ran.output, "called `ConvBNRelu`; did you mean "
                                                                "`ConvBNReLU`?");
    }
    for (const auto& [command, ran] : everywhere({"--fail-on", "lanches > 3"}, true)) {
        SCOPED_TRACE(command);
        EXPECT_EQ(ran.exitCode, ExitUsage) << ran.output;
        expectHas(ran.errors, "did you mean `launches`?");
    }
    folder.write("metric.toml", "[gate]\nl = { metric = \"lanches\", max = 9 }\n");
    for (const auto& [command, ran] : everywhere({"--gate", "metric.toml"}, false)) {
        SCOPED_TRACE(command);
        EXPECT_EQ(ran.exitCode, ExitUsage) << ran.output;
        expectHas(ran.errors, "metric.toml:2: no metric `lanches`");
        expectHas(ran.errors, "did you mean `launches`?");
    }
}

TEST_F(CliGates, AConditionOnWhatWasNotMeasuredIsAMistakeEverywhere) {
    ran("a", {"net"});
    for (const char* condition : {"e2e_us > 1", "speed_up < 9", "slower_matches > 0"})
        for (const auto& [command, ran] : everywhere({"--fail-on", condition}, true)) {
            SCOPED_TRACE(command + " " + condition);
            EXPECT_EQ(ran.exitCode, ExitUsage) << ran.output;
            expectHas(ran.errors, "asks for times, and nothing is measured");
        }
    for (const auto& [command, ran] : everywhere({"--fail-on", "registers > 1"}, true)) {
        SCOPED_TRACE(command);
        EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
        expectHas(ran.output, "registers");
    }
    for (const char* command : {"compare", "merge"}) {
        const std::vector<std::string> arguments =
            std::string_view(command) == "compare"
                ? std::vector<std::string>{"compare", "a", "a", "--fail-on", "verify"}
                : std::vector<std::string>{"merge", "a", "-o", "all", "--fail-on", "verify"};
        expectHas(run(arguments).errors, "nothing is compared with the reference");
    }
    expectRefused({"batch", "a-models", "-o", "c", "--no-verify", "--fail-on", "verify"}, ExitUsage,
                  {"nothing is compared with the reference"});
}

TEST_F(CliGates, AWordThatNothingCouldFailByIsAMistakeEverywhere) {
    ran("a", {"net"});
    for (const auto& [command, ran] : everywhere({"--fail-on", "expect"}, true)) {
        SCOPED_TRACE(command);
        EXPECT_EQ(ran.exitCode, ExitUsage) << ran.output;
        expectHas(ran.errors, "`expect`");
    }
    expectRefused({"bench", "a-models/net.onnx", "--fail-on", "regress"}, ExitUsage,
                  {"`regress` needs gates or an earlier run", "fuselage compare OLD NEW"});
    expectRefused({"bench", "a-models/net.onnx", "--no-verify", "--fail-on", "verify"}, ExitUsage,
                  {"nothing is compared with the reference"});
    expectRefused({"compare", "a", "a", "--baseline", "ci"}, ExitUsage, {"--baseline"});
}

TEST_F(CliGates, AnEarlierReportNeverLooksCurrent) {
    ran("a", {"net"});
    ran("b", {"another", "third"});
    folder.write("gates.toml", counts);
    folder.write("bad.toml", "[gate]\n");
    const std::vector<std::string> reports{"--report", "c.txt", "--report", "c.junit.xml"};
    const auto compare = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "compare");
        arguments.insert(arguments.end(), reports.begin(), reports.end());
        return run(arguments).exitCode;
    };
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"a", "b", "--gate", "gates.toml"},
          {"a", "a", "--gate", "bad.toml"},
          {"a", "none.json"}}) {
        ASSERT_EQ(compare({"a", "a", "--gate", "gates.toml"}), ExitOk);
        ASSERT_TRUE(files().contains("c.txt") && files().contains("c.junit.xml"));
        EXPECT_NE(compare(wrong), ExitOk);
        EXPECT_FALSE(files().contains("c.txt")) << wrong.back();
        EXPECT_FALSE(files().contains("c.junit.xml")) << wrong.back();
    }
    ASSERT_EQ(run({"merge", "a", "-o", "all"}).exitCode, ExitOk);
    ASSERT_TRUE(files().contains("all/results.json"));
    EXPECT_EQ(run({"merge", "a", "a", "-o", "all"}).exitCode, ExitUsage);
    EXPECT_FALSE(files().contains("all/results.json"));
}

TEST_F(CliGates, TheTextOfAComparisonHasTheVerdict) {
    ran("a", {"net"});
    folder.write("gates.toml", "[gate]\nfew = { metric = \"launches\", max = 0 }\n");
    EXPECT_EQ(run({"compare", "a", "a", "--gate", "gates.toml", "--report", "c.txt"}).exitCode,
              ExitGate);
    const std::string text = readAll(folder.file("c.txt"));
    expectHas(text, "net\n  no difference\n");
    expectHas(text, "\nFAILED: 1 of 1 model ran, 1 gate, 1 fail\n  fail net: launches is 1, limit");
    const ProcessResult excused = run({"compare", "a", "a", "--gate", "gates.toml", "--exit-zero"});
    EXPECT_EQ(excused.exitCode, ExitOk);
    expectHas(excused.output, "exit code 0 and not 1, as --exit-zero says");
}

TEST_F(CliGates, NumbersOfJsonAreNumbers) {
    ran("a", {"net"});
    ran("b", {"net"}, {"--no-verify", "--no-builtin"});
    folder.write("gates.toml", counts);
    EXPECT_EQ(run({"compare", "a", "b", "--gate", "gates.toml", "--report", "c.json"}).exitCode,
              ExitGate);
    const json document = read("c.json");
    for (const std::string& error : fuselage::testing_support::schemaErrors(
             document, FUSELAGE_SCHEMAS, "comparison.schema.json"))
        ADD_FAILURE() << error;
    EXPECT_EQ(document["schema"], "fuselage.comparison/2");
    std::map<std::string, json> metrics;
    for (const json& metric : document["models"][0]["metrics"])
        metrics[metric["metric"]] = metric;
    ASSERT_TRUE(metrics.contains("launches")) << document.dump(1);
    EXPECT_EQ(metrics["launches"]["a"], 1);
    EXPECT_EQ(metrics["launches"]["b"], 2);
    EXPECT_EQ(metrics["launches"]["change"], 1);
    EXPECT_EQ(metrics["launches"]["unit"], "");
    EXPECT_EQ(metrics["logical_bytes"]["unit"], "bytes");
    EXPECT_GT(metrics["logical_bytes"]["b"], metrics["logical_bytes"]["a"]);
    EXPECT_EQ(metrics["predicted_us"]["unit"], "us");
    EXPECT_TRUE(metrics["predicted_us"]["a"].is_number());
    ASSERT_FALSE(document["models"][0]["rules"].empty());
    EXPECT_EQ(document["models"][0]["rules"][0]["a"], 1);
    EXPECT_EQ(document["models"][0]["rules"][0]["b"], 0);
    EXPECT_EQ(document["gates"][0]["baseline_value"], 1);
    EXPECT_EQ(document["gates"][0]["now_value"], 2);
}

/// Two machines have the same rules and options in other places, and use other numbers of threads.
TEST_F(CliGates, ShardsAreOfOneRunByWhatTheyAreMadeOf) {
    for (const char* name : {"a", "b", "c", "d"})
        model("models", name);
    const std::string rules = "fuse 1;\nrule ExpRelu { match { y = Exp(x) -> Relu; } }\n";
    for (const char* machine : {"one", "two"})
        fs::create_directories(folder.file(machine));
    folder.write("one/mine.fuse", rules);
    folder.write("two/ours.fuse", rules);
    const auto shard = [&](const std::string& out, const std::string& which,
                           std::vector<std::string> options) {
        options.insert(options.end(), {"--no-verify", "--shard", which});
        return batch("models", out, options).exitCode;
    };
    ASSERT_EQ(shard("out1", "1/2", {"-p", "one"}), ExitOk);
    ASSERT_EQ(shard("out2", "2/2", {"-p", folder.file("two/ours.fuse"), "--threads", "2"}), ExitOk);
    ProcessResult ran = run({"merge", "out1", "out2", "-o", "all"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    expectHas(ran.output, "PASSED: 4 of 4 models ran");
    folder.write("two/ours.fuse", rules + "rule ExpNeg { match { y = Exp(x) -> Neg; } }\n");
    ASSERT_EQ(shard("out3", "2/2", {"-p", "two"}), ExitOk);
    expectHas(run({"merge", "out1", "out3", "-o", "all"}).errors,
              "folder 2 is no shard of the run that the first one is of: it was made with other "
              "options or rules");
    ASSERT_EQ(shard("out4", "2/3", {"-p", "one"}), ExitOk);
    expectHas(run({"merge", "out1", "out4", "-o", "all"}).errors, "it is one of 3, the first one "
                                                                  "of 2");
    // Whose machine went down.
    fs::remove(folder.file("out2/results.json"));
    ran = run({"merge", "out1", "out2", "-o", "all"});
    EXPECT_EQ(ran.exitCode, ExitPartial) << ran.errors;
    expectHas(ran.errors, "out2 has no results: its run did not end");
    expectHas(ran.output, "shard 2/2 is missing");
    EXPECT_EQ(run({"merge", "out1", "none", "-o", "all"}).exitCode, ExitInput) << "a slip";
}

TEST_F(CliGates, WhichSideDidNotRunIsSaid) {
    ran("a", {"net", "other"});
    folder.write("a-models/other.onnx", "broken");
    ASSERT_EQ(batch("a-models", "b", {"--no-verify"}).exitCode, ExitInput);
    expectHas(run({"compare", "a", "b"}).output, "other\n  did not run in B: failed\n");
    expectHas(run({"compare", "b", "a"}).output, "other\n  did not run in A: failed\n");
    expectHas(run({"compare", "b", "b"}).output, "did not run in A: failed, nor in B: failed\n");
}

TEST_F(CliGates, WhatBenchFailsByStandsInItsReports) {
    model("models", "net");
    const ProcessResult ran =
        run({"bench", "models/net.onnx", "--no-measure", "--no-verify", "--fail-on", "launches > 0",
             "--report", "r.junit.xml", "--report", "r.md", "--report", "r.sarif"});
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.errors;
    expectHas(
        readAll(folder.file("r.junit.xml")),
        "name=\"gate launches &gt; 0\" time=\"0.000\"><failure message=\"fail: launches was ");
    expectHas(readAll(folder.file("r.md")), "**FAILED: ");
    expectHas(readAll(folder.file("r.sarif")), "gate.launches > 0");
}

/// A folder of models that lost one passes, since a run may be of some of them; it is said.
TEST_F(CliGates, ABaselineOfAModelThatIsGoneIsNoted) {
    fs::create_directories(folder.file("a-models"));
    writeText("g (float[1,8] x) => (float[1,8] y) { y = Tanh(x) }");
    fs::rename(folder.file("m.onnx"), folder.file("a-models/old.onnx"));
    ran("a", {"net"});
    ASSERT_EQ(run({"baseline", "update", "a", "--baseline", "ci"}).exitCode, ExitOk);
    folder.write("gates.toml", counts);
    const auto judged = [&] {
        return batch("a-models", "b", {"--no-verify", "--gate", "gates.toml", "--baseline", "ci"});
    };
    EXPECT_EQ(judged().errors.find("no such model"), std::string::npos);
    fs::rename(folder.file("a-models/old.onnx"), folder.file("a-models/renamed.onnx"));
    ProcessResult done = judged();
    EXPECT_EQ(done.exitCode, ExitOk) << done.output;
    EXPECT_EQ(done.errors.find("no such model"), std::string::npos) << "it is found by structure";
    fs::remove(folder.file("a-models/renamed.onnx"));
    done = judged();
    EXPECT_EQ(done.exitCode, ExitOk) << done.output;
    expectHas(done.errors, "ci has results of old, and this run has no such model");
}

/// One that has no fused node, and one of which nothing is left to run.
TEST_F(CliGates, ConditionsHoldOfAModelThatHasNothingToJudge) {
    writeText("g (float[1,4] x) => (float[1,4] y) { y = Exp(x) }");
    ProcessResult ran =
        run({"bench", "m.onnx", "--seconds", "0.05", "--fail-on", "slower_matches > 0"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
    writeText("g () => (float[2] y) { y = Constant <value = float[2] {1, 2}> () }");
    ran = run({"bench", "m.onnx", "--no-measure", "--fail-on",
               "predicted_us > 500,predicted_unfused_us > 500,fallbacks > 0"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
    EXPECT_EQ(run({"bench", "m.onnx", "--no-measure", "--fail-on", "predicted_us < 5"}).exitCode,
              ExitGate)
        << "it is 0, and not unknown";
}
