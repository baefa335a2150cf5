// SPDX-License-Identifier: Apache-2.0
// Reports as files of other tools: what they promise, read back or checked by their schema.
#include "app/report/chrome_trace.h"
#include "app/report/csv.h"
#include "app/report/html.h"
#include "app/report/json.h"
#include "app/report/json_read.h"
#include "app/report/junit.h"
#include "app/report/markdown.h"
#include "app/report/run_json.h"
#include "app/report/sarif.h"
#include "app/report/text.h"
#include "tests/support/json_schema.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/report_sample.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace fuselage;
using namespace fuselage::report_test;
using app::GateRow;
using app::ModelRun;
using app::RunReport;
using nlohmann::json;

namespace {

RunReport sampleRun() {
    RunReport run = app::runOf(sampleReport());
    run.version = "0.1.0";
    ModelRun broken;
    broken.id = "broken";
    broken.file = "models/broken.onnx";
    broken.state = ModelRun::State::Crashed;
    broken.message = hostile;
    run.models.push_back(broken);
    run.gates = {{"launches", "net", "launches", "1", "2", "+0", GateRow::Verdict::Fail, "", false},
                 {"time", "net", "e2e_us", "2 us", "2.1 us", "+5 %", GateRow::Verdict::Ambiguous,
                  "the intervals overlap", true}};
    run.reasons = {"gate:launches", "internal:broken"};
    app::settle(run);
    return run;
}

std::string schemaReport(const std::string& text, const std::string& schema) {
    std::string out;
    for (const std::string& error :
         testing_support::schemaErrors(json::parse(text), FUSELAGE_SCHEMAS, schema))
        out += error + "\n";
    return out;
}

size_t occurrences(const std::string& text, const std::string& piece) {
    size_t count = 0;
    for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
        ++count;
    return count;
}

} // namespace

/// Names come back whole from a parser of XML, which makes spaces of new lines in attributes.
TEST(ReportJUnit, HostileNamesAreReadBack) {
    RunReport run = sampleRun();
    run.models[0].id = "two\nlines\tand \"quotes\" 'too' <a>&b]]>";
    run.models[0].report->agreement.resize(1);
    run.models[0].report->agreement[0].output = "y\nz";
    run.gates = {{"lost", "gone\n<model>", "state", "done", "missing", "done",
                  GateRow::Verdict::Fail, "a\x01\x1b[2J\x7f note\n", false},
                 {"near", "", "near_misses.A&B", "", "", "<= 3", GateRow::Verdict::Warn,
                  "no rule is called `A&B`", false}};
    const std::string text = app::renderJUnit(run);
    testing_support::TemporaryFolder folder;
    folder.write("junit.xml", text);
    folder.write("names.py", "import sys, xml.etree.ElementTree as tree\n"
                             "for suite in tree.parse(sys.argv[1]).getroot():\n"
                             "    for case in suite:\n"
                             "        print([case.get('classname'), case.get('name')]\n"
                             "              + [c.get('message') for c in case])\n");
    auto ran =
        testing_support::runProcess({"python3", folder.file("names.py"), folder.file("junit.xml")});
    if (!ran)
        GTEST_SKIP() << "no python3 on this machine";
    ASSERT_EQ(ran->exitCode, 0) << ran->errors;
    for (const char* piece :
         {R"(['two\nlines\tand "quotes" \'too\' <a>&b]]>', 'run'])", R"( y\nz'])",
          R"(['gone\n<model>', 'gate lost', 'fail: state was done, is missing, limit done. a)",
          R"([2J)", R"( note\n'])", R"(['gates', 'gate near', 'warn: near_misses.A&B)"})
        EXPECT_NE(ran->output.find(piece), std::string::npos) << piece << "\n" << ran->output;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(occurrences(text, "\n"), occurrences(text, ">\n")) << "no line ends inside a value";
}

