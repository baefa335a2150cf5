// SPDX-License-Identifier: Apache-2.0
// Bytes that hardware counters saw, in every format: beside the predicted ones where there are any,
// and no trace of them where there are none.
#include "app/report/csv.h"
#include "app/report/html.h"
#include "app/report/json.h"
#include "app/report/json_read.h"
#include "app/report/measured.h"
#include "app/report/run_report.h"
#include "app/report/text.h"
#include "tests/support/json_schema.h"
#include "tests/unit/report_sample.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace fuselage;
using nlohmann::json;
using report_test::sampleReport;

/// The first kernel and the fused side were counted, the second kernel's DRAM was not.
app::Report countedReport() {
    app::Report out = sampleReport();
    out.machine.counters = "bytes counted by CUPTI 130001 on GH100, 1 pass";
    out.after.kernels[0].measuredTraffic = MeasuredTraffic{7'100'000, 1'200'000, 9'300'000};
    out.after.kernels[1].measuredTraffic = MeasuredTraffic{{}, {}, 4'400'000};
    out.after.measuredTraffic = MeasuredTraffic{{}, {}, 13'700'000};
    return out;
}

bool has(const std::string& text, const std::string& piece) {
    return text.find(piece) != std::string::npos;
}

TEST(ReportCounters, GoThroughJsonAndFitItsSchema) {
    const std::string written = app::renderJson(countedReport());
    for (const std::string& error : testing_support::schemaErrors(
             json::parse(written), FUSELAGE_SCHEMAS, "report.schema.json"))
        ADD_FAILURE() << error;
    auto read = app::readJson(written);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(app::renderJson(*read), written);
    EXPECT_EQ(read->after.kernels[0].measuredTraffic->dram(), 8'300'000);
    EXPECT_EQ(read->after.measuredTraffic->l2, 13'700'000);
    const json kernels = json::parse(written)["timings"]["kernels"];
    EXPECT_FALSE(kernels[1]["measured_traffic"].contains("dram_read")) << "never a zero";
}

TEST(ReportCounters, AReportWithoutThemHasNoTraceOfThem) {
    const std::string written = app::renderJson(sampleReport());
    EXPECT_FALSE(has(written, "measured_traffic"));
    EXPECT_FALSE(has(written, "\"counters\""));
    auto read = app::readJson(written);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_FALSE(read->after.kernels[0].measuredTraffic);
    EXPECT_FALSE(has(app::renderText(sampleReport()), "traffic, measured"));
    EXPECT_FALSE(has(app::renderText(sampleReport()), "counted"));
    EXPECT_FALSE(has(app::renderHtml(sampleReport()), "DRAM, measured"));
}

TEST(ReportCounters, TheTextSaysWhatWasCountedAndWhatWasNot) {
    const std::string text = app::renderText(countedReport());
    EXPECT_TRUE(has(text, "bytes counted by CUPTI 130001 on GH100, 1 pass")) << text;
    EXPECT_TRUE(has(text, "L2 traffic, measured")) << text;
    EXPECT_FALSE(has(text, "DRAM traffic, measured")) << "one kernel has none";
    EXPECT_TRUE(has(text, "8.30 MB")) << text;
    EXPECT_TRUE(has(text, "4.40 MB")) << text;
    EXPECT_TRUE(has(text, "not measured")) << text;
}

TEST(ReportCounters, ThePageHasColumnsForThem) {
    const std::string page = app::renderHtml(countedReport());
    for (const char* piece : {"DRAM, measured", "L2, measured", "8.30 MB", "L2 traffic, measured"})
        EXPECT_TRUE(has(page, piece)) << piece;
}

TEST(ReportCounters, CompiledKernelsAreSaidToBeCompiledAndNotMeasured) {
    app::Report report = sampleReport();
    for (app::KernelReport& kernel : report.after.kernels) {
        kernel.facts = KernelFacts{72, 49152, 8, 1, 0, "compiled", 4, 0.25};
        kernel.measuredSeconds.reset();
        kernel.inSitu.reset();
    }
    const std::string text = app::renderText(report);
    EXPECT_TRUE(has(text, "the same kernels compiled, not measured")) << text;
    EXPECT_TRUE(has(text, "72      8 B  49.2 kB       4       25 %")) << text;
    EXPECT_FALSE(has(text, "the same kernels on the device")) << text;
    EXPECT_TRUE(has(app::renderHtml(report), "registers, compiled"));
    const std::string written = app::renderJson(report);
    for (const std::string& error : testing_support::schemaErrors(
             json::parse(written), FUSELAGE_SCHEMAS, "report.schema.json"))
        ADD_FAILURE() << error;
    auto read = app::readJson(written);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->after.kernels[0].facts->residentBlocks, 4U);
    EXPECT_EQ(app::renderJson(*read), written);
}

TEST(ReportCounters, CsvLeavesOutWhatWasNotCounted) {
    const std::string rows = app::renderKernelsCsv(app::runOf(countedReport()));
    EXPECT_TRUE(has(rows, "dram_read_measured,dram_written_measured,l2_measured\r\n"));
    EXPECT_TRUE(has(rows, ",7100000,1200000,9300000\r\n")) << rows;
    EXPECT_TRUE(has(rows, ",,,4400000\r\n")) << rows;
}

TEST(ReportCounters, AMeasurementBringsThemAlong) {
    app::Report analysed = sampleReport();
    ASSERT_TRUE(app::addMeasurements(analysed, app::renderJson(countedReport())));
    EXPECT_EQ(analysed.after.kernels[0].measuredTraffic->dramWritten, 1'200'000);
    EXPECT_EQ(analysed.after.measuredTraffic->l2, 13'700'000);
    ASSERT_TRUE(app::addMeasurements(analysed, app::renderJson(sampleReport())));
    EXPECT_FALSE(analysed.after.kernels[0].measuredTraffic) << "the next one did not count";
}

} // namespace
