// SPDX-License-Identifier: Apache-2.0
#include "app/report/svg.h"

#include "app/report/escape.h"
#include "app/report/format.h"
#include "app/report/scene/text_size.h"
#include "app/report/theme.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace fuselage::app {

namespace {

using scene::Box;
using scene::Rect;
using scene::Scene;

/// Class names: tokens with a dash instead of the dot, "rule-3" is short since it is frequent.
std::string classOf(const std::string& token) {
    return token.rfind("rule-", 0) == 0 ? "r" + token.substr(5) : token;
}

/// At most one digit behind the point, no "-0".
std::string number(double value) {
    double rounded = std::round(value * 10) / 10;
    if (rounded == std::round(rounded))
        return std::to_string(static_cast<int64_t>(rounded));
    return fmt::format("{:.1f}", rounded);
}

std::string rectPath(const Rect& r) {
    return fmt::format("M{} {}h{}v{}h-{}z", number(r.x), number(r.y), number(r.w), number(r.h),
                       number(r.w));
}

class SceneWriter {
public:
    SceneWriter(const Scene& scene, scene::Side side, std::string prefix)
        : m_scene(scene), m_side(side), m_prefix(std::move(prefix)) {}

    std::string run() {
        for (uint32_t c = 0; c < m_scene.containers.size(); ++c)
            if (shown(m_scene.containers[c].sides) && !m_scene.containers[c].collapsed)
                container(c);
        for (const scene::Edge& e : m_scene.edges)
            if (shown(e.sides) && !e.tunnel)
                edge(e);
        for (uint32_t b = 0; b < m_scene.boxes.size(); ++b)
            if (shown(m_scene.boxes[b].sides))
                box(b);
        for (const scene::Stub& s : m_scene.stubs)
            if (shown(s.sides))
                stub(s);
        return std::move(m_out);
    }

private:
    bool shown(uint8_t sides) const { return (sides & m_side) != 0; }

    void container(uint32_t index);
    void edge(const scene::Edge& e);
    void box(uint32_t index);
    void stub(const scene::Stub& s);
    void badge(const std::string& text, const std::string& token, double x, double y);