TEST(ReportJson, IsReadBackWithEveryField) {
    const std::string written = app::renderJson(sampleReport());
    auto read = app::readJson(written);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(app::renderJson(*read), written);
    EXPECT_EQ(read->matches[0].launchesSaved(), 1);
    EXPECT_DOUBLE_EQ(read->after.measured->median, 2e-6);
    EXPECT_EQ(read->steps[1].reason.message, "4.1 us against 3.9 us");
}

TEST(ReportJson, WhatIsNoReportIsRefusedByItsPlace) {
    auto code = [](const std::string& text) {
        auto read = app::readJson(text);
        return read ? std::string("read") : read.error().code;
    };
    EXPECT_EQ(code("{"), "report.syntax");
    EXPECT_EQ(code("[1]"), "report.syntax");
    EXPECT_EQ(code("{}"), "report.schema");
    json report = json::parse(app::renderJson(sampleReport()));
    report["results"]["after"]["nodes"] = -1;
    auto read = app::readJson(report.dump());
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("`results.after.nodes`"), std::string::npos)
        << read.error().message;
    report = json::parse(app::renderJson(sampleReport()));
    report["graphs"]["after"]["nodes"][0]["inputs"] = {77};
    EXPECT_EQ(code(report.dump()), "report.field");
    report = json::parse(app::renderJson(sampleReport()));
    report["timings"]["kernels"].push_back(report["timings"]["kernels"][0]);
    EXPECT_EQ(code(report.dump()), "report.field");
}

TEST(ReportJson, FitsItsSchema) {
    EXPECT_EQ(schemaReport(app::renderJson(sampleReport()), "report.schema.json"), "");
    EXPECT_EQ(schemaReport(app::renderResults(sampleRun()), "results.schema.json"), "");
    EXPECT_EQ(schemaReport(app::renderTimings(sampleRun()), "timings.schema.json"), "");
    json wrong = json::parse(app::renderResults(sampleRun()));
    wrong["models"][0]["results"]["kernels"][0]["flops"] = "many";
    EXPECT_NE(schemaReport(wrong.dump(), "results.schema.json"), "");
}

TEST(Report, HintsOfRulesStandInEveryFormat) {
    const app::Report report = sampleReport();
    const std::string texts[] = {app::renderCounts(report), app::renderHtml(report),
                                 app::renderMarkdown(sampleRun()), app::renderJson(report)};
    for (const std::string& text : texts)
        EXPECT_NE(text.find("a word to its users"), std::string::npos) << text.substr(0, 200);
}

TEST(RunJson, IsReadBackFromItsTwoFiles) {
    const RunReport run = sampleRun();
    auto read = app::readRun(app::renderResults(run), app::renderTimings(run));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(app::renderResults(*read), app::renderResults(run));
    EXPECT_EQ(app::renderTimings(*read), app::renderTimings(run));
    EXPECT_EQ(read->exitCode, 10);
}

/// Files are named after ids, so one that is a path would be written and read anywhere.
TEST(RunJson, AnIdThatIsNoNameOfAFileIsRefused) {
    for (const char* id : {"../../evil", "/evil", "a/b", "..", ".hidden", "-o", "", "a\nb"}) {
        RunReport run = sampleRun();
        run.models[0].id = id;
        auto read = app::readRun(app::renderResults(run), "");
        ASSERT_FALSE(read) << id;
        EXPECT_EQ(read.error().code, "report.field") << id;
    }
    for (const char* id : {"net-1.0", "x-model-2", "_.hidden", "net.onnx"}) // net.onnx.onnx
        EXPECT_TRUE(app::isModelId(id)) << id;
}

TEST(RunJson, TimesAreInTimingsOnly) {
    RunReport slow = sampleRun();
    slow.models[0].report->after.measured->median = 1;
    slow.models[0].report->agreement[0].maxAbsolute = 1e-5;
    slow.models[0].seconds = 100;
    slow.gates[1].verdict = GateRow::Verdict::Fail;
    slow.reasons.push_back("time:time");
    EXPECT_EQ(app::renderResults(slow), app::renderResults(sampleRun()));
    EXPECT_NE(app::renderTimings(slow), app::renderTimings(sampleRun()));
}

