// SPDX-License-Identifier: Apache-2.0
// What batch writes for the tools of others, read as they would read it: SARIF by what the standard
// requires, JUnit by an XML parser. And that results do not depend on how a model is written.
#include "tests/cli/cli.h"
#include "tests/support/json_schema.h"

#include <nlohmann/json.hpp>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

using namespace fuselage::cli_test;
using fuselage::testing_support::runProcess;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

class CliFormats : public Command {
protected:
    ProcessResult batch(const std::string& out, std::vector<std::string> options = {}) const {
        std::vector<std::string> arguments{"batch",       "models",   "-o", out,
                                           "--no-verify", "--device", "t4", "--no-models"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return run(arguments);
    }

    void model(const std::string& name, const std::string& file) const {
        fs::create_directory(folder.file("models"));
        ProcessResult ran = run({"zoo", name, "-o", "models/" + file});
        ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
    }

    std::string read(const std::string& name) const { return readAll(folder.file(name)); }

    /// A run in which everything is: a model that is broken, a hostile name, a gate that fails and
    /// one that cannot be judged.
    void runEverything() const {
        model("lstm", "a & <b> \"c\".onnx");
        model("unet", "unet.onnx");
        folder.write("models/broken.onnx", "not a model");
        folder.write("gates.toml", "[gate]\nless = { metric = \"launches\", max = 1 }\n"
                                   "time = { metric = \"e2e_us\", max_increase = \"5%\" }\n");
        ProcessResult ran = batch("out", {"--gate", "gates.toml"});
        ASSERT_EQ(ran.exitCode, ExitInput) << ran.output << ran.errors;
    }
};

/// The model's nodes in another order in which each still follows what it reads.
void shuffle(const std::string& path, uint64_t seed) {
    onnx::ModelProto model;
    {
        std::ifstream in(path, std::ios::binary);
        ASSERT_TRUE(model.ParseFromIstream(&in));
    }
    std::mt19937_64 random(seed);
    auto& nodes = *model.mutable_graph()->mutable_node();
    std::vector<onnx::NodeProto> waiting(nodes.begin(), nodes.end());
    std::set<std::string> made;
    std::set<std::string> coming;
    for (const onnx::NodeProto& node : waiting)
        coming.insert(node.output().begin(), node.output().end());
    nodes.Clear();
    while (!waiting.empty()) {
        std::vector<size_t> ready;
        for (size_t i = 0; i < waiting.size(); ++i)
            if (std::all_of(waiting[i].input().begin(), waiting[i].input().end(),
                            [&](const std::string& input) {
                                return !coming.contains(input) || made.contains(input);
                            }))
                ready.push_back(i);
        ASSERT_FALSE(ready.empty());
        const size_t next = ready[random() % ready.size()];
        made.insert(waiting[next].output().begin(), waiting[next].output().end());
        *nodes.Add() = waiting[next];
        waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(next));
    }
    auto& initializers = *model.mutable_graph()->mutable_initializer();
    std::reverse(initializers.pointer_begin(), initializers.pointer_end());
    std::ofstream out(path, std::ios::binary);
    ASSERT_TRUE(model.SerializeToOstream(&out));
}

} // namespace

TEST_F(CliFormats, SarifHasWhatTheStandardRequires) {
    runEverything();
    const json sarif = json::parse(read("out/report.sarif"), nullptr, false);
    ASSERT_FALSE(sarif.is_discarded());
    for (const std::string& error : fuselage::testing_support::schemaErrors(
             sarif, FUSELAGE_SUPPORT, "sarif_required.schema.json"))
        ADD_FAILURE() << error;
    std::set<std::string> rules, prints, levels;
    for (const json& rule : sarif["runs"][0]["tool"]["driver"]["rules"])
        EXPECT_TRUE(rules.insert(rule["id"]).second) << "an id stands for one rule";
    for (const json& result : sarif["runs"][0]["results"]) {
        EXPECT_TRUE(rules.contains(result["ruleId"])) << result["ruleId"];
        EXPECT_TRUE(prints.insert(result["partialFingerprints"]["fuselage/1"]).second);
        levels.insert(result["level"]);
    }
    EXPECT_TRUE(rules.contains("gate.less"));
    EXPECT_TRUE(levels.contains("error") && levels.contains("note"));
}

TEST_F(CliFormats, JUnitIsReadByAnXmlParser) {
    runEverything();
    auto ran = runProcess({"python3", FUSELAGE_READ_JUNIT, folder.file("out/report.junit.xml")});
    if (!ran)
        GTEST_SKIP() << "no python3 on this machine";
    EXPECT_EQ(ran->exitCode, 0) << ran->errors;
    for (const char* line : {"a____b___c_|run|passed\n", "broken|run|error\n",
                             "unet|gate less|failure\n", "unet|gate time|skipped\n"})
        EXPECT_NE(ran->output.find(line), std::string::npos) << line << ran->output;
}