    const Scene& m_scene;
    scene::Side m_side;
    std::string m_prefix;
    std::string m_out;
};

void SceneWriter::badge(const std::string& text, const std::string& token, double x, double y) {
    double width = scene::badgeWidth(text);
    m_out += fmt::format("<path class=\"g {}\" d=\"{}\"/><text class=\"s {}\" x=\"{}\" y=\"{}\">{}"
                         "</text>",
                         classOf(token), rectPath({x, y, width, 15}), classOf(token), number(x + 5),
                         number(y + 11), escaped(text));
}

void SceneWriter::container(uint32_t index) {
    const scene::Container& c = m_scene.containers[index];
    bool group = c.kind == scene::Container::Kind::Group;
    m_out += fmt::format("<path id=\"{}c{}\" class=\"{} {}\" d=\"{}\"/>", m_prefix, index,
                         group ? "h" : "c", classOf(c.token), rectPath(c.rect));
    if (group)
        badge(c.label, c.token, c.rect.x + 4, c.rect.y + 3);
    else
        m_out += fmt::format("<text class=\"l\" x=\"{}\" y=\"{}\">{}</text>", number(c.rect.x + 8),
                             number(c.rect.y + 15), escaped(c.label));
    m_out += "\n";
}

void SceneWriter::edge(const scene::Edge& e) {
    std::string d = fmt::format("M{} {}", number(e.points[0].x), number(e.points[0].y));
    for (size_t i = 1; i < e.points.size(); ++i) {
        const scene::Point &a = e.points[i - 1], &b = e.points[i];
        double middle = (a.y + b.y) / 2;
        if (std::abs(a.x - b.x) < 0.5)
            d += "V" + number(b.y);
        else
            d += fmt::format("C{} {} {} {} {} {}", number(a.x), number(middle), number(b.x),
                             number(middle), number(b.x), number(b.y));
    }
    m_out += fmt::format("<path class=\"e w{}\" d=\"{}\"/>\n", e.width, d);
}

void SceneWriter::box(uint32_t index) {
    const Box& b = m_scene.boxes[index];
    double x = b.rect.x + 10;
    double y = scene::textTop(b) + 18;
    m_out +=
        fmt::format("<path id=\"{}b{}\" class=\"{}{}{}\" d=\"{}\"><title>{}</title></path>",
                    m_prefix, index, classOf(b.token), b.fill == b.token ? "" : " m",
                    b.kind == Box::Kind::Collapsed ? " k" : "", rectPath(b.rect), escaped(b.name));
    std::string color = b.token.rfind("rule-", 0) == 0 ? " " + classOf(b.token) : "";
    m_out += fmt::format("<text class=\"t{}\" x=\"{}\" y=\"{}\">{}", color, number(x), number(y),
                         escaped(b.title));
    for (const std::string& line : b.lines)
        m_out += fmt::format("<tspan class=\"s\" x=\"{}\" dy=\"14\">{}</tspan>", number(x),
                             escaped(line));
    m_out += "</text>";
    bool beside = scene::badgeBeside(b.badges);
    double bx = x, by = y + 14 * static_cast<double>(b.lines.size()) + 5;
    for (const scene::Badge& each : b.badges) {
        double width = scene::badgeWidth(each.text);
        if (beside)
            badge(each.text, each.token, b.rect.right() - width - 5, b.rect.y + 5);
        else
            badge(each.text, each.token, bx, by);
        bx += width + 4;
    }
    m_out += "\n";
}

void SceneWriter::stub(const scene::Stub& s) {
    const Rect& r = s.rect;
    const Rect& b = m_scene.boxes[s.box].rect;
    double y = r.y + r.h / 2;
    m_out += fmt::format("<path class=\"u\" d=\"M{} {}H{}\"/><path class=\"g tunnel\" d=\"{}\"/>"
                         "<text class=\"s\" x=\"{}\" y=\"{}\">{}</text>\n",
                         number(s.outgoing ? b.right() : r.right()), number(y),
                         number(s.outgoing ? r.x : b.x), rectPath(r), number(r.x + 5),
                         number(r.y + 11), escaped(s.label));
}

using ColorOf = std::function<std::string(const std::string&)>;

/// Rules of one theme, or with variables: what `color` says for each token of `theme`.
std::string colorRules(const Theme& theme, const std::string& scope, const ColorOf& color) {
    std::string out;
    auto rule = [&](const std::string& selector, const std::string& body) {
        out += scope + selector + "{" + body + "}\n";
    };
    rule(".bg", "fill:" + color("background"));
    rule("text", "fill:" + color("text"));
    rule(".s", "fill:" + color("text.dim"));
    rule(".l", "fill:" + color("container.text"));
    rule(".e", "stroke:" + color("edge"));
    rule(".u", "stroke:" + color("tunnel.line"));
    for (const auto& [token, fill] : theme.colors) {
        if (token.find('.') != std::string::npos || !theme.colors.contains(token + ".line"))
            continue;
        std::string name = classOf(token);
        rule("path." + name, "fill:" + color(token) + ";stroke:" + color(token + ".line"));
        rule("path." + name + ".m", "fill:" + color("node"));
        if (theme.colors.contains(token + ".text") && token != "container")
            rule("text." + name, "fill:" + color(token + ".text"));
    }
    for (const char* token : {"gain", "loss", "accent", "axis", "grid", "text", "text.dim",
                              "series.before", "series.after", "series.roof"}) {
        std::string name(token);
        for (char& c : name)
            c = c == '.' ? '-' : c;
        rule(".f-" + name, "fill:" + color(token));
        rule(".p-" + name, "stroke:" + color(token));
    }
    for (size_t i = 0; i < 12; ++i)
        rule(fmt::format(".f-rule-{}", i), "fill:" + color(fmt::format("rule-{}.line", i)));
    return out;
}

/// Rules that no theme changes.
std::string formRules(const std::string& scope) {
    std::string out;
    auto rule = [&](const std::string& selector, const std::string& body) {
        out += scope + selector + "{" + body + "}\n";
    };
    rule("text", "font:11px system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif");
    rule(".t", "font-size:13px;font-weight:600");
    rule(".s", "font-size:11px;font-weight:400");
    rule(".l", "font-size:11px;font-weight:600");
    rule(".e", "fill:none");
    rule(".u", "fill:none;stroke-dasharray:3 2");
    rule(".k", "stroke-width:1.5;stroke-dasharray:none");
    rule(".h", "fill-opacity:.45;stroke-dasharray:4 3");
    rule(".g", "stroke-width:.7");
    for (int width = 1; width <= 5; ++width)
        rule(fmt::format(".w{}", width), fmt::format("stroke-width:{}", 0.6 + 0.7 * width));
    return out;
}

} // namespace

std::string svgStyle(const std::string& scope) {
    auto colors = [&](const Theme& theme) {
        return colorRules(theme, scope, [&](const std::string& t) { return theme.color(t); });
    };
    return formRules(scope) + colors(lightTheme()) + "@media (prefers-color-scheme:dark){\n" +
           colors(darkTheme()) + "}\n";
}

std::string svgPageStyle(const std::string& scope) {
    auto variable = [](std::string token) {
        std::replace(token.begin(), token.end(), '.', '-');
        return "var(--" + token + ")";
    };
    return formRules(scope) + colorRules(lightTheme(), scope, variable);
}

std::string svgElements(const Scene& scene, scene::Side side, double x, double y,
                        const std::string& idPrefix) {
    return fmt::format("<g transform=\"translate({} {})\">\n", number(x), number(y)) +
           SceneWriter(scene, side, idPrefix).run() + "</g>\n";
}

std::string svgDocument(const Scene& scene, scene::Side side) {
    return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                       "viewBox=\"0 0 {0} {1}\">\n<style>\n{2}</style>\n<rect class=\"bg\" "
                       "width=\"100%\" height=\"100%\"/>\n{3}</svg>\n",
                       number(scene.rect.w), number(scene.rect.h), svgStyle(""),
                       svgElements(scene, side, 0, 0, ""));
}

} // namespace fuselage::app
