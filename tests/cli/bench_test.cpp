// SPDX-License-Identifier: Apache-2.0
// Reports of `fuselage bench`, and work that is interrupted.
#include "app/report/render.h"
#include "core/onnx/model_file.h"
#include "tests/cli/cli.h"
#include "tests/support/json_schema.h"
#include "tests/unit/onnx_builder.h"

#include <nlohmann/json.hpp>

#include <csignal>

namespace app = fuselage::app;
using namespace fuselage::cli_test;
using nlohmann::json;

namespace {

class CliBench : public Command {
protected:
    json report(std::vector<std::string> options, const std::string& seconds = "0.1") const {
        std::vector<std::string> arguments{"bench", "unet.onnx", "--no-verify", "--seconds",
                                           seconds, "--report",  "-.json"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        ProcessResult ran = run(arguments);
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
        json parsed = json::parse(ran.output, nullptr, false);
        EXPECT_FALSE(parsed.is_discarded()) << ran.output;
        return parsed;
    }
};

} // namespace

/// Counted alike whatever else is asked for: two reports are compared.
TEST_F(CliBench, NearMissesDoNotDependOnTheReport) {
    zoo("resnet18");
    const std::vector<std::string> quick{"bench", "resnet18.onnx", "-q", "--no-measure",
                                         "--no-verify"};
    const auto bench = [&](std::vector<std::string> more) {
        more.insert(more.begin(), quick.begin(), quick.end());
        return run(more).exitCode;
    };
    const std::vector<std::string> asked{"--fail-on", "near_misses > 0"};
    EXPECT_EQ(bench(asked), ExitGate);
    EXPECT_EQ(bench({"--fail-on", "near_misses > 0", "--explain"}), ExitGate);
    EXPECT_EQ(bench({"--report", "r.json"}), ExitOk);
    EXPECT_EQ(bench({"--report", "s.json", "--report", "s.html"}), ExitOk);
    expectHas(readAll(folder.file("r.json")), "\"near_misses\": [\n");
    const ProcessResult same =
        run({"compare", "r.json", "s.json", "--fail-on", "near_misses < 1", "--report", "c.md"});
    EXPECT_EQ(same.exitCode, ExitOk) << same.output;
}

TEST_F(CliBench, ErrorsOfNodesAreSaidWhereValuesAreStoredInFewBits) {
    zoo("unet");
    json halves = report({"--no-measure", "--precision", "fp16", "--errors"});
    const json& errors = halves["timings"]["node_errors"];
    ASSERT_TRUE(errors.is_array());
    EXPECT_GT(errors.size(), 10U);
    for (const json& each : errors)
        EXPECT_LT(each["relative"].get<double>(), 0.1) << each;
    const ProcessResult half =
        run({"bench", "unet.onnx", "--no-measure", "--no-verify", "--precision", "fp16"});
    EXPECT_NE(half.output.find("may be faster here than fp16 on either side"), std::string::npos)
        << half.output;
    ProcessResult plain = run({"bench", "unet.onnx", "--no-measure", "--no-verify", "--errors"});
    EXPECT_NE(plain.exitCode, ExitOk);
    EXPECT_NE(plain.errors.find("errors.none"), std::string::npos) << plain.errors;
}

/// Data, not weights, leave the range: the options that are advised do mend it.
TEST_F(CliBench, WhatFloat16DoesNotHoldIsNamedWithTheOptionsThatKeepIt) {
    writeText(
        "g (float[4,256] x) => (float[4,256] y) <float k = {300.0}> { a = Mul(x, k) "
        "q = Mul(a, a) s = ReduceSum<keepdims = 1>(q) r = Sqrt(s) z = Div(a, r) y = Neg(z) }");
    const std::vector<std::string> asked{"bench", "m.onnx", "--no-measure", "--precision", "fp16"};
    const ProcessResult failed = run(asked);
    EXPECT_EQ(failed.exitCode, ExitVerification);
    expectHas(failed.errors, "float16 ends at 65504: `Mul_1` and 2 more nodes make or read larger "
                             "numbers here\n");
    std::vector<std::string> mended = asked;
    for (const char* node : {"Mul_1", "ReduceSum", "Sqrt"}) {
        expectHas(failed.errors, std::string(" --precision-of '") + node + "=fp32'");
        mended.insert(mended.end(), {"--precision-of", std::string(node) + "=fp32"});
    }
    EXPECT_EQ(run(mended).exitCode, ExitOk);
    std::vector<std::string> hidden = asked;
    hidden.push_back("--redact");
    const ProcessResult redacted = run(hidden);
    EXPECT_EQ(redacted.exitCode, ExitVerification);
    EXPECT_EQ(redacted.errors.find("Mul_1"), std::string::npos) << redacted.errors;
}

TEST_F(CliBench, APlanSaysWhichMatchesAreMeasured) {
    zoo("unet");
    ASSERT_EQ(run({"fuse", "unet.onnx", "--plan-out", "all.fuseplan"}).exitCode, ExitOk);
    const size_t all = report({"--no-measure"})["results"]["matches"].size();
    EXPECT_EQ(report({"--no-measure", "--plan", "all.fuseplan"})["results"]["matches"].size(), all);
    EXPECT_NE(run({"bench", "unet.onnx", "--plan", "absent.fuseplan"}).exitCode, ExitOk);
}

TEST_F(CliBench, ReportsAreEqualButForTheirTimings) {
    zoo("unet");
    // What is decided for two cores is not what one would do: the same number each time.
    json first = report({"--threads", "1"}), second = report({"--threads", "1"});
    EXPECT_EQ(first["schema"], "fuselage.report/1");
    EXPECT_EQ(first["results"], second["results"]);
    EXPECT_TRUE(first["timings"].contains("before"));
    EXPECT_EQ(first["results"], report({"--threads", "1", "--no-measure"})["results"]);
}

TEST_F(CliBench, ComparingStopsWhenItsTimeIsOver) {
    zoo("unet");
    const ProcessResult ran =
        run({"bench", "unet.onnx", "--no-measure", "--verify-seconds", "1e-6", "-q"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_NE(ran.output.find("results are not checked: comparing was stopped after 1e-06 s"),
              std::string::npos)
        << ran.output;
}

TEST_F(CliBench, PredictionsNeedNoDevice) {
    zoo("unet");
    json here = report({"--no-measure"}), there = report({"--no-measure", "--device", "h200"});
    EXPECT_EQ(there["results"]["target"]["profile"], "h200");
    EXPECT_FALSE(there["timings"].contains("before"));
    EXPECT_LT(there["timings"]["predicted"]["after_us"], here["timings"]["predicted"]["after_us"]);
    EXPECT_EQ(there["results"]["rules"], here["results"]["rules"]);
}

TEST_F(CliBench, WhatThisMachineUsedIsNotSaidOfAnotherDevice) {
    zoo("unet");
    auto tactic = [&](std::vector<std::string> options) {
        std::vector<std::string> verified{"bench",        "unet.onnx", "-q",
                                          "--no-measure", "--report",  "-.json"};
        verified.insert(verified.end(), options.begin(), options.end());
        const json ran = json::parse(run(verified).output, nullptr, false);
        EXPECT_FALSE(ran.is_discarded());
        return ran["timings"]["kernels"][0].value("tactic", "missing");
    };
    EXPECT_NE(tactic({}), "");
    EXPECT_EQ(tactic({"--device", "h200"}), "");
}

TEST_F(CliBench, ShapesThatDependOnDataArePlannedForTheRun) {
    auto graph = fuselage::model_io::loadText("g (float[4,6] x) => (y) <int64[1] axes = {1}> {"
                                              " p = NonZero(x)  t = Transpose(p)"
                                              " f = Cast<to=1>(t)  s = ReduceSum(f, axes)"
                                              " y = Relu(s) }");
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_TRUE(fuselage::model_io::save(*graph, folder.file("found.onnx")));
    ProcessResult ran = run({"bench", "found.onnx", "-q", "--seconds", "0.1", "--report", "-.json",
                             "--fail-on", "fallbacks > 0"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    const json parsed = json::parse(ran.output, nullptr, false);
    ASSERT_FALSE(parsed.is_discarded()) << ran.output;
    const std::string notes = parsed["results"]["model"]["notes"].dump();
    EXPECT_NE(notes.find("shapes depend on data (`p`)"), std::string::npos) << notes;
    // Only NonZero itself has no kernel.
    size_t byReference = 0;
    for (const json& kernel : parsed["timings"]["kernels"])
        byReference += kernel.value("tactic", "").starts_with("reference") ? 1 : 0;
    EXPECT_EQ(byReference, 1U) << parsed["timings"]["kernels"].dump();
}

TEST_F(CliBench, AConditionThatHoldsFails) {
    zoo("unet");
    auto failOn = [&](const std::string& condition) {
        return run({"bench", "unet.onnx", "--no-measure", "--no-verify", "--fail-on", condition});
    };
    ProcessResult ran = failOn("launches > 0");
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.errors;
    EXPECT_NE(ran.output.find("fails on launches > 0: launches is"), std::string::npos)
        << ran.output;
    EXPECT_EQ(failOn("launches < 1").exitCode, ExitOk);
    ran = failOn("slower_matches > 0");
    EXPECT_EQ(ran.exitCode, ExitUsage) << ran.output;
    expectHas(ran.errors, "`slower_matches > 0` asks for times, and nothing is measured");
    ran = failOn("registers > 0"); // nothing was compiled: what nobody can judge does not hold
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.errors;
    expectHas(ran.output, "fails on registers > 0: registers was not measured");
    ran = failOn("slower_match > 0");
    EXPECT_EQ(ran.exitCode, ExitUsage);
    EXPECT_NE(ran.errors.find("slower_matches"), std::string::npos) << ran.errors;
    ran = failOn("predicted_us > 1"); // a microsecond, as the name says
    EXPECT_EQ(ran.exitCode, ExitGate) << ran.output;
    expectHas(ran.output, ", limit <= 1 us\n");
    ran = failOn("launches > 20us");
    EXPECT_EQ(ran.exitCode, ExitUsage);
    expectHas(ran.errors, "`20us` is a time, and `launches` is a plain number");
}

TEST_F(CliBench, StepsThatAreTimedSayWhichFusedNodesLost) {
    zoo("unet");
    const json timings = report({}, "10")["timings"]; // room beside other tests
    ASSERT_TRUE(timings.contains("slower_matches")) << timings.dump(1);
    int slower = 0;
    for (const json& match : timings["matches"]) {
        EXPECT_TRUE(match.contains("ratio") || match.contains("not_judged")) << match.dump(1);
        slower += match["slower"].get<bool>() ? 1 : 0;
    }
    EXPECT_EQ(timings["slower_matches"], slower);
    EXPECT_EQ(timings["fallbacks"], 0);
}

TEST_F(CliBench, WhatTheTimeHasNoRoomForIsSaid) {
    zoo("unet");
    const json timings = report({}, "0.000001")["timings"];
    EXPECT_EQ(timings["before"]["samples"], 1);
    EXPECT_FALSE(timings.contains("slower_matches"));
    ASSERT_EQ(timings["timing_notes"].size(), 1U);
    EXPECT_NE(timings["timing_notes"][0].get<std::string>().find("no interval"), std::string::npos);
    const ProcessResult ran = run({"bench", "unet.onnx", "--no-verify", "--seconds", "0.000001",
                                   "--fail-on", "slower_matches > 0"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output;
    expectHas(ran.errors, "`slower_matches > 0` cannot be judged: too few runs to tell");
}

TEST_F(CliBench, AReportThatIsWrittenIsTheOneThatIsPrinted) {
    zoo("unet");
    ProcessResult ran = run({"bench", "unet.onnx", "--no-measure", "--report", "r.json", "--report",
                             "r.txt", "--save-fused", "f.onnx", "--device", "t4"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_EQ(files(), (std::set<std::string>{"f.onnx", "r.json", "r.txt", "unet.onnx"}));
    EXPECT_EQ(ran.output, readAll(folder.file("r.txt")));
    EXPECT_EQ(run({"inspect", "f.onnx"}).exitCode, ExitOk);
}

TEST_F(CliBench, EveryFormatIsWrittenAndTheReportFitsItsSchema) {
    zoo("unet");
    std::vector<std::string> arguments{"bench", "unet.onnx", "--no-measure", "--device", "t4"};
    std::set<std::string> expected{"unet.onnx"};
    for (const app::ReportFormat& format : app::reportFormats()) {
        const std::string report = std::string("r") + format.ending;
        arguments.insert(arguments.end(), {"--report", report});
        expected.insert(report);
    }
    ProcessResult ran = run(arguments);
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_EQ(files(), expected);
    json report = json::parse(readAll(folder.file("r.json")));
    EXPECT_FALSE(report["results"]["near_misses"].empty());
    EXPECT_NE(report["results"]["near_misses"][0]["file"], "");
    for (const std::string& error :
         fuselage::testing_support::schemaErrors(report, FUSELAGE_SCHEMAS, "report.schema.json"))
        ADD_FAILURE() << error;
    EXPECT_EQ(readAll(folder.file("r.md")).rfind("**PASSED: 1 of 1 model ran**", 0), 0U);
}

TEST_F(CliBench, ProductsBehindDataDependentShapesHaveKernels) {
    fuselage::onnx_test::ModelBuilder model;
    model.input("x", {300, 300}).output("y");
    model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    model.initializer("w", {2, 64}).set_raw_data(std::string(2 * 64 * sizeof(float), '\0'));
    model.node("NonZero", {"x"}, {"places"});
    auto* to = model.node("Cast", {"places"}, {"numbers"}).add_attribute();
    to->set_name("to");
    to->set_type(::onnx::AttributeProto::INT);
    to->set_i(1);
    model.node("Transpose", {"numbers"}, {"rows"});
    model.node("MatMul", {"rows", "w"}, {"y"});
    folder.write("m.onnx", model.bytes());
    ProcessResult ran = run({"bench", "m.onnx", "--no-verify", "--seconds", "0.01", "--backend",
                             "cpu", "--report", "-.json"});
    ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
    json parsed = json::parse(ran.output, nullptr, false);
    ASSERT_TRUE(parsed.contains("timings")) << ran.output;
    int products = 0;
    for (const json& kernel : parsed["timings"]["kernels"])
        products += kernel["tactic"].get<std::string>().starts_with("onednn") ? 1 : 0;
    EXPECT_EQ(products, 1) << parsed["timings"]["kernels"].dump(1);
}

TEST_F(CliBench, InterruptedWorkLeavesNothing) {
    zoo("unet");
    std::set<std::string> before = files();
    Process process = start(
        {"bench", "unet.onnx", "--seconds", "600", "--report", "r.json", "--save-fused", "f.onnx"});
    // After its first second the program says what it is at.
    ASSERT_TRUE(process.waitUntil(
        [](const ProcessResult& soFar) { return soFar.errors.find("...") != std::string::npos; }));
    process.signal(SIGINT);
    ProcessResult ran = process.finish();
    EXPECT_EQ(ran.exitCode, ExitInterrupted) << ran.errors;
    EXPECT_NE(ran.errors.find("cancelled"), std::string::npos) << ran.errors;
    EXPECT_EQ(files(), before);
}