TEST_F(CliFormats, GithubGetsAnnotationsAndASummary) {
    model("lstm", "lstm.onnx");
    folder.write("models/a,b:c%d\n::error::x.onnx", "not a model");
    folder.write("gates.toml", "[gate]\nless = { metric = \"launches\", max = 1 }\n");
    folder.write("summary.md", "another step\n");
    ASSERT_EQ(setenv("GITHUB_STEP_SUMMARY", folder.file("summary.md").c_str(), 1), 0);
    ProcessResult ran = batch("out", {"--gate", "gates.toml", "--github"});
    unsetenv("GITHUB_STEP_SUMMARY");
    EXPECT_EQ(ran.exitCode, ExitInput) << ran.errors;
    EXPECT_NE(
        ran.output.find("\n::error file=models/lstm.onnx,title=lstm%3A gate less::launches was "
                        "unknown, is "),
        std::string::npos)
        << ran.output;
    EXPECT_NE(ran.output.find("\n::error file=models/a%2Cb%3Ac%25d%0A%3A%3Aerror%3A%3Ax.onnx,"),
              std::string::npos)
        << ran.output;
    EXPECT_EQ(ran.output.find("\n::error::x"), std::string::npos) << "a name is no command";
    const std::string summary = read("summary.md");
    EXPECT_EQ(summary.rfind("another step\n", 0), 0U);
    EXPECT_NE(summary.find("lstm"), std::string::npos) << summary;
    EXPECT_EQ(batch("out", {"--gate", "gates.toml"}).output.find("\n::error"), std::string::npos);
}

TEST_F(CliFormats, RedactedReportsHoldNoNameOfTheModel) {
    model("lstm", "lstm.onnx");
    onnx::ModelProto lstm;
    std::ifstream in(folder.file("models/lstm.onnx"), std::ios::binary);
    ASSERT_TRUE(lstm.ParseFromIstream(&in));
    std::set<std::string> names;
    for (const onnx::NodeProto& node : lstm.graph().node()) {
        names.insert(node.name());
        names.insert(node.output().begin(), node.output().end());
    }
    for (const onnx::TensorProto& weight : lstm.graph().initializer())
        names.insert(weight.name());
    ASSERT_EQ(batch("plain").exitCode, ExitOk);
    ASSERT_EQ(batch("out", {"--redact"}).exitCode, ExitOk);
    ASSERT_EQ(batch("again", {"--redact"}).exitCode, ExitOk);
    EXPECT_EQ(read("out/results.json"), read("again/results.json"));
    size_t looked = 0, shown = 0;
    for (const std::string& file : files())
        if (fs::is_regular_file(folder.file(file)) && file.starts_with("out/"))
            for (const std::string& name : names) {
                // A short word may stand for something else.
                if (name.size() < 6 ||
                    (name.find('/') == std::string::npos && name.find('.') == std::string::npos))
                    continue;
                ++looked;
                EXPECT_EQ(read(file).find(name), std::string::npos) << file << ": " << name;
                shown += read("plain/" + file.substr(4)).find(name) != std::string::npos;
            }
    EXPECT_GT(looked, 50U);
    EXPECT_GT(shown, 20U) << "the names are there without the option";
    json plain = json::parse(read("plain/results.json")),
         hidden = json::parse(read("out/results.json"));
    EXPECT_EQ(hidden["models"][0]["after"], plain["models"][0]["after"]);
    EXPECT_FALSE(files().contains("out/models/lstm.onnx"));
}

TEST_F(CliFormats, EveryJsonFitsItsSchema) {
    runEverything();
    for (auto [file, schema] : {std::pair("results.json", "results.schema.json"),
                                {"timings.json", "timings.schema.json"},
                                {"models/unet.json", "report.schema.json"}})
        for (const std::string& error : fuselage::testing_support::schemaErrors(
                 json::parse(read(std::string("out/") + file), nullptr, false), FUSELAGE_SCHEMAS,
                 schema))
            ADD_FAILURE() << file << ": " << error;
}

TEST_F(CliFormats, ResultsAreTheSameBytesForAnyOrderOfNodesJobsAndThreads) {
    model("unet", "unet.onnx");
    model("gpt2_block", "gpt.onnx");
    model("lstm", "lstm.onnx");
    ASSERT_EQ(batch("first", {"--threads", "1"}).exitCode, ExitOk);
    const std::string expected = read("first/results.json");
    ASSERT_FALSE(expected.empty());
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        for (const char* name : {"unet", "gpt", "lstm"})
            shuffle(folder.file("models/" + std::string(name) + ".onnx"), seed);
        const std::string out = "again" + std::to_string(seed);
        ASSERT_EQ(batch(out, {"--jobs", seed == 1 ? "8" : "2"}).exitCode, ExitOk);
        EXPECT_EQ(read(out + "/results.json"), expected) << "seed " << seed;
        EXPECT_EQ(read(out + "/report.sarif"), read("first/report.sarif")) << "seed " << seed;
        EXPECT_EQ(read(out + "/report.matches.csv"), read("first/report.matches.csv"));
    }
}
