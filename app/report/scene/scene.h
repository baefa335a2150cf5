// SPDX-License-Identifier: Apache-2.0
// What is drawn: boxes, containers, edges, tunnels, with ids, texts, tokens of colours and places.
// One Scene holds both sides of a fusion on the same places; a painter shows the things of a side.
// Plain data; units are logical pixels, y grows downwards. See README.md of app/report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fuselage::scene {

/// Bits: the side, or sides, on which a thing is shown.
enum Side : uint8_t { Before = 1, After = 2, Both = 3 };

struct Point {
    double x = 0, y = 0;
};

struct Rect {
    double x = 0, y = 0, w = 0, h = 0;

    double right() const { return x + w; }

    double bottom() const { return y + h; }

    Point centre() const { return {x + w / 2, y + h / 2}; }

    bool contains(Point p) const { return p.x >= x && p.x < right() && p.y >= y && p.y < bottom(); }
};

constexpr uint32_t none = 0xffffffffU; ///< an index that names nothing

/// A module scope, a slice of a long level, or the members of a fused or rewritten group.
struct Container {
    enum class Kind : uint8_t { Scope, Slice, Group };

    std::string id; ///< "c:" and the path of labels: stable between builds
    std::string label;
    Kind kind = Kind::Scope;
    uint8_t sides = Both;
    uint32_t parent = none;
    uint32_t depth = 0;
    uint32_t group = none;      ///< of a Group
    uint32_t block = none;      ///< containers of one block are alike in everything but names
    uint32_t instance = 0;      ///< of its block, from 0
    uint32_t nodes[2] = {0, 0}; ///< before, after
    bool collapsed = false;     ///< drawn as one box, nothing inside is in the scene
    Rect rect;
    std::string token;
};

struct Badge {
    std::string text;
    std::string token;
};

/// Figures of a box for overlays and queries; negative: not known.
struct Figures {
    double bytes = -1;   ///< logical
    double seconds = -1; ///< measured, else predicted
    double error = -1;   ///< of a fused node and the nodes it replaced, relative; verified
    bool measured = false;
    uint32_t launches = 0;
    std::string kernel; ///< kind of program and tactic
};

struct Box {
    enum class Kind : uint8_t { Node, Fused, Collapsed, Input, Output };

    std::string id; ///< "n:" and the node's name, or the container's id: stable between builds
    Kind kind = Kind::Node;
    uint8_t sides = Both;
    uint32_t container = none; ///< around it; of a Collapsed box: the container it stands for
    uint32_t group = none;
    Rect rect;
    std::string title;
    std::vector<std::string> lines; ///< below the title, smaller
    std::vector<Badge> badges;
    std::string token; ///< "TOKEN.line" is its outline, "TOKEN.text" its text
    std::string fill;  ///< token of the fill: its own, or "node" for members of a group
    std::string name, op, type, dtype; ///< of the node: for tooltips and queries
    std::string inside;                ///< the open fused node that it is in; mostly empty
    std::vector<std::string> sources;  ///< of what is inside: the nodes before that it is
    Figures figures;
};

/// Token of the badges that say how a value is stored.
constexpr const char* storedToken = "constant";

/// One badge of a rule stands right of the title; others stand in a row below the lines.
inline bool badgeBeside(const std::vector<Badge>& badges) {
    return badges.size() == 1 && badges[0].token != "constant";
}

/// Where the text of a box begins: at its top, or in the middle of a box with room to spare.
inline double textTop(const Box& box) {
    double content = 29 + 14 * static_cast<double>(box.lines.size());
    return box.kind == Box::Kind::Fused && box.rect.h > content + 24
               ? box.rect.y + (box.rect.h - content) / 2
               : box.rect.y;
}

struct Edge {
    uint32_t from = none, to = none; ///< boxes
    uint8_t sides = Both;
    uint8_t width = 1;         ///< 1..5, by the logarithm of the bytes
    double bytes = -1;         ///< of all values along it
    uint32_t values = 1;       ///< how many values
    std::string label;         ///< type of the first value
    std::string value;         ///< its name
    bool tunnel = false;       ///< drawn as two stubs; the whole curve only on demand
    std::vector<Point> points; ///< joined by cubics that start and end vertically
    std::string stored = {};   ///< how its value is quantised: "int8 ±1.5 ×0.0118"
    Rect storedAt = {};        ///< where that is written: a badge above the reader
};

/// An end of edges that are not drawn: a short labelled stub beside a box.
struct Stub {
    uint32_t box = none;
    uint8_t sides = Both;
    bool outgoing = false;
    std::string label;
    std::vector<uint32_t> edges;
    Rect rect;
};

/// Nodes before that became nodes after, by one rule.
struct Group {
    std::string badge; ///< "A12": letter of the rule, number of the group
    std::string rule, file;
    uint32_t line = 0;
    bool fused = true;                ///< false: rewritten
    std::string open;                 ///< the fused node whose body is shown in its place
    std::vector<std::string> members; ///< names before
    std::vector<std::string> made;    ///< names after
    std::string token;
};

/// A node inside of a shut container, and the box that stands for it.
struct Hidden {
    std::string name;
    uint8_t sides = Both;
    uint32_t box = none;
};

struct LegendRow {
    std::string letter, rule, token;
    uint32_t count = 0;
};

struct Scene {
    Rect rect; ///< of everything
    std::vector<Container> containers;
    std::vector<Box> boxes;
    std::vector<Edge> edges;
    std::vector<Stub> stubs;
    std::vector<Group> groups;
    std::vector<LegendRow> legend;
    std::vector<Hidden> hidden;
};

/// How much of a thing is drawn at a zoom: painters must agree.
enum class Detail : uint8_t {
    Blocks, ///< containers and boxes as plain areas, no edges below 0.05
    Boxes,  ///< boxes with outlines and straight edges, no text
    Titles, ///< and titles
    Full,   ///< everything
};

constexpr Detail detailAt(double zoom) {
    if (zoom < 0.12)
        return Detail::Blocks;
    if (zoom < 0.35)
        return Detail::Boxes;
    return zoom < 0.6 ? Detail::Titles : Detail::Full;
}

} // namespace fuselage::scene
