// SPDX-License-Identifier: Apache-2.0
// Charts as lists of primitives: rectangles, lines, paths and texts with tokens for colours. One
// painter writes them as SVG, another paints them on a screen. Units are logical pixels.
#pragma once

#include "app/pipeline/report.h"

#include <string>
#include <vector>

namespace fuselage::chart {

struct Primitive {
    enum class Kind : uint8_t { Rect, Line, Path, Text };
    enum class Anchor : uint8_t { Start, Middle, End };

    Kind kind = Kind::Rect;
    std::string token;
    std::string id;    ///< of the thing it stands for, "n:NODE" or "rule:NAME"; may be empty
    std::string title; ///< tooltip
    double x = 0, y = 0, w = 0, h = 0;             ///< of a Line: to (x + w, y + h)
    std::vector<std::pair<double, double>> points; ///< of a Path
    bool closed = false, dashed = false, arrow = false;
    std::string text;
    double size = 11;
    bool bold = false;
    Anchor anchor = Anchor::Start;
};

struct Chart {
    std::string title, description; ///< the description says in words what is seen
    double width = 0, height = 0;
    std::vector<Primitive> primitives;
};

/// Logical bytes that the fused nodes of each rule saved, from the traffic before to that after.
Chart trafficWaterfall(const app::Report& report);

/// Before and after as bars: logical, L2 and DRAM traffic apart, launches, peak memory, time.
Chart beforeAfterBars(const app::Report& report);

/// Kernels one after the other on two lanes, before and after, to one scale of time.
Chart timelineLanes(const app::Report& report);

/// Scopes of the names of nodes, each below the one that it is in and as wide as it takes time
/// before fusion.
Chart scopesByTime(const app::Report& report);

/// FLOP/s over FLOP/byte with the roof of the device profile; an arrow leads from the nodes that
/// were fused to the fused node, for those that took longest.
Chart roofline(const app::Report& report);

} // namespace fuselage::chart
