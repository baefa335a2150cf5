// SPDX-License-Identifier: Apache-2.0
// Charts as SVG: one element a primitive.
#include "app/report/escape.h"
#include "app/report/svg.h"

#include <fmt/format.h>

#include <cmath>

namespace fuselage::app {

namespace {

using chart::Primitive;

/// ".f-TOKEN" fills, ".p-TOKEN" strokes (svgStyle).
std::string className(char kind, std::string token) {
    for (char& c : token)
        c = c == '.' ? '-' : c;
    return std::string(1, kind) + "-" + token;
}

std::string title(const Primitive& p) {
    return p.title.empty() ? "" : "<title>" + escaped(p.title) + "</title>";
}

std::string id(const Primitive& p) {
    return p.id.empty() ? "" : " data-id=\"" + escaped(p.id) + "\"";
}

std::string arrowHead(const Primitive& p) {
    double length = std::hypot(p.w, p.h);
    if (!p.arrow || length < 1)
        return {};
    double ux = p.w / length, uy = p.h / length, x = p.x + p.w, y = p.y + p.h;
    return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f} {:.1f} {:.1f}z\"/>",
                       className('f', p.token), x, y, x - 7 * ux - 3 * uy, y - 7 * uy + 3 * ux,
                       x - 7 * ux + 3 * uy, y - 7 * uy - 3 * ux);
}

std::string elementOf(const Primitive& p) {
    switch (p.kind) {
    case Primitive::Kind::Rect:
        return fmt::format("<rect class=\"{}\"{} x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
                           "height=\"{:.1f}\">{}</rect>",
                           className('f', p.token), id(p), p.x, p.y, p.w, p.h, title(p));
    case Primitive::Kind::Line:
        return fmt::format("<path class=\"{}\"{} d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"{}>{}</path>{}",
                           className('p', p.token), id(p), p.x, p.y, p.x + p.w, p.y + p.h,
                           p.dashed ? " stroke-dasharray=\"4 3\"" : "", title(p), arrowHead(p));
    case Primitive::Kind::Path: {
        std::string d;
        for (auto [x, y] : p.points)
            d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : "L", x, y);
        return fmt::format("<path class=\"{}\" fill=\"none\" stroke-width=\"2\"{} d=\"{}\">{}"
                           "</path>",
                           className('p', p.token), id(p), d + (p.closed ? "z" : ""), title(p));
    }
    case Primitive::Kind::Text: {
        constexpr const char* anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
        return fmt::format("<text class=\"{}\"{} x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>",
                           className('f', p.token), id(p), p.x, p.y,
                           anchors[static_cast<size_t>(p.anchor)],
                           p.bold ? " font-weight=\"600\"" : "", escaped(p.text));
    }
    }
    return {};
}

} // namespace

std::string svgElements(const chart::Chart& chart, double x, double y) {
    std::string out = fmt::format("<g transform=\"translate({:.0f} {:.0f})\">\n", x, y);
    for (const Primitive& p : chart.primitives)
        out += elementOf(p) + "\n";
    return out + "</g>\n";
}

std::string svgDocument(const chart::Chart& chart) {
    return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" "
                       "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n"
                       "<title>{2}</title><desc>{3}</desc>\n<style>\n{4}</style>\n"
                       "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n{5}</svg>\n",
                       chart.width, chart.height, escaped(chart.title), escaped(chart.description),
                       svgStyle(""), svgElements(chart, 0, 0));
}

} // namespace fuselage::app
