// SPDX-License-Identifier: Apache-2.0
// `fuselage batch` and the commands on what it writes.
#include "tests/cli/cli.h"
#include "tests/support/json_schema.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <random>
#include <unistd.h>

using namespace fuselage::cli_test;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> quickly{"--no-verify", "--device", "t4", "--no-models"};

class CliBatch : public Command {
protected:
    void SetUp() override {
        fs::create_directory(folder.file("models"));
        ProcessResult ran = run({"zoo", "lstm", "-o", "models/lstm.onnx"});
        ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
        ran = run({"zoo", "unet", "-o", "models/unet.onnx"});
        ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
    }

    ProcessResult batch(const std::string& out, std::vector<std::string> options = {}) const {
        std::vector<std::string> arguments{"batch", "models", "-o", out};
        arguments.insert(arguments.end(), quickly.begin(), quickly.end());
        arguments.insert(arguments.end(), options.begin(), options.end());
        return run(arguments);
    }

    std::string read(const std::string& name) const { return readAll(folder.file(name)); }
};

void expectSchema(const std::string& text, const std::string& schema) {
    json document = json::parse(text, nullptr, false);
    ASSERT_FALSE(document.is_discarded());
    for (const std::string& error :
         fuselage::testing_support::schemaErrors(document, FUSELAGE_SCHEMAS, schema))
        ADD_FAILURE() << error;
}

} // namespace

TEST_F(CliBatch, ResultsAreTheSameBytesWhateverTheJobs) {
    ProcessResult first = batch("a");
    EXPECT_EQ(first.exitCode, ExitOk) << first.errors;
    EXPECT_EQ(first.output.rfind("PASSED: 2 of 2 models ran", 0), 0U) << first.output;
    EXPECT_EQ(batch("b", {"--jobs", "8"}).exitCode, ExitOk);
    EXPECT_EQ(read("a/results.json"), read("b/results.json"));
    expectSchema(read("a/results.json"), "results.schema.json");
    expectSchema(read("a/timings.json"), "timings.schema.json");
    EXPECT_TRUE(files().contains("a/models/unet.html"));
    EXPECT_NE(first.errors.find("unet: done"), std::string::npos) << first.errors;
}

TEST_F(CliBatch, OneBrokenModelHidesNoOther) {
    folder.write("models/broken.onnx", "not a model");
    ProcessResult ran = batch("out");
    EXPECT_EQ(ran.exitCode, ExitInput) << ran.errors;
    json results = json::parse(read("out/results.json"));
    ASSERT_EQ(results["models"].size(), 3U);
    EXPECT_EQ(results["models"][0]["state"], "failed");
    EXPECT_NE(results["models"][0]["code"], "");
    EXPECT_EQ(results["models"][2]["state"], "done");
    EXPECT_EQ(results["status"]["reasons"], json::array({"input:broken"}));
}

TEST_F(CliBatch, WhatTakesTooLongIsEnded) {
    ProcessResult ran = batch("out", {"--timeout", "0.001s"});
    EXPECT_EQ(ran.exitCode, ExitResource) << ran.errors;
    json results = json::parse(read("out/results.json"));
    EXPECT_EQ(results["models"][0]["state"], "timeout");
}

TEST_F(CliBatch, ShardsMergedAreTheWhole) {
    ASSERT_EQ(batch("whole").exitCode, ExitOk);
    EXPECT_EQ(batch("one", {"--shard", "1/2"}).exitCode, ExitOk);
    EXPECT_EQ(batch("two", {"--shard", "2/2"}).exitCode, ExitOk);
    EXPECT_EQ(run({"merge", "two", "one", "-o", "merged"}).exitCode, ExitOk);
    EXPECT_EQ(read("merged/results.json"), read("whole/results.json"));
    EXPECT_EQ(run({"merge", "one", "-o", "part"}).exitCode, ExitPartial);
    EXPECT_EQ(run({"merge", "one", "one", "-o", "part"}).exitCode, ExitUsage);
}

