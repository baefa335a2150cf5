// SPDX-License-Identifier: Apache-2.0
// What the charts share: adding primitives in one line, and axes with round numbers.
#pragma once

#include "app/report/chart/chart.h"

#include <functional>
#include <vector>

namespace fuselage::chart {

using Anchor = Primitive::Anchor;

class Canvas {
public:
    Canvas(std::string title, double width, double height) {
        chart.title = std::move(title);
        chart.width = width;
        chart.height = height;
    }

    Primitive& rect(double x, double y, double w, double h, std::string token);
    Primitive& line(double x, double y, double x2, double y2, std::string token);
    Primitive& text(double x, double y, std::string text, std::string token = "text",
                    Anchor anchor = Anchor::Start);

    Chart chart;
};

/// About `count` round numbers from 0 up to at least `most`: 0, 50, 100.
std::vector<double> roundTicks(double most, int count);

/// A horizontal axis with grid lines: `place` maps a value to x.
void horizontalAxis(Canvas& canvas, const std::vector<double>& ticks, double top, double bottom,
                    const std::function<double(double)>& place,
                    const std::function<std::string(double)>& print);

} // namespace fuselage::chart
