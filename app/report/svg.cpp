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
#include <map>

namespace fuselage::app {

namespace {

using scene::Box;
using scene::Rect;
using scene::Scene;

/// Class names: tokens with a dash instead of the dot, "rule-3" is short since it is frequent.
std::string classOf(const std::string& token) {
    return token.rfind("rule-", 0) == 0 ? "r" + token.substr(5) : token;
}

int64_t whole(double value) {
    return std::llround(value);
}

/// Whole pixels: half the size, and lines are sharp.
std::string number(double value) {
    return std::to_string(whole(value));
}

/// A number after a command or another number: a minus sign parts as well as a space.
void append(std::string& path, int64_t value, bool first) {
    if (!first && value >= 0)
        path += ' ';
    path += std::to_string(value);
}

/// Joined by cubics that start and end vertically; relative, which is shorter.
std::string edgePath(const scene::Edge& edge) {
    int64_t x = whole(edge.points[0].x), y = whole(edge.points[0].y);
    std::string out = "M";
    append(out, x, true);
    append(out, y, false);
    for (size_t i = 1; i < edge.points.size(); ++i) {
        const int64_t dx = whole(edge.points[i].x) - x, dy = whole(edge.points[i].y) - y;
        if (dx == 0) {
            out += "v" + std::to_string(dy);
        } else {
            bool first = true;
            out += 'c';
            for (int64_t each : {int64_t{0}, dy / 2, dx, dy / 2, dx, dy}) {
                append(out, each, first);
                first = false;
            }
        }
        x += dx;
        y += dy;
    }
    return out;
}

std::string rectPath(const Rect& r) {
    int64_t w = whole(r.x + r.w) - whole(r.x), h = whole(r.y + r.h) - whole(r.y);
    return fmt::format("M{} {}h{}v{}h-{}z", number(r.x), number(r.y), w, h, w);
}

class SceneWriter {
public:
    SceneWriter(const Scene& scene, scene::Side side, std::string prefix)
        : m_scene(scene), m_side(side), m_prefix(std::move(prefix)) {}

    std::string run() {
        for (uint32_t c = 0; c < m_scene.containers.size(); ++c)
            if (shown(m_scene.containers[c].sides) && !m_scene.containers[c].collapsed)
                container(c);
        edges();
        for (uint32_t b = 0; b < m_scene.boxes.size(); ++b)
            if (shown(m_scene.boxes[b].sides))
                box(b);
        for (const scene::Stub& s : m_scene.stubs)
            if (shown(s.sides))
                stub(s);
        for (const scene::Edge& e : m_scene.edges)
            if (shown(e.sides) && !e.stored.empty()) {
                badge(e.stored, scene::storedToken, e.storedAt.x, e.storedAt.y);
                m_out += "\n";
            }
        return std::move(m_out);
    }

private:
    bool shown(uint8_t sides) const { return (sides & m_side) != 0; }

    void container(uint32_t index);
    void edges();
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

/// All of one width are one element.
void SceneWriter::edges() {
    std::map<uint32_t, std::string> byWidth;
    for (const scene::Edge& e : m_scene.edges)
        if (shown(e.sides) && !e.tunnel)
            byWidth[e.width] += edgePath(e);
    for (const auto& [width, d] : byWidth)
        m_out += fmt::format("<path class=\"e w{}\" d=\"{}\"/>\n", width, d);
}

void SceneWriter::box(uint32_t index) {
    const Box& b = m_scene.boxes[index];
    double x = b.rect.x + 10;
    double y = scene::textTop(b) + 18;
    m_out += fmt::format("<path id=\"{}b{}\" class=\"{}{}{}\" d=\"{}\"", m_prefix, index,
                         classOf(b.token), b.fill == b.token ? "" : " m",
                         b.kind == Box::Kind::Collapsed ? " k" : "", rectPath(b.rect));
    m_out += b.name.empty() || b.name == b.title ? "/>"
                                                 : "><title>" + escaped(b.name) + "</title></path>";
    std::string color =
        b.token.rfind("rule-", 0) == 0 ? fmt::format(" class=\"{}\"", classOf(b.token)) : "";
    m_out +=
        fmt::format("<text{} x=\"{}\" y=\"{}\">{}", color, number(x), number(y), escaped(b.title));
    for (const std::string& line : b.lines)
        m_out += fmt::format("<tspan x=\"{}\" dy=\"14\">{}</tspan>", number(x), escaped(line));
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
    rule("tspan", "fill:" + color("text.dim"));
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
    // Of a scene: what is most frequent needs no class.
    rule(".d text", "font-size:13px;font-weight:600");
    rule(".d tspan", "font-size:11px;font-weight:400");
    rule(".d .s", "font-size:11px;font-weight:400");
    rule(".d .l", "font-size:11px;font-weight:600");
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
    return fmt::format("<g class=\"d\" transform=\"translate({} {})\">\n", number(x), number(y)) +
           SceneWriter(scene, side, idPrefix).run() + "</g>\n";
}

std::string svgDocument(const Scene& scene, scene::Side side) {
    return svgDocument(scene, side, {0, 0, scene.rect.w, scene.rect.h}, 1);
}

std::string svgDocument(const Scene& scene, scene::Side side, const scene::Rect& area,
                        double zoom) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
        "viewBox=\"{x} {y} {w} {h}\">\n<style>\n{}</style>\n<rect class=\"bg\" "
        "{place}width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
        number(area.w * zoom), number(area.h * zoom), svgStyle(""),
        svgElements(scene, side, 0, 0, ""), fmt::arg("x", number(area.x)),
        fmt::arg("y", number(area.y)), fmt::arg("w", number(area.w)), fmt::arg("h", number(area.h)),
        fmt::arg("place", area.x == 0 && area.y == 0
                              ? std::string()
                              : fmt::format("x=\"{}\" y=\"{}\" ", number(area.x), number(area.y))));
}

} // namespace fuselage::app