TEST_F(CliBatch, AGateFailsWhenAFusionIsLostAndPassesWhenItIsBack) {
    const std::string norm =
        "rule NormRelu { match { y = Relu(BatchNormalization(x, a, b, c, d)); } }\n";
    folder.write("all.fuse", "fuse 1;\n" + norm);
    folder.write("less.fuse", "fuse 1;\nrule Other { match { y = Relu(Softplus(x)); } }\n");
    folder.write(
        "gates.toml",
        "[gate]\nmatches = { metric = \"matches.NormRelu\", min = 14, models = [\"unet\"] }\n"
        "launches = { metric = \"launches\", max_increase = 0 }\n");
    folder.write("expect.toml", "[unet]\nNormRelu = 14\n");
    const std::vector<std::string> gated{"--gate",   "gates.toml",  "--baseline",   "ci",
                                         "--expect", "expect.toml", "--no-builtin", "-p"};
    auto with = [&](const char* rules) {
        std::vector<std::string> out = gated;
        out.emplace_back(rules);
        return out;
    };
    ASSERT_EQ(batch("base", {"--no-builtin", "-p", "all.fuse"}).exitCode, ExitOk);
    EXPECT_EQ(batch("none", with("all.fuse")).exitCode, ExitGate); // no baseline yet
    EXPECT_EQ(run({"baseline", "update", "base", "--baseline", "ci"}).exitCode, ExitOk);
    ProcessResult lost = batch("lost", with("less.fuse"));
    EXPECT_EQ(lost.exitCode, ExitGate) << lost.output << lost.errors;
    EXPECT_NE(lost.output.find("fail unet: matches.NormRelu"), std::string::npos) << lost.output;
    json status = json::parse(read("lost/results.json"))["status"];
    EXPECT_EQ(status["reasons"],
              json::array({"expect:expect.NormRelu", "gate:launches", "gate:matches"}));
    ProcessResult back = batch("back", with("all.fuse"));
    EXPECT_EQ(back.exitCode, ExitOk) << back.output << back.errors;
    EXPECT_EQ(run({"compare", "base", "lost", "--gate", "gates.toml"}).exitCode, ExitGate);
    EXPECT_EQ(run({"compare", "base", "lost", "--gate", "gates.toml", "--exit-zero"}).exitCode,
              ExitOk);
}

/// Predictions need no run, and a baseline that measured nothing has them.
TEST_F(CliBatch, PredictionsAreComparedWithABaselineThatMeasuredNothing) {
    fs::create_directory(folder.file("one"));
    writeText("g (float[64,64] x) => (float[64,64] y) { a = Exp(x) b = Relu(a) y = Neg(b) }");
    fs::rename(folder.file("m.onnx"), folder.file("one/m.onnx"));
    const auto batch = [&](const std::string& out, std::vector<std::string> more) {
        more.insert(more.begin(), {"batch", "one", "-o", out, "--device", "h200", "--no-verify"});
        return run(more);
    };
    folder.write("gates.toml",
                 "[gate]\np = { metric = \"predicted_us\", max_increase = \"5%\" }\n");
    ASSERT_EQ(batch("base", {}).exitCode, ExitOk);
    ASSERT_EQ(run({"baseline", "update", "base", "--baseline", "ci"}).exitCode, ExitOk);
    const std::vector<std::string> gated{"--gate", "gates.toml", "--baseline", "ci"};
    ProcessResult ran = batch("same", gated);
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output;
    expectHas(ran.output, "PASSED: 1 of 1 model ran, 1 gate\n");
    std::vector<std::string> unfused = gated;
    unfused.push_back("--no-builtin");
    ran = batch("unfused", unfused);
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
    expectHas(ran.output, "fail m: predicted_us was ");
}

