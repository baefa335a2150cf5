// SPDX-License-Identifier: Apache-2.0
#include "app/report/chart/canvas_internal.h"

#include <cmath>

namespace fuselage::chart {

Primitive& Canvas::rect(double x, double y, double w, double h, std::string token) {
    Primitive& p = chart.primitives.emplace_back();
    p.kind = Primitive::Kind::Rect;
    p.token = std::move(token);
    p.x = x, p.y = y, p.w = w, p.h = h;
    return p;
}

Primitive& Canvas::line(double x, double y, double x2, double y2, std::string token) {
    Primitive& p = rect(x, y, x2 - x, y2 - y, std::move(token));
    p.kind = Primitive::Kind::Line;
    return p;
}

Primitive& Canvas::text(double x, double y, std::string text, std::string token, Anchor anchor) {
    Primitive& p = rect(x, y, 0, 0, std::move(token));
    p.kind = Primitive::Kind::Text;
    p.text = std::move(text);
    p.anchor = anchor;
    return p;
}

std::vector<double> roundTicks(double most, int count) {
    if (!(most > 0))
        return {0};
    double raw = most / count, power = std::pow(10, std::floor(std::log10(raw)));
    double step = power * (raw / power <= 1 ? 1 : raw / power <= 2 ? 2 : raw / power <= 5 ? 5 : 10);
    std::vector<double> out{0};
    while (out.back() < most)
        out.push_back(out.back() + step);
    return out;
}

void horizontalAxis(Canvas& canvas, const std::vector<double>& ticks, double top, double bottom,
                    const std::function<double(double)>& place,
                    const std::function<std::string(double)>& print) {
    for (double tick : ticks) {
        canvas.line(place(tick), top, place(tick), bottom, "grid");
        canvas.text(place(tick), bottom + 14, print(tick), "text.dim", Anchor::Middle);
    }
    canvas.line(place(ticks.front()), bottom, place(ticks.back()), bottom, "axis");
}

} // namespace fuselage::chart
