// SPDX-License-Identifier: Apache-2.0
#include "app/report/scene/scene_json.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace fuselage::scene {

namespace {

using nlohmann::ordered_json;

double tenth(double value) {
    return std::round(value * 10) / 10 + 0.0; // no negative zero
}

ordered_json rectJson(const Rect& r) {
    return {tenth(r.x), tenth(r.y), tenth(r.w), tenth(r.h)};
}

const char* sidesText(uint8_t sides) {
    return sides == Both ? "both" : sides == Before ? "before" : "after";
}

ordered_json containerJson(const Container& c) {
    constexpr const char* kinds[] = {"scope", "slice", "group"};
    ordered_json out{{"id", c.id},
                     {"kind", kinds[static_cast<size_t>(c.kind)]},
                     {"sides", sidesText(c.sides)},
                     {"rect", rectJson(c.rect)},
                     {"label", c.label},
                     {"token", c.token},
                     {"nodes", {c.nodes[0], c.nodes[1]}}};
    if (c.collapsed)
        out["collapsed"] = true;
    if (c.block != none)
        out["instance"] = {c.block, c.instance};
    return out;
}

ordered_json boxJson(const Box& b) {
    constexpr const char* kinds[] = {"node", "fused", "collapsed", "input", "output"};
    ordered_json out{{"id", b.id},
                     {"kind", kinds[static_cast<size_t>(b.kind)]},
                     {"sides", sidesText(b.sides)},
                     {"rect", rectJson(b.rect)},
                     {"token", b.token},
                     {"title", b.title},
                     {"lines", b.lines}};
    for (const Badge& badge : b.badges)
        out["badges"].push_back({badge.text, badge.token});
    return out;
}

ordered_json edgeJson(const Scene& scene, const Edge& e) {
    ordered_json out{{"from", scene.boxes[e.from].id},
                     {"to", scene.boxes[e.to].id},
                     {"sides", sidesText(e.sides)},
                     {"width", e.width},
                     {"bytes", e.bytes},
                     {"label", e.label}};
    if (!e.stored.empty())
        out["stored"] = {e.stored, rectJson(e.storedAt)};
    if (e.tunnel) {
        out["tunnel"] = true;
        return out;
    }
    for (const Point& p : e.points)
        out["points"].push_back({tenth(p.x), tenth(p.y)});
    return out;
}

template <typename Rows, typename Function>
void section(std::string& out, const char* name, const Rows& rows, Function function) {
    out += std::string(out.empty() ? "{\n" : ",\n") + "\"" + name + "\": [";
    bool first = true;
    for (const auto& row : rows) {
        out += first ? "\n" : ",\n";
        first = false;
        out += function(row).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    }
    out += "]";
}

} // namespace

std::string toJson(const Scene& scene) {
    std::string out;
    section(out, "containers", scene.containers, containerJson);
    section(out, "boxes", scene.boxes, boxJson);
    section(out, "edges", scene.edges, [&](const Edge& e) { return edgeJson(scene, e); });
    section(out, "stubs", scene.stubs, [&](const Stub& s) {
        return ordered_json{{"box", scene.boxes[s.box].id},
                            {"sides", sidesText(s.sides)},
                            {"label", s.label},
                            {"edges", s.edges.size()},
                            {"rect", rectJson(s.rect)}};
    });
    section(out, "groups", scene.groups, [](const Group& g) {
        return ordered_json{{"badge", g.badge},     {"rule", g.rule}, {"fused", g.fused},
                            {"members", g.members}, {"made", g.made}, {"token", g.token}};
    });
    return out + "}\n";
}

} // namespace fuselage::scene