TEST_F(CliBatch, ABaselineOfAnotherStructureIsShownAndFailsUnlessLenient) {
    fs::create_directory(folder.file("one"));
    const auto model = [&](const std::string& nodes) {
        writeText("g (float[1,4] x) => (float[1,4] y) { " + nodes + " }");
        fs::rename(folder.file("m.onnx"), folder.file("one/m.onnx"));
    };
    const auto batch = [&](const std::string& out, std::vector<std::string> more = {}) {
        std::vector<std::string> arguments{"batch", "one", "-o", out, "--no-builtin"};
        arguments.insert(arguments.end(), quickly.begin(), quickly.end());
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments);
    };
    const auto update = [&](const std::string& out) {
        return run({"baseline", "update", out, "--baseline", "ci"}).exitCode;
    };
    folder.write("gates.toml", "[gate]\nlaunches = { metric = \"launches\", max_increase = 0 }\n");
    const std::vector<std::string> gated{"--gate", "gates.toml", "--baseline", "ci"};
    model("y = Exp(x)");
    ASSERT_EQ(batch("first").exitCode, ExitOk);
    ASSERT_EQ(update("first"), ExitOk);
    model("a = Exp(x)  y = Relu(a)");
    ProcessResult ran = batch("second", gated);
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
    expectHas(ran.output,
              "fail m: launches was 1, is 2, limit +0 (the model's structure has changed "
              "since the baseline: +100.0 %; take it over");
    std::vector<std::string> lenient = gated;
    lenient.insert(lenient.end(), {"--baseline-policy", "lenient"});
    ran = batch("lenient", lenient);
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output;
    expectHas(ran.output, "warn m: launches was 1, is 2");
    // Taken over, it is the one to compare with, also for what comes after it.
    ASSERT_EQ(update("second"), ExitOk);
    EXPECT_EQ(batch("same", gated).exitCode, ExitOk);
    model("a = Exp(x)  b = Relu(a)  y = Neg(b)");
    expectHas(batch("third", lenient).output, "warn m: launches was 2, is 3");
    // Times of an older structure that are taken over once more make it the last one.
    ASSERT_EQ(update("first"), ExitOk);
    expectHas(batch("third", lenient).output, "warn m: launches was 1, is 3");
}

namespace {

/// Every summary of times in a file of timings: around a millisecond, `factor` times as long.
void setTimes(json& value, double factor, double spread) {
    if (value.is_object() && value.contains("median_us")) {
        value["median_us"] = 1000 * factor;
        for (auto [key, sign] :
             {std::pair("low_us", -1), {"p10_us", -2}, {"high_us", 1}, {"p90_us", 2}})
            value[key] = 1000 * factor * (1 + sign * spread);
    }
    for (json& item : value)
        if (item.is_structured())
            setTimes(item, factor, spread);
}

} // namespace

TEST_F(CliBatch, OnlyTimesWhoseIntervalsAreApartFailAGate) {
    fs::remove(folder.file("models/unet.onnx"));
    ProcessResult ran = batch("base", {"--measure", "on", "--seconds", "0.05"});
    ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
    json timings = json::parse(read("base/timings.json"));
    for (const char* side : {"before", "after"}) {
        const json& measured = timings["models"][0]["timings"][side];
        EXPECT_GT(measured["samples"], 0) << timings.dump(1);
        EXPECT_EQ(measured["samples_us"].size(), measured["samples"]);
    }
    expectSchema(timings.dump(), "timings.schema.json");
    folder.write("gates.toml", "[gate]\ntime = { metric = \"e2e_us\", max_increase = \"5%\", "
                               "confirm = 0 }\n");
    setTimes(timings, 1, 0.01);
    folder.write("base/timings.json", timings.dump());
    auto verdict = [&](double factor, double spread) {
        fs::remove_all(folder.file("now"));
        fs::copy(folder.file("base"), folder.file("now"), fs::copy_options::recursive);
        json now = timings;
        setTimes(now, factor, spread);
        folder.write("now/timings.json", now.dump());
        return run({"compare", "base", "now", "--gate", "gates.toml"});
    };
    ProcessResult same = verdict(1.0, 0.01);
    EXPECT_EQ(same.exitCode, ExitOk) << same.output;
    EXPECT_NE(same.output.find("PASSED"), std::string::npos) << same.output;
    ProcessResult slower = verdict(1.2, 0.01);
    EXPECT_EQ(slower.exitCode, ExitGate) << slower.output;
    EXPECT_NE(slower.output.find("fail lstm: e2e_us"), std::string::npos) << slower.output;
    // The same slow-down, and intervals that touch: said, and no failure.
    ProcessResult overlapping = verdict(1.2, 0.2);
    EXPECT_EQ(overlapping.exitCode, ExitOk) << overlapping.output;
    EXPECT_NE(overlapping.output.find("ambiguous lstm: e2e_us"), std::string::npos)
        << overlapping.output;
}