TEST(RunReport, TheWorstReasonDecidesTheExitCode) {
    EXPECT_EQ(app::exitCodeOf({}), 0);
    EXPECT_EQ(app::exitCodeOf({"partial:a", "device:b"}), 5);
    EXPECT_EQ(app::exitCodeOf({"limit:a", "device:b"}), 6);
    EXPECT_EQ(app::exitCodeOf({"limit:a", "time:b"}), 1);
    EXPECT_EQ(app::exitCodeOf({"gate:a", "verify:b"}), 4);
    EXPECT_EQ(app::exitCodeOf({"verify:a", "input:b"}), 3);
    EXPECT_EQ(app::exitCodeOf({"usage:a", "input:b", "internal:c"}), 10);
}

TEST(RunReport, IdsOfModelsAreFitForFileNames) {
    EXPECT_EQ(app::modelId("a/b/resnet50.onnx"), "resnet50");
    EXPECT_EQ(app::modelId("../.onnx"), "_");
    EXPECT_EQ(app::modelId("x/a b;c.onnx"), "a_b_c");
    EXPECT_EQ(app::modelId("-rf.onnx"), "_-rf");
}

TEST(Markdown, TheVerdictComesFirst) {
    const std::string text = app::renderMarkdown(sampleRun());
    EXPECT_EQ(text.find("**FAILED: 1 of 2 models ran, 2 gates, 1 fail, 1 ambiguous**"), 0U) << text;
}

TEST(Markdown, IsCutToItsLimitAndSaysSo) {
    RunReport run = sampleRun();
    for (int i = 0; i < 3000; ++i) {
        run.models.push_back(run.models[0]);
        run.models.back().id = "net" + std::to_string(i);
    }
    const std::string text = app::renderMarkdown(run);
    EXPECT_LE(text.size(), app::markdownLimit);
    EXPECT_GT(text.size(), app::markdownLimit / 2);
    EXPECT_NE(text.find("more entries are in results.json"), std::string::npos);
}

TEST(Markdown, NamesCannotBreakTheTable) {
    const std::string text = app::renderMarkdown(sampleRun());
    EXPECT_EQ(text.find("<b>"), std::string::npos);
    EXPECT_EQ(text.find("](x)"), std::string::npos);
    EXPECT_EQ(text.find("@e"), std::string::npos);
}

TEST(JUnit, IsReadByARealParser) {
    testing_support::TemporaryFolder folder;
    folder.write("r.xml", app::renderJUnit(sampleRun()));
    auto ran = testing_support::runProcess(
        {"python3", "-c",
         "import sys,xml.etree.ElementTree as e\n"
         "r=e.parse(sys.argv[1]).getroot()\n"
         "s=r.findall('testsuite')\n"
         "print(r.tag,len(s),[x.get('tests') for x in s],len(r.findall('.//failure')),"
         "len(r.findall('.//error')),len(r.findall('.//skipped')),r.get('tests'))",
         folder.file("r.xml")});
    if (!ran || ran->exitCode == 127)
        GTEST_SKIP() << "python3 is not at hand";
    EXPECT_EQ(ran->exitCode, 0) << ran->errors;
    EXPECT_EQ(ran->output, "testsuites 2 ['5', '1'] 1 1 1 6\n");
}

TEST(Sarif, HasTheStructureOfItsStandard) {
    const std::string text = app::renderSarif(sampleRun());
    std::string errors;
    for (const std::string& error :
         testing_support::schemaErrors(json::parse(text), REPORT_TEST_DATA, "sarif.json"))
        errors += error + "\n";
    EXPECT_EQ(errors, "");
}

