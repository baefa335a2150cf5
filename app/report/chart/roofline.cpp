// SPDX-License-Identifier: Apache-2.0
// Roofline on logarithmic axes: intensity in FLOP per logical byte, FLOP per second. Nodes without
// FLOPs (copies, pooling by maximum) have no place on it.
#include "app/report/chart/canvas_internal.h"
#include "app/report/counted.h"
#include "app/report/format.h"

#include <algorithm>
#include <cmath>

namespace fuselage::chart {

namespace {

constexpr double width = 720, height = 360, left = 76, right = 20, top = 14, bottom = 44;
constexpr size_t arrowsShown = 24;

struct Point {
    double intensity, speed;
};

struct Arrow {
    Point from, to;
    const app::MatchReport* match;
    double seconds;
};

bool drawable(const Point& p) {
    return p.intensity > 0 && p.speed > 0 && std::isfinite(p.intensity) && std::isfinite(p.speed);
}

std::vector<Arrow> arrowsOf(const app::Report& report) {
    std::vector<Arrow> arrows;
    for (const app::MatchReport& match : report.matches) {
        double before = match.measuredBefore.value_or(match.secondsBefore);
        double after = match.measuredAfter.value_or(match.secondsAfter);
        auto flops = static_cast<double>(match.flops);
        Arrow arrow{{flops / static_cast<double>(match.bytesBefore), flops / before},
                    {flops / static_cast<double>(match.bytesAfter), flops / after},
                    &match,
                    before};
        if (drawable(arrow.from) && drawable(arrow.to))
            arrows.push_back(arrow);
    }
    std::stable_sort(arrows.begin(), arrows.end(),
                     [](const Arrow& a, const Arrow& b) { return a.seconds > b.seconds; });
    arrows.resize(std::min(arrows.size(), arrowsShown));
    return arrows;
}

/// Whole powers of ten around the values.
struct Range {
    double low = 1e300, high = 0;

    void include(double v) {
        low = std::min(low, v);
        high = std::max(high, v);
    }

    void round() {
        low = std::pow(10, std::floor(std::log10(low)));
        high = std::pow(10, std::ceil(std::log10(high)));
        if (high <= low)
            high = low * 10;
    }

    double share(double v) const { return std::log10(v / low) / std::log10(high / low); }
};

/// ", DRAM: 1.2 MB measured, 1.1 MB predicted", where all kernels of the fused node were counted.
std::string countedDram(const app::Report& report, const std::string& node) {
    int64_t measured = 0, predicted = 0;
    for (const app::KernelReport& kernel : report.after.kernels)
        if (kernel.node == node) {
            const auto dram = app::dramCounted(kernel);
            if (!dram)
                return {};
            measured += *dram;
            predicted += kernel.traffic.dram;
        }
    return measured == 0 ? ""
                         : ", DRAM: " + app::bytesText(measured) + " measured, " +
                               app::bytesText(predicted) + " predicted";
}

std::string powerText(double v, const char* unit) {
    return v >= 1 && v < 1e4 ? std::to_string(static_cast<int64_t>(v)) + unit
                             : "10^" + std::to_string(std::lround(std::log10(v))) + unit;
}

} // namespace

Chart roofline(const app::Report& report) {
    Canvas canvas("Roofline", width, height);
    const app::MachineReport& machine = report.machine;
    canvas.chart.description = "each arrow leads from the nodes that were fused to the fused node";
    std::vector<Arrow> arrows = arrowsOf(report);
    if (arrows.empty() || machine.dramBandwidth <= 0 || machine.peakFlops <= 0) {
        canvas.text(left, 40, "no fused node with floating-point work to show", "text.dim");
        return std::move(canvas.chart);
    }
    double ridge = machine.peakFlops / machine.dramBandwidth;
    Range x, y;
    x.include(ridge);
    y.include(machine.peakFlops);
    for (const Arrow& arrow : arrows)
        for (const Point& p : {arrow.from, arrow.to}) {
            x.include(p.intensity);
            y.include(p.speed);
        }
    x.round();
    y.round();
    auto px = [&](double v) { return left + x.share(v) * (width - left - right); };
    auto py = [&](double v) { return height - bottom - y.share(v) * (height - top - bottom); };
    for (double v = x.low; v <= x.high * 1.01; v *= 10) {
        canvas.line(px(v), top, px(v), height - bottom, "grid");
        canvas.text(px(v), height - bottom + 16, powerText(v, ""), "text.dim", Anchor::Middle);
    }
    for (double v = y.low; v <= y.high * 1.01; v *= 10) {
        canvas.line(left, py(v), width - right, py(v), "grid");
        canvas.text(left - 8, py(v) + 4, powerText(v, ""), "text.dim", Anchor::End);
    }
    canvas.text((left + width - right) / 2, height - 10, "FLOP per logical byte", "text.dim",
                Anchor::Middle);
    canvas.text(left + 6, top + 12, "FLOP/s", "text.dim");
    auto roof = [&](double bandwidth, const char* name) {
        double edge = machine.peakFlops / bandwidth;
        double start = std::max(x.low, y.low / bandwidth);
        if (bandwidth <= 0 || edge <= start || edge > x.high)
            return;
        Primitive& line = canvas.line(0, 0, 0, 0, "series.roof");
        line.kind = Primitive::Kind::Path;
        line.points = {{px(start), py(start * bandwidth)},
                       {px(edge), py(machine.peakFlops)},
                       {px(x.high), py(machine.peakFlops)}};
        line.title =
            machine.profileTitle + ": " + name + " bandwidth and peak of " + report.precision.name;
        canvas.text(px(start) + 8, py(start * bandwidth) - 12, name, "text.dim");
    };
    roof(machine.dramBandwidth, "DRAM");
    roof(machine.l2Bandwidth, "L2");
    for (const Arrow& arrow : arrows) {
        Primitive& line = canvas.line(px(arrow.from.intensity), py(arrow.from.speed),
                                      px(arrow.to.intensity), py(arrow.to.speed), "accent");
        line.arrow = true;
        line.id = "n:" + arrow.match->fusedNode;
        line.title = arrow.match->fusedNode + countedDram(report, arrow.match->fusedNode);
        canvas.rect(px(arrow.from.intensity) - 2, py(arrow.from.speed) - 2, 4, 4, "series.before")
            .title = arrow.match->fusedNode + " before";
    }
    return std::move(canvas.chart);
}

} // namespace fuselage::chart
