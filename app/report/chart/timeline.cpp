// SPDX-License-Identifier: Apache-2.0
// Kernels in order on two lanes to one scale of time; kernels of fused nodes have their rule's hue.
#include "app/report/chart/canvas_internal.h"
#include "app/report/format.h"

#include <algorithm>
#include <map>

namespace fuselage::chart {

namespace {

constexpr double width = 1120, left = 64, right = 40, laneHeight = 40;
constexpr double narrowest = 1; ///< pixels; thinner neighbours become one bar

double secondsOf(const app::KernelReport& kernel) {
    return kernel.measuredSeconds.value_or(kernel.predictedSeconds);
}

double total(const std::vector<app::KernelReport>& kernels) {
    double sum = 0;
    for (const auto& kernel : kernels)
        sum += secondsOf(kernel);
    return sum;
}

void lane(Canvas& canvas, const std::vector<app::KernelReport>& kernels, double y, double scale,
          const std::map<std::string, std::string>& hues) {
    double at = left, drawn = left;
    for (const auto& kernel : kernels) {
        double end = at + secondsOf(kernel) * scale;
        if (end - drawn >= narrowest) {
            auto hue = hues.find(kernel.rule);
            Primitive& bar = canvas.rect(drawn, y, end - drawn, laneHeight - 14,
                                         hue == hues.end() ? "series.before" : hue->second);
            bar.id = "n:" + kernel.node;
            bar.title =
                kernel.node + ": " + kernel.kind + ", " + app::secondsText(secondsOf(kernel));
            drawn = end;
        }
        at = end;
    }
}

} // namespace

Chart timelineLanes(const app::Report& report) {
    std::map<std::string, std::string> hues;
    // The order of the legend: rules as the fused graph first shows them.
    for (const app::MatchReport& match : report.matches)
        hues.try_emplace(match.rule, "rule-" + std::to_string(hues.size() % 12));
    bool measured =
        !report.after.kernels.empty() && report.after.kernels[0].measuredSeconds.has_value();
    double most = std::max(total(report.before.kernels), total(report.after.kernels));
    Canvas canvas(std::string("Kernels in order, ") + (measured ? "measured" : "predicted"), width,
                  2 * laneHeight + 40);
    canvas.chart.description = "before " + app::secondsText(total(report.before.kernels)) + " in " +
                               std::to_string(report.before.kernels.size()) + " kernels, after " +
                               app::secondsText(total(report.after.kernels)) + " in " +
                               std::to_string(report.after.kernels.size());
    if (most <= 0)
        return std::move(canvas.chart);
    std::vector<double> ticks = roundTicks(most, 8);
    double scale = (width - left - right) / ticks.back();
    horizontalAxis(
        canvas, ticks, 6, 2 * laneHeight + 6, [&](double v) { return left + v * scale; },
        app::secondsText);
    canvas.text(left - 8, 30, "before", "text", Anchor::End);
    canvas.text(left - 8, 30 + laneHeight, "after", "text", Anchor::End);
    lane(canvas, report.before.kernels, 14, scale, hues);
    lane(canvas, report.after.kernels, 14 + laneHeight, scale, hues);
    return std::move(canvas.chart);
}

} // namespace fuselage::chart
