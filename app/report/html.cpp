// SPDX-License-Identifier: Apache-2.0
#include "app/report/html.h"

#include "app/report/chart/chart.h"
#include "app/report/escape.h"
#include "app/report/format.h"
#include "app/report/html_internal.h"
#include "app/report/report_scene.h"
#include "app/report/resource.h"
#include "app/report/svg.h"
#include "app/report/theme.h"
#include "app/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

/// "--rule-3:#dbeafe;" for every token.
std::string variables(const Theme& theme) {
    std::string out;
    for (const auto& [token, color] : theme.colors) {
        std::string name = token;
        std::replace(name.begin(), name.end(), '.', '-');
        out += "--" + name + ":" + color + ";";
    }
    return out;
}

std::string styleText() {
    return ":root{" + variables(lightTheme()) + "}\n@media (prefers-color-scheme:dark){:root{" +
           variables(darkTheme()) + "}}\n:root[data-theme=light]{color-scheme:light;" +
           variables(lightTheme()) + "}\n:root[data-theme=dark]{color-scheme:dark;" +
           variables(darkTheme()) + "}\n" + std::string(resource("report/page.css")) +
           svgPageStyle(".drawing ");
}

std::string card(const std::string& name, const std::string& before, const std::string& after,
                 const std::string& kind) {
    return fmt::format(
        "<div class=\"card\"><small>{}</small><b>{} → {}</b><small>{}</small></div>\n",
        escaped(name), escaped(before), escaped(after), escaped(kind));
}

std::string cards(const Report& r) {
    const SideReport &b = r.before, &a = r.after;
    const RunFigures ranBefore = b.asRun(), ranAfter = a.asRun();
    std::string out = "<div class=\"cards\">\n";
    out += card("launches", std::to_string(ranBefore.launches), std::to_string(ranAfter.launches),
                "exact");
    out += card("logical traffic", bytesText(ranBefore.logicalBytes),
                bytesText(ranAfter.logicalBytes), "exact");
    out += card("DRAM traffic", bytesText(b.traffic.dram), bytesText(a.traffic.dram), "predicted");
    if (b.measured && a.measured)
        out += card("time", secondsText(b.measured->median), secondsText(a.measured->median),
                    "measured, median");
    else
        out += card("time", secondsText(b.predictedSeconds), secondsText(a.predictedSeconds),
                    "predicted, not measured");
    return out + "</div>\n";
}

std::string staticSide(const scene::Scene& drawn, scene::Side side) {
    bool before = side == scene::Before;
    return fmt::format(
        "<h3>{0}</h3>\n<svg class=\"drawing\" role=\"img\" aria-label=\"the graph {0}\" "
        "width=\"{1:.0f}\" height=\"{2:.0f}\" viewBox=\"0 0 {1:.0f} {2:.0f}\">\n{3}</svg>\n",
        before ? "before" : "after", drawn.rect.w, drawn.rect.h,
        svgElements(drawn, side, 0, 0, before ? "p" : "q"));
}

std::string legend(const scene::Scene& drawn) {
    std::string out = "<ul class=\"legend\" aria-label=\"rules\">\n";
    for (const scene::LegendRow& row : drawn.legend)
        out += fmt::format("<li><span class=\"chip\" style=\"background:var(--{0});border-color:"
                           "var(--{0}-line)\">{1}</span> {2} × {3}</li>\n",
                           row.token, escaped(row.letter),
                           escaped(row.rule.empty() ? "rewritten" : row.rule), row.count);
    return out + "</ul>\n";
}

std::string drawing(const scene::Scene& drawn) {
    return R"(<section id="drawing"><h2>Before and after</h2>
<div class="tools" role="toolbar" aria-label="drawing">
<input type="search" id="query" placeholder="search: op:conv rule:bn shape:64x us&gt;10" aria-label="search nodes">
<small id="found" role="status"></small>
<button id="blocks" aria-pressed="true" type="button">Blocks</button>
<button id="all" aria-pressed="false" type="button">All nodes</button>
<button id="fit" type="button">Fit width</button><button id="fitAll" type="button">Fit all</button>
<label>Colour by <select id="overlay"><option value="rule">rule</option><option value="time">time</option>
<option value="bytes">bytes</option><option value="dtype">precision</option><option value="error">error</option></select></label>
<label for="step">Step</label><input type="range" id="step" min="0" value="0"><output id="stepText" for="step"></output>
</div>
)" + legend(drawn) +
           R"(<div class="view">
