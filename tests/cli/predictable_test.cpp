// SPDX-License-Identifier: Apache-2.0
// Equal inputs give equal results: decisions come from a profile that is a file, and kernels are
// measured only where somebody asks, with what was measured kept in another.
#include "core/onnx/model_file.h"
#include "tests/cli/cli.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>

using namespace fuselage::cli_test;
using nlohmann::json;

namespace {

constexpr int times = 10;

class CliPredictable : public Command {
protected:
    void SetUp() override { setenv("FUSELAGE_CPU_PROFILE", "none", 1); }

    void TearDown() override { setenv("FUSELAGE_CPU_PROFILE", "none", 1); }

    void model(const std::string& name, const std::string& text) const {
        auto graph = fuselage::model_io::loadText(text);
        ASSERT_TRUE(graph) << graph.error().text();
        if (const fuselage::ValueId w = graph->findValue("w"); w.valid()) { // weights of zeros
            const fuselage::Type& type = graph->value(w).type;
            const auto zeros =
                std::make_shared<const fuselage::Tensor>(type.dtype, *type.extents());
            graph->replaceUses(w, graph->addConstant("weights", zeros));
            graph->removeInput(1);
        }
        ASSERT_TRUE(fuselage::model_io::save(*graph, folder.file(name)));
    }

    json predictedAndMachine() const {
        const ProcessResult ran =
            run({"bench", "m.onnx", "--no-measure", "--no-verify", "-q", "--report", "-.json"});
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
        const json report = json::parse(ran.output, nullptr, false);
        EXPECT_FALSE(report.is_discarded()) << ran.output;
        const auto at = [&](const char* path) {
            return report.value(json::json_pointer(path), json());
        };
        return {at("/timings/predicted"), at("/timings/machine/profile_origin")};
    }

    /// Processes that compute for as long as the test.
    std::vector<Process> twoBusyProcesses() const {
        std::vector<Process> out;
        for (int i = 0; i < 2; ++i)
            if (auto busy = Process::start({"sh", "-c", "while :; do :; done"}))
                out.push_back(std::move(*busy));
        return out;
    }
};

bool has(const std::string& text, const std::string& piece) {
    return text.find(piece) != std::string::npos;
}

constexpr const char* chain = "g (float[64,4096] x) => (float[64,4096] y) { "
                              "a = Neg(x)  b = Tanh(a)  y = Abs(b) }";

/// Convolutions that have two ways to be computed, predicted to be about as fast.
/// Channels innermost as it stands, so that no prices of a machine decide which ways there are.
constexpr const char* twoWays =
    "g (float[1,14,14,192] x, float[192,192,3,3] w) => (float[1,14,14,192] y) { "
    "t = Transpose<perm=[0,3,1,2]>(x)  c = Conv<kernel_shape=[3,3],pads=[1,1,1,1]>(t, w)  "
    "r = Relu(c)  d = Conv<kernel_shape=[3,3],pads=[1,1,1,1]>(r, w)  "
    "y = Transpose<perm=[0,2,3,1]>(d) }";

} // namespace

TEST_F(CliPredictable, ATieHasOneWinner) {
    model("m.onnx", chain);
    folder.write("tie.fuse", "fuse 1;\n"
                             "rule A { match { y = Neg(x) -> Tanh; } }\n"
                             "rule B { match { y = Tanh(x) -> Abs; } }\n");
    std::set<std::string> outputs;
    for (int i = 0; i < times; ++i) {
        const ProcessResult ran =
            run({"fuse", "m.onnx", "--no-builtin", "-p", "tie.fuse", "--decide", "cost"});
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
        outputs.insert(ran.output);
    }
    EXPECT_EQ(outputs.size(), 1U) << *outputs.begin() << *outputs.rbegin();
}

TEST_F(CliPredictable, ARuleThatIsLeftOutLeavesItsNodesToOthers) {
    model("m.onnx", chain);
    folder.write("tie.fuse", "fuse 1;\n"
                             "rule First { match { y = Neg(x) -> Tanh; } }\n"
                             "rule Second { match { y = Tanh(x) -> Abs; } }\n");
    const auto named = [&](const std::string& left, const std::string& wanted) {
        const ProcessResult ran =
            run({"bench", "m.onnx", "--no-measure", "--no-verify", "-q", "--no-builtin", "-p",
                 "tie.fuse", "--without-rule", left, "--report", "-.json"});
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
        return has(ran.output, "\"" + wanted + "\"");
    };
    EXPECT_TRUE(named("First", "Second"));
    EXPECT_FALSE(named("First", "First"));
    EXPECT_TRUE(named("Second", "First"));
    EXPECT_FALSE(named("Second", "Second"));
    expectRefused({"fuse", "m.onnx", "--no-builtin", "-p", "tie.fuse", "--without-rule", "Third"},
                  ExitUsage, {"no rule `Third`", "--without-rule"});
}

