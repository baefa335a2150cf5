// SPDX-License-Identifier: Apache-2.0
// SVG, HTML and charts of a report: hostile names, sizes, colours that exist, equal bytes.
#include "app/report/escape.h"
#include "app/report/html.h"
#include "app/report/report_scene.h"
#include "app/report/svg.h"
#include "app/report/theme.h"
#include "tests/unit/scene_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

using namespace fuselage;
using namespace fuselage::app;
using scene_test::Pair;
using scene_test::residualNetwork;

namespace {

const std::string hostile = "</script><img src=x onerror=alert(1)>\"'&\x01\xFF\xE2\x80\xA8";

Report reportOf(Pair pair) {
    Report report;
    report.model.name = "test";
    report.before.graph = std::move(pair.before);
    report.after.graph = std::move(pair.after);
    report.before.launches = report.before.graph.nodes.size();
    report.after.launches = report.after.graph.nodes.size();
    report.before.traffic.logicalRead = 4'000'000;
    report.after.traffic.logicalRead = 1'000'000;
    report.machine.dramBandwidth = 1e11;
    report.machine.peakFlops = 1e12;
    for (const GraphNodeReport& node : report.after.graph.nodes) {
        MatchReport match;
        match.fusedNode = node.name;
        match.rule = node.rule;
        match.file = node.file;
        match.nodes = node.sources;
        match.bindings = {{"x", {"value"}}};
        match.bytesBefore = 1000;
        match.bytesAfter = 500;
        match.flops = 100'000;
        match.secondsBefore = 2e-6;
        match.secondsAfter = 1e-6;
        report.matches.push_back(match);
        StepReport step;
        step.rule = node.rule;
        step.nodes = node.sources;
        step.made = {node.name};
        report.steps.push_back(step);
        KernelReport kernel;
        kernel.node = kernel.name = node.name;
        kernel.rule = node.rule;
        kernel.sources = node.sources;
        kernel.kind = "Contraction";
        kernel.predictedSeconds = 1e-6;
        report.after.kernels.push_back(kernel);
    }
    report.rules = {{"ConvBNReLU", "test.fuse", 1, 2, 0, 4, 3'000'000}};
    return report;
}

/// Every text that a model or a rule brings is the hostile one.
Report hostileReport() {
    Report report = reportOf(residualNetwork(3));
    report.model.name = report.model.path = report.machine.cpu = hostile;
    report.machine.profileTitle = report.machine.backend = hostile;
    for (GraphReport* graph : {&report.before.graph, &report.after.graph}) {
        for (GraphValueReport& value : graph->values) {
            value.name += hostile;
            value.type = value.dtype = value.literal = hostile;
        }
        for (GraphNodeReport& node : graph->nodes) {
            node.op += hostile;
            node.rule += node.rule.empty() ? "" : hostile;
            node.file += hostile;
        }
    }
    for (MatchReport& match : report.matches) {
        match.rule += hostile;
        match.labels = {hostile};
        match.bindings = {{hostile, {hostile}}};
    }
    for (KernelReport& kernel : report.after.kernels)
        kernel.rule = kernel.kind = kernel.tactic = kernel.limiter = hostile;
    report.rules[0].rule = report.rules[0].file = hostile;
    report.nearMisses = {{hostile, hostile, hostile, 1, 2, {hostile, hostile, hostile, {}}}};
    report.agreement = {{hostile, hostile, 0, 0, 1, true}};
    return report;
}

size_t occurrences(const std::string& text, const std::string& piece) {
    size_t count = 0;
    for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
        ++count;
    return count;
}

TEST(ReportPage, TheHeadingIsTheFileAndThenWhatTheGraphIsCalled) {
    Report report = reportOf(residualNetwork(1));
    report.model.name = "Model from PaddlePaddle.";
    report.model.path = "/models/det.v4.onnx";
    const std::string page = renderHtml(report);
    EXPECT_NE(page.find("<h1>det.v4.onnx <small>Model from PaddlePaddle.</small></h1>"),
              std::string::npos);
    EXPECT_NE(page.find("<title>det.v4.onnx: fusion report</title>"), std::string::npos);
    report.model.path.clear();
    EXPECT_NE(renderHtml(report).find("<h1>Model from PaddlePaddle.</h1>"), std::string::npos);
}

TEST(ReportPage, HostileNamesStayText) {
    std::string page = renderHtml(hostileReport());
    EXPECT_EQ(page.find("<img"), std::string::npos);
    EXPECT_EQ(occurrences(page, "</script>"), 2U); // the data's and the script's own
    EXPECT_EQ(page.find('\x01'), std::string::npos);
    EXPECT_EQ(page.find('\xFF'), std::string::npos);
    EXPECT_NE(page.find("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"), std::string::npos);
    EXPECT_NE(page.find("\\u003cimg src=x onerror"), std::string::npos);
    std::string svg = renderSvg(hostileReport());
    EXPECT_EQ(svg.find("<img"), std::string::npos);
    EXPECT_EQ(svg.find("<script"), std::string::npos);
}

TEST(ReportPage, NothingIsLoadedFromElsewhere) {
    std::string page = renderHtml(reportOf(residualNetwork(3)));
    EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
    for (const char* word : {"http:", "https:", "<link", "src=", "@import", "url("})
        EXPECT_EQ(page.find(word), std::string::npos) << word;
}

TEST(ReportPage, EqualReportsGiveEqualBytes) {
    Pair pair = residualNetwork(5);
    Pair other{scene_test::shuffled(pair.before, 7), pair.after};
    Report a = reportOf(pair), b = reportOf(other);
    EXPECT_EQ(renderSvg(a), renderSvg(b));
    EXPECT_EQ(renderHtml(a), renderHtml(b));
}

TEST(ReportPage, FiveThousandNodesStayBelowThreeMegabytes) {
    Report report = reportOf(residualNetwork(715));
    ASSERT_GE(report.before.graph.nodes.size(), 5000U);
    size_t size = renderHtml(report).size();
    printf("5,005 nodes: %.2f MB of HTML\n", static_cast<double>(size) / 1e6);
    EXPECT_LT(size, 3'000'000U);
}

TEST(ReportPage, SvgTakesLittleRoomForANode) {
    Report report = reportOf(residualNetwork(143));
    scene::Options open;
    open.collapse = scene::Options::Collapse::Nothing;
    std::string svg = svgDocument(sceneOf(report, open), scene::Before);
    printf("1,001 nodes: %.0f kB of SVG\n", static_cast<double>(svg.size()) / 1e3);
    // The frames of 286 groups and 180 scopes included.
    EXPECT_LT(svg.size(), 270'000U);
}

TEST(ReportPage, EveryTokenHasAColourInBothThemes) {
    EXPECT_EQ(lightTheme().colors.size(), darkTheme().colors.size());
    for (const auto& [token, color] : lightTheme().colors) {
        EXPECT_TRUE(darkTheme().colors.contains(token)) << token;
        EXPECT_TRUE(std::regex_match(color, std::regex("#[0-9a-f]{6}"))) << token;
    }
    scene::Scene drawn = sceneOf(reportOf(residualNetwork(6)), {});
    for (const scene::Box& box : drawn.boxes) {
        EXPECT_TRUE(lightTheme().colors.contains(box.token + ".line")) << box.token;
        EXPECT_TRUE(lightTheme().colors.contains(box.fill)) << box.fill;
    }
}

TEST(ReportPage, ChartsSayWhatTheyShow) {
    Report report = reportOf(residualNetwork(3));
    for (const chart::Chart& chart :
         {chart::trafficWaterfall(report), chart::beforeAfterBars(report),
          chart::timelineLanes(report), chart::roofline(report)}) {
        EXPECT_FALSE(chart.title.empty());
        EXPECT_FALSE(chart.description.empty()) << chart.title;
        EXPECT_GT(chart.primitives.size(), 5U) << chart.title;
        for (const chart::Primitive& p : chart.primitives) {
            EXPECT_TRUE(lightTheme().colors.contains(p.token)) << chart.title << " " << p.token;
            EXPECT_TRUE(p.x >= -1 && p.x <= chart.width + 1 && p.y >= -1 && p.y <= chart.height + 1)
                << chart.title << " " << p.text << p.x << " " << p.y;
        }
    }
    EXPECT_NE(svgDocument(chart::roofline(report)).find("data-id=\"n:ConvBNReLU_0\""),
              std::string::npos);
}

TEST(ReportPage, AnEmptyReportIsAPage) {
    EXPECT_NE(renderHtml({}).find("</html>"), std::string::npos);
    EXPECT_NE(renderSvg({}).find("</svg>"), std::string::npos);
}

TEST(Escape, KeepsWellFormedTextAndReplacesTheRest) {
    EXPECT_EQ(escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
    EXPECT_EQ(escaped("é → 漢 😀"), "é → 漢 😀");
    EXPECT_EQ(escaped(std::string("\0", 1)), "\xEF\xBF\xBD");
    EXPECT_EQ(escaped("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD"); // an overlong slash
    EXPECT_EQ(escaped("\xED\xA0\x80").find('\xED'), std::string::npos);
    EXPECT_EQ(escapedForScript("\"</script>\xE2\x80\xA9&\""),
              "\"\\u003c/script\\u003e\\u2029\\u0026\"");
}

} // namespace

namespace {

/// Of WCAG: 0 black, 1 white.
double luminance(const std::string& colour) {
    const double weights[] = {0.2126, 0.7152, 0.0722};
    double out = 0;
    for (size_t i = 0; i < 3; ++i) {
        const double c = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
        out += weights[i] * (c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
    }
    return out;
}

double contrastOf(const std::string& a, const std::string& b) {
    const double first = luminance(a), second = luminance(b);
    return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

} // namespace

TEST(Theme, TextIsReadableOnItsGrounds) {
    constexpr double readable = 4.5; // WCAG AA
    for (const Theme* theme : {&lightTheme(), &darkTheme()}) {
        std::vector<std::pair<std::string, std::string>> pairs{{"accent.text", "accent"}};
        for (const auto& [token, colour] : theme->colors) {
            const bool isText = token == "text" || token == "gain" || token == "loss" ||
                                token == "accent" || token.ends_with(".dim") ||
                                token.ends_with(".text") || token.starts_with("code.");
            if (isText && token != "accent.text")
                for (const char* ground : {"background", "surface"})
                    pairs.emplace_back(token, ground);
        }
        for (const char* token : {"text", "text.dim", "gain", "loss"})
            pairs.emplace_back(token, "block");
        EXPECT_GT(pairs.size(), 50U);
        for (const auto& [token, ground] : pairs)
            EXPECT_GE(contrastOf(theme->color(token), theme->color(ground)), readable)
                << theme->name << ": " << token << " on " << ground;
    }
}