<div class="pane"><canvas id="before" tabindex="0" role="img" aria-label="graph before fusion; the tables below hold the same"></canvas><h3>before</h3></div>
<div class="pane"><canvas id="after" tabindex="0" role="img" aria-label="graph after fusion; the tables below hold the same"></canvas><h3>after</h3></div>
<div class="inspector" id="inspector" aria-live="polite"></div>
</div>
<div class="static">
)" + staticSide(drawn, scene::Before) +
           staticSide(drawn, scene::After) + "</div>\n</section>\n";
}

std::string chartFigure(const chart::Chart& chart) {
    return fmt::format("<figure style=\"margin:0\"><h3>{0}</h3><svg class=\"drawing\" role=\"img\" "
                       "aria-label=\"{1}\" viewBox=\"0 0 {2:.0f} {3:.0f}\" width=\"{2:.0f}\">\n"
                       "{4}</svg></figure>\n",
                       escaped(chart.title), escaped(chart.description), chart.width, chart.height,
                       svgElements(chart, 0, 0));
}

/// What a person called the file; many exporters call all graphs alike.
std::string fileNameOf(const Report& report) {
    const std::string& path = report.model.path;
    const size_t slash = path.find_last_of("/\\");
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string header(const Report& report, const std::string& name) {
    std::string out = "<header><h1>" + escaped(name);
    if (!report.model.name.empty() && report.model.name != name)
        out += " <small>" + escaped(report.model.name) + "</small>";
    out += "</h1>\n<nav aria-label=\"sections\">";
    for (const char* section :
         {"drawing", "numbers", "charts", "fused", "kernels-section", "missed"})
        out += fmt::format("<a href=\"#{0}\">{1}</a>", section,
                           std::string(section) == "kernels-section" ? "kernels" : section);
    out += "<button id=\"theme\" class=\"tools\" type=\"button\">Dark</button></nav>\n";
    out += "<p class=\"verdict\">" + verdictLine(report) + "</p>\n";
    // Of a report that was only analysed the profile is all there is.
    const std::string ran = report.machine.backend.empty()
                                ? std::string("nothing was run")
                                : report.machine.cpu + ", backend " + report.machine.backend;
    out +=
        fmt::format("<p class=\"dim\">{}; {}</p>\n", escaped(ran), escaped(predictionText(report)));
    for (const std::string& note : report.model.notes)
        out += "<p class=\"note\">note: " + escaped(note) + "</p>\n";
    return out + "</header>\n";
}

std::string charts(const Report& report) {
    std::string out = "<section id=\"charts\"><h2>Charts</h2><div class=\"charts\">\n";
    out += chartFigure(chart::trafficWaterfall(report));
    out += chartFigure(chart::beforeAfterBars(report));
    out += chartFigure(chart::roofline(report));
    return out + "</div>\n" + chartFigure(chart::timelineLanes(report)) + "</section>\n";
}

} // namespace

std::string renderHtml(const Report& report) {
    scene::Scene collapsed = sceneOf(report, {});
    scene::Options everything;
    everything.collapse = scene::Options::Collapse::Nothing;
    scene::Scene open = sceneOf(report, everything);
    const std::string file = fileNameOf(report);
    const std::string& name = file.empty() ? report.model.name : file;
    std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      "<title>" +
                      escaped(name) + ": fusion report</title>\n<style>\n" + styleText() +
                      "</style>\n</head>\n<body>\n";
    out += header(report, name) + "<main>\n" + cards(report) + drawing(collapsed);
    out += "<section id=\"numbers\"><h2>Numbers</h2>\n" + rulesTable(report, open) +
           "<h3>Before and after</h3>\n" + sidesTable(report) + bodiesTable(report) +
           "</section>\n";
    out += charts(report);
    out += "<section id=\"fused\"><h2>Fused nodes</h2>\n" + matchesTable(report, open) +
           splitsTable(report) + sweepsTable(report) +
           "</section>\n<section id=\"kernels-section\"><h2>Kernels after</h2>\n" +
           kernelsTable(report) + "</section>\n" + quantisedSection(report) +
           "<section id=\"missed\"><h2>What did not fuse</h2>\n" + missesTable(report) +
           "</section>\n</main>\n";
    out += "<footer>One file, no network. It holds names, shapes and figures of the model, no "
           "weights.</footer>\n<div class=\"tip\" id=\"tip\" role=\"tooltip\"></div>\n";
    out += "<script type=\"application/json\" id=\"data\">" +
           escapedForScript(pageData(report, collapsed, open)) + "</script>\n<script>\n";
    for (const char* script :
         {"report/units.js", "report/query.js", "report/tables.js", "report/page.js"})
        out += std::string(resource(script));
    return out + "</script>\n</body>\n</html>\n";
}

} // namespace fuselage::app
