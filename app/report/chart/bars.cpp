// SPDX-License-Identifier: Apache-2.0
// Before and after as pairs of bars; each pair has a scale of its own, since units differ.
#include "app/report/chart/canvas_internal.h"
#include "app/report/counted.h"
#include "app/report/format.h"

#include <algorithm>
#include <functional>

namespace fuselage::chart {

namespace {

constexpr double width = 720, left = 190, right = 190, pairHeight = 44;

struct Pair {
    std::string label;
    double before, after;
    std::function<std::string(double)> print;
};

} // namespace

Chart beforeAfterBars(const app::Report& report) {
    const app::SideReport &b = report.before, &a = report.after;
    const app::RunFigures ranBefore = b.asRun(), ranAfter = a.asRun();
    auto bytes = [](double v) { return app::bytesText(static_cast<int64_t>(v)); };
    auto count = [](double v) { return app::countText(static_cast<int64_t>(v)); };
    auto number = [](auto v) { return static_cast<double>(v); };
    std::vector<Pair> pairs{
        {"launches", number(ranBefore.launches), number(ranAfter.launches), count},
        {"logical traffic", number(ranBefore.logicalBytes), number(ranAfter.logicalBytes), bytes},
        {"L2 traffic, predicted", number(b.traffic.l2), number(a.traffic.l2), bytes},
        {"DRAM traffic, predicted", number(b.traffic.dram), number(a.traffic.dram), bytes},
        {"peak memory", number(ranBefore.peakBytes), number(ranAfter.peakBytes), bytes},
        {"time, predicted", b.predictedSeconds, a.predictedSeconds, app::secondsText}};
    for (const app::MeasuredRow& row : app::measuredTraffic(b, a))
        if (row.before && row.after)
            pairs.push_back({row.name, number(*row.before), number(*row.after), bytes});
    if (b.measured && a.measured)
        pairs.push_back(
            {"time, measured", b.measured->median, a.measured->median, app::secondsText});
    Canvas canvas("Before and after", width, 8 + pairHeight * number(pairs.size()));
    canvas.chart.description = "pairs of bars, before above after, each pair with its own scale";
    double room = width - left - right;
    for (size_t i = 0; i < pairs.size(); ++i) {
        const Pair& pair = pairs[i];
        double y = 4 + pairHeight * number(i), most = std::max(pair.before, pair.after);
        canvas.text(left - 8, y + 22, pair.label, "text", Anchor::End);
        if (most <= 0)
            continue;
        for (bool after : {false, true}) {
            double value = after ? pair.after : pair.before, at = y + (after ? 20 : 4);
            canvas
                .rect(left, at, std::max(value / most * room, 1.0), 14,
                      after ? "series.after" : "series.before")
                .title = pair.label + (after ? " after: " : " before: ") + pair.print(value);
            std::string change = after && pair.before > 0
                                     ? "  (" + app::percentText(pair.after / pair.before - 1) + ")"
                                     : "";
            canvas.text(left + value / most * room + 6, at + 11, pair.print(value) + change,
                        after ? "text" : "text.dim");
        }
    }
    return std::move(canvas.chart);
}

} // namespace fuselage::chart