TEST_F(CliBatch, AGateHoldsTheTextOfKernels) {
    folder.write("gates.toml", "[gate]\ntext = { metric = \"kernel_text\" }\n");
    folder.write("none.fuse", "fuse 1;\nrule Other { match { y = Relu(Softplus(x)); } }\n");
    const std::vector<std::string> gated{"--gate", "gates.toml", "--baseline", "ci"};
    ASSERT_EQ(batch("base").exitCode, ExitOk);
    ASSERT_EQ(run({"baseline", "update", "base", "--baseline", "ci"}).exitCode, ExitOk);
    EXPECT_EQ(batch("same", gated).exitCode, ExitOk);
    std::vector<std::string> others = gated;
    others.insert(others.end(), {"--no-builtin", "-p", "none.fuse"});
    ProcessResult ran = batch("other", others);
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
    EXPECT_NE(ran.output.find("fail unet: kernel_text"), std::string::npos) << ran.output;
    // One kernel of one model, as another emitter would write it: it is named.
    json results = json::parse(read("same/results.json"));
    json& kernel = results["models"][1]["results"]["kernels"][0];
    kernel["text_hash"] = "0000000000000000";
    folder.write("same/results.json", results.dump());
    ran = run({"compare", "base", "same", "--gate", "gates.toml"});
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
    const std::string name = "`" + kernel["name"].get<std::string>() + "` has another text";
    EXPECT_NE(ran.output.find(name), std::string::npos) << ran.output;
    EXPECT_EQ(ran.output.find("fail lstm"), std::string::npos) << ran.output;
}

TEST_F(CliBatch, MeasuresByItselfWhenAGateAsksForTimes) {
    fs::remove(folder.file("models/unet.onnx"));
    folder.write("times.toml", "[gate]\ntime = { metric = \"e2e_us\", max = 1e9 }\n");
    folder.write("counts.toml", "[gate]\ncount = { metric = \"launches\", min = 1 }\n");
    for (auto [file, measured] : {std::pair("times.toml", true), {"counts.toml", false}}) {
        ProcessResult ran =
            batch("out", {"--measure", "auto", "--seconds", "0.05", "--gate", file});
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
        const json timings = json::parse(read("out/timings.json"));
        EXPECT_EQ(timings["models"][0]["timings"].contains("after"), measured) << timings.dump(1);
    }
}

TEST_F(CliBatch, SigtermEndsItAsCtrlCDoesAndKeepsWhatRan) {
    for (auto [signal, code] : {std::pair(SIGTERM, ExitTerminated), {SIGINT, ExitInterrupted}}) {
        fs::remove_all(folder.file("out"));
        // With verification the second model takes a while.
        Process process = start({"batch", "models", "-o", "out"});
        ASSERT_TRUE(process.waitUntil([](const ProcessResult& soFar) {
            return soFar.errors.find("lstm: done") != std::string::npos;
        }));
        process.signal(signal);
        ProcessResult ran = process.finish();
        EXPECT_EQ(ran.exitCode, code) << ran.errors;
        json results = json::parse(read("out/results.json"));
        EXPECT_EQ(results["models"][0]["state"], "done");
        EXPECT_EQ(results["models"][1]["state"], "not_run") << ran.errors;
        expectSchema(read("out/results.json"), "results.schema.json");
    }
}

