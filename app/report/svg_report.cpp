// SPDX-License-Identifier: Apache-2.0
// The document that `--report x.svg` writes: one model before and after, side by side.
#include "app/report/escape.h"
#include "app/report/format.h"
#include "app/report/report_scene.h"
#include "app/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::app {

namespace {

constexpr double margin = 24;
constexpr double headHeight = 96;
constexpr double legendRow = 22;
constexpr double legendColumn = 250;

std::string textAt(double x, double y, const std::string& classes, const std::string& text) {
    return fmt::format("<text class=\"{}\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", classes, x, y,
                       escaped(text));
}

std::string sideLine(const SideReport& side) {
    return fmt::format("{} nodes, {} launches, {} logical traffic", side.nodes, side.launches,
                       bytesText(side.traffic.logical()));
}

std::string legendGroup(const scene::Scene& scene, double width, double y, double& height) {
    std::string out;
    auto columns = std::max<size_t>(1, static_cast<size_t>((width - 2 * margin) / legendColumn));
    for (size_t i = 0; i < scene.legend.size(); ++i) {
        const scene::LegendRow& row = scene.legend[i];
        double x = margin + legendColumn * static_cast<double>(i % columns);
        double top = y + legendRow * static_cast<double>(i / columns);
        std::string token = "r" + row.token.substr(5);
        out +=
            fmt::format("<path class=\"g {}\" d=\"M{:.0f} {:.0f}h28v16h-28z\"/>\n", token, x, top);
        out += textAt(x + 6, top + 12, "s " + token, row.letter);
        out +=
            textAt(x + 36, top + 12, "s",
                   (row.rule.empty() ? "rewritten" : row.rule) + " × " + std::to_string(row.count));
    }
    height = legendRow *
             std::ceil(static_cast<double>(scene.legend.size()) / static_cast<double>(columns));
    return out;
}

} // namespace

std::string renderSvg(const Report& report) {
    scene::Scene drawn = sceneOf(report, {});
    double width = std::max(2 * drawn.rect.w + 3 * margin, 760.0);
    double half = (width - margin) / 2;
    double legendHeight = 0;
    std::string rows = legendGroup(drawn, width, headHeight - 6, legendHeight);
    double top = headHeight + legendHeight + 8;
    double height = top + drawn.rect.h + margin;
    const SideReport &b = report.before, &a = report.after;
    double change = b.traffic.logical() > 0 ? static_cast<double>(a.traffic.logical()) /
                                                      static_cast<double>(b.traffic.logical()) -
                                                  1
                                            : 0;
    std::string name = report.model.name.empty() ? report.model.path : report.model.name;
    std::string out = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" "
                                  "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\">\n",
                                  width, height);
    out += "<title>" + escaped(name) + ": before and after fusion</title>\n<style>\n" +
           svgStyle("") + "</style>\n<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n";
    out += textAt(margin, 30, "t", name);
    out += textAt(margin, 48, "s",
                  fmt::format("launches {} → {}, logical traffic {} → {} ({})", b.launches,
                              a.launches, bytesText(b.traffic.logical()),
                              bytesText(a.traffic.logical()), percentText(change)));
    out += textAt(margin, 76, "t", "before");
    out += textAt(margin + 60, 76, "s", sideLine(b));
    out += textAt(half + margin, 76, "t", "after");
    out += textAt(half + margin + 60, 76, "s", sideLine(a));
    out += rows;
    out += svgElements(drawn, scene::Before, (half - drawn.rect.w) / 2, top, "p");
    out += svgElements(drawn, scene::After, half + (half - drawn.rect.w) / 2, top, "q");
    return out + "</svg>\n";
}

} // namespace fuselage::app