TEST(Sarif, NearMissesPointAtTheLineOfTheirRule) {
    json sarif = json::parse(app::renderSarif(sampleRun()));
    const json* miss = nullptr;
    for (const json& result : sarif["runs"][0]["results"])
        if (result["ruleId"] == "M0305")
            miss = &result;
    ASSERT_NE(miss, nullptr);
    const json& place = (*miss)["locations"][0]["physicalLocation"];
    EXPECT_EQ(place["artifactLocation"]["uri"], "my%20rules/other.fuse");
    EXPECT_EQ(place["region"]["startLine"], 7);
}

TEST(Sarif, FingerprintsOutliveRenumbering) {
    RunReport renumbered = sampleRun();
    renumbered.models[0].report->nearMisses[0].anchor = "Softmax_77";
    auto prints = [](const RunReport& run) {
        std::vector<json> out;
        json sarif = json::parse(app::renderSarif(run));
        for (const json& result : sarif["runs"][0]["results"])
            out.push_back(result["partialFingerprints"]);
        return out;
    };
    EXPECT_EQ(prints(renumbered), prints(sampleRun()));
    renumbered.models[0].report->nearMisses[0].rule = "Another";
    EXPECT_NE(prints(renumbered), prints(sampleRun()));
}

TEST(Sarif, IsCutToItsLimitAndCountsTheRest) {
    RunReport run = sampleRun();
    auto& misses = run.models[0].report->nearMisses;
    misses.resize(10, misses[0]);
    json sarif = json::parse(app::renderSarif(run, 6));
    const json& results = sarif["runs"][0]["results"];
    ASSERT_EQ(results.size(), 6U);
    EXPECT_EQ(results[0]["ruleId"], "gate.launches"); // failures are never cut off
    EXPECT_EQ(results[5]["ruleId"], "report.limit");
    EXPECT_EQ(results[5]["message"]["text"], "9 more results are in results.json");
}

TEST(Csv, QuotesNamesAndHasOneRowAKernel) {
    const std::string text = app::renderKernelsCsv(sampleRun());
    EXPECT_EQ(text.rfind("model,side,kernel,", 0), 0U);
    EXPECT_NE(text.find("\"\"c\"\""), std::string::npos);
    EXPECT_EQ(occurrences(text, "\r\n"), 1U + 5U);
    EXPECT_EQ(occurrences(app::renderMatchesCsv(sampleRun()), "\r\n"), 2U);
    EXPECT_EQ(occurrences(app::renderGatesCsv(sampleRun()), "\r\n"), 3U);
    // A table program must not compute a limit.
    EXPECT_NE(app::renderGatesCsv(sampleRun()).find("\"'+0\""), std::string::npos);
    RunReport run = sampleRun();
    run.gates[0].model.clear(); // a gate that is of no model
    run.gates[0].baseValue = 1234567.5;
    const std::string gates = app::renderGatesCsv(run);
    EXPECT_NE(gates.find("\r\n,launches,launches,1,2,\"'+0\",fail,,1234567.5,\r\n"),
              std::string::npos)
        << gates;
}

TEST(ChromeTrace, KernelsFollowEachOtherOnTheirSide) {
    json trace = json::parse(app::renderChromeTrace(sampleRun()));
    double end = 0;
    size_t kernels = 0;
    for (const json& event : trace["traceEvents"])
        if (event["ph"] == "X" && event["tid"] == 1) {
            EXPECT_NEAR(event["ts"].get<double>(), end, 1e-6);
            end = event["ts"].get<double>() + event["dur"].get<double>();
            ++kernels;
        }
    EXPECT_EQ(kernels, 3U);
    EXPECT_NEAR(end, 3 * 1e6 / 3e5, 1e-6);
}

TEST(StructureHash, KnowsWiringAndNotNames) {
    app::Report report = sampleReport();
    const std::string hash = app::structureHash(report);
    report.before.graph.nodes[0].name = "Other";
    report.before.graph.values[0].name = "other";
    EXPECT_EQ(app::structureHash(report), hash);
    report.before.graph.nodes[0].attributes[0].second = "2";
    EXPECT_NE(app::structureHash(report), hash);
}