TEST_F(CliPredictable, PredictionsAreThoseOfTheProfileAndNameIt) {
    model("m.onnx", chain);
    const json first = predictedAndMachine();
    for (int i = 1; i < times; ++i)
        EXPECT_EQ(predictedAndMachine(), first);
    EXPECT_TRUE(has(first[1].dump(), "not calibrated")) << first;

    setenv("FUSELAGE_CPU_PROFILE", folder.file("own/cpu.toml").c_str(), 1);
    const ProcessResult ran = run({"calibrate", "--threads", "1", "--seconds", "0.001", "-q"});
    ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran.output, "own/cpu.toml")) << ran.output;
    const json calibrated = predictedAndMachine();
    EXPECT_EQ(predictedAndMachine(), calibrated);
    EXPECT_NE(calibrated[0], first[0]);
    EXPECT_TRUE(has(calibrated[1].dump(), "own/cpu.toml, measured 2")) << calibrated;

    folder.write("own/cpu.toml", readAll(folder.file("own/cpu.toml")) + "colour = 3\n");
    const json broken = predictedAndMachine();
    EXPECT_EQ(broken[0], first[0]);
    EXPECT_TRUE(has(broken[1].dump(), "own/cpu.toml does not count")) << broken;
    EXPECT_TRUE(has(broken[1].dump(), "`colour`")) << broken;
}

TEST_F(CliPredictable, BatchWritesOneResultOnABusyMachine) {
    std::filesystem::create_directory(folder.file("models"));
    model("models/chain.onnx", chain);
    model("models/conv.onnx", twoWays);
    const std::vector<Process> busy = twoBusyProcesses();
    std::set<std::string> results;
    for (int i = 0; i < times; ++i) {
        const ProcessResult ran =
            run({"batch", "models", "-o", "out", "--no-models", "--no-verify"});
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
        results.insert(readAll(folder.file("out/results.json")));
    }
    EXPECT_EQ(results.size(), 1U);
    EXPECT_TRUE(has(*results.begin(), "chain"));
}

TEST_F(CliPredictable, RunMeasuresNothingUnlessItIsAsked) {
    model("m.onnx", twoWays);
    const std::vector<std::string> plain{"run", "m.onnx", "--timing-cache", "t.cpu", "-q"};
    EXPECT_EQ(run(plain).exitCode, ExitOk);
    EXPECT_FALSE(files().contains("t.cpu")) << "nothing was measured";

    std::vector<std::string> tuned = plain;
    tuned.emplace_back("--tune");
    const ProcessResult first = run(tuned);
    EXPECT_EQ(first.exitCode, ExitOk) << first.errors;
    const std::string kept = readAll(folder.file("t.cpu"));
    EXPECT_TRUE(has(kept, "minimal filtering=")) << kept;
    EXPECT_TRUE(has(kept, "one primitive=")) << kept;
    EXPECT_EQ(run(tuned).exitCode, ExitOk);
    EXPECT_EQ(run(plain).exitCode, ExitOk);
    EXPECT_EQ(readAll(folder.file("t.cpu")), kept) << "a second process measured again";
}

TEST_F(CliPredictable, ADamagedTimingIsSkippedWithANote) {
    model("m.onnx", twoWays);
    folder.write("t.cpu", "# fuselage cpu timings 1: machine, program, microseconds a way\n"
                          "half a line\n");
    const ProcessResult ran = run({"run", "m.onnx", "--timing-cache", "t.cpu", "-q"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran.errors, "t.cpu: line 2 is damaged, skipped")) << ran.errors;
    const ProcessResult bench = run(
        {"bench", "m.onnx", "--timing-cache", "t.cpu", "-q", "--seconds", "0.001", "--no-verify"});
    EXPECT_TRUE(has(bench.output, "t.cpu: line 2 is damaged, skipped")) << bench.output;
    folder.write("t.cpu", "not timings\n");
    expectRefused({"run", "m.onnx", "--timing-cache", "t.cpu", "-q"}, ExitInput,
                  {"t.cpu", "cache.format"});
    expectRefused({"run", "m.onnx", "--tune", "--backend", "reference"}, ExitUsage,
                  {"`--tune`", "reference"});
}