TEST_F(CliBatch, KilledAtAnyMomentItLeavesWholeFiles) {
    ASSERT_EQ(batch("out").exitCode, ExitOk);
    std::mt19937_64 random(7);
    for (int i = 0; i < 50; ++i) {
        std::vector<std::string> arguments{"batch", "models", "-o", "out", "--jobs", "2"};
        arguments.insert(arguments.end(), quickly.begin(), quickly.end());
        Process process = start(arguments);
        // A moment, not a condition: any one will do.
        ::usleep(static_cast<useconds_t>(random() % 400'000));
        process.signal(SIGKILL);
        process.finish();
        for (const std::string& name : files()) {
            if (!name.ends_with(".json") || name.find(".work-") != std::string::npos)
                continue;
            EXPECT_FALSE(json::parse(read(name), nullptr, false).is_discarded()) << name;
        }
    }
    EXPECT_EQ(batch("out").exitCode, ExitOk);
    for (const std::string& name : files()) {
        EXPECT_EQ(name.find(".work-"), std::string::npos) << name;
        EXPECT_FALSE(name.ends_with(".part")) << name;
    }
}

TEST_F(CliBatch, ASecondRunIntoAFolderIsRefusedWhileTheFirstOneRuns) {
    // With verification the second model takes a while.
    Process one = start({"batch", "models", "-o", "out"});
    ASSERT_TRUE(one.waitUntil([](const ProcessResult& soFar) {
        return soFar.errors.find("lstm: done") != std::string::npos;
    }));
    one.signal(SIGSTOP);
    const ProcessResult two = batch("out");
    EXPECT_EQ(two.exitCode, ExitResource);
    EXPECT_NE(two.errors.find("another run writes into this folder"), std::string::npos);
    one.signal(SIGCONT);
    EXPECT_EQ(one.finish().exitCode, ExitOk);
    expectSchema(read("out/results.json"), "results.schema.json");
}

TEST_F(CliBatch, ResultsNeverReplaceTheModelsThatAreRead) {
    const std::string before = read("models/lstm.onnx");
    expectRefused({"batch", "models", "-o", "."}, ExitUsage, {"would replace the models"});
    fs::create_directories(folder.file("other"));
    fs::copy(folder.file("models/lstm.onnx"), folder.file("other/lstm.onnx"));
    expectRefused({"batch", "other", "-o", "."}, ExitUsage, {"files that no run made"});
    EXPECT_EQ(read("models/lstm.onnx"), before);
    ASSERT_EQ(batch("out").exitCode, ExitOk);
    ASSERT_EQ(run({"batch", "other", "-o", "out", "--no-verify"}).exitCode, ExitOk);
    EXPECT_FALSE(files().contains("out/models/unet.onnx")) << "of the run before";
}

TEST_F(CliBatch, AKilledRunLeavesNoReportsOfAnEarlierOne) {
    ASSERT_EQ(batch("out").exitCode, ExitOk);
    Process process = start({"batch", "models", "-o", "out"});
    ASSERT_TRUE(process.waitUntil([](const ProcessResult& soFar) {
        return soFar.errors.find("lstm: done") != std::string::npos;
    }));
    process.signal(SIGKILL);
    process.finish();
    for (const std::string& name : files())
        EXPECT_EQ(name.find("results.json"), std::string::npos) << name;
}

TEST_F(CliBatch, BrokenRulesAreToldOnceAndInFull) {
    folder.write("broken.fuse", "fuse 1;\nrule A { match { y = Relu(x -> Neg; } }\n");
    expectRefused({"batch", "models", "-o", "out", "-p", "broken.fuse"}, ExitInput,
                  {"broken.fuse:2:35", "add `)` here"});
    EXPECT_EQ(read("out/results.json"), "");
}

TEST_F(CliBatch, WhatGatesNameAndNobodyHasIsNoted) {
    folder.write("expect.toml", "[renamed]\nConvBNReLU = 1\n[unet]\nConvBNRelu = 0\n");
    const ProcessResult ran = batch("out", {"--expect", "expect.toml"});
    for (const char* piece : {"`renamed`: no model here is called so; there is `lstm`, `unet`",
                              "no rule is called `ConvBNRelu`; did you mean `ConvBNReLU`?"})
        EXPECT_NE(ran.errors.find(piece), std::string::npos) << ran.errors;
}

TEST_F(CliBatch, ASizeIsForTheModelsThatHaveIt) {
    const ProcessResult ran = batch("out", {"--dim", "S=3"}); // the lstm's
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_NE(ran.errors.find("no input has a dimension `S`: its size is passed over"),
              std::string::npos)
        << ran.errors;
    const json results = json::parse(read("out/results.json"));
    EXPECT_EQ(results["models"][0]["results"]["model"]["inputs"][0], "input_ids: int64[N,3]");
    expectRefused({"bench", "models/unet.onnx", "--dim", "S=3"}, ExitUsage, {"dimension `S`"});
}

TEST_F(CliBatch, AMissingShardIsSaidInEveryReport) {
    ASSERT_EQ(batch("out1", {"--shard", "1/2"}).exitCode, ExitOk);
    const ProcessResult merged = run({"merge", "out1", "-o", "all"});
    EXPECT_EQ(merged.exitCode, ExitPartial);
    for (const std::string& text :
         {merged.output, read("all/report.md"), read("all/report.junit.xml")})
        EXPECT_NE(text.find("shard 2/2"), std::string::npos) << text;
}

TEST_F(CliBatch, MistakesOnTheCommandLineRunNothing) {
    expectRefused({"batch", "models", "-o", "out", "--shard", "3/2"}, ExitUsage, {"`3/2`"});
    expectRefused({"batch", "models", "-o", "out", "--timeout", "soon"}, ExitUsage, {"`soon`"});
    folder.write("gates.toml", "[gate]\na = { metric = \"x\", min = 1 }\n");
    expectRefused({"batch", "models", "-o", "out", "--gate", "gates.toml"}, ExitUsage,
                  {"gates.toml:2", "`x`"});
}
