// SPDX-License-Identifier: Apache-2.0
// Traffic waterfall: before, what each rule saved, what is left over, after.
#include "app/report/chart/canvas_internal.h"
#include "app/report/format.h"

#include <algorithm>
#include <map>

namespace fuselage::chart {

namespace {

constexpr double width = 720, left = 190, right = 96, rowHeight = 24, top = 10;
constexpr size_t rulesShown = 12;

struct Row {
    std::string label, id, token;
    double from, to; ///< bytes
    bool total;
};

std::vector<Row> rowsOf(const app::Report& report) {
    auto before = static_cast<double>(report.before.traffic.logical());
    auto after = static_cast<double>(report.after.traffic.logical());
    std::vector<app::RuleReport> rules = report.rules;
    std::erase_if(rules, [](const app::RuleReport& rule) { return rule.bytesSaved == 0; });
    std::stable_sort(rules.begin(), rules.end(),
                     [](const auto& a, const auto& b) { return a.bytesSaved > b.bytesSaved; });
    std::vector<Row> rows{{"before", "", "series.before", 0, before, true}};
    double at = before;
    for (size_t i = 0; i < rules.size() && i < rulesShown; ++i) {
        auto saved = static_cast<double>(rules[i].bytesSaved);
        rows.push_back({rules[i].rule, "rule:" + rules[i].rule, saved > 0 ? "gain" : "loss", at,
                        at - saved, false});
        at -= saved;
    }
    if (at != after)
        rows.push_back(
            {"other rules, views, rewrites", "", at > after ? "gain" : "loss", at, after, false});
    rows.push_back({"after", "", "series.after", 0, after, true});
    return rows;
}

} // namespace

Chart trafficWaterfall(const app::Report& report) {
    std::vector<Row> rows = rowsOf(report);
    double most = 0;
    for (const Row& row : rows)
        most = std::max({most, row.from, row.to});
    double bottom = top + rowHeight * static_cast<double>(rows.size());
    Canvas canvas("Bytes saved by rule", width, bottom + 24);
    canvas.chart.description = "logical traffic before, " +
                               app::bytesText(report.before.traffic.logical()) +
                               ", less what each rule saved, gives the traffic after, " +
                               app::bytesText(report.after.traffic.logical());
    std::vector<double> ticks = roundTicks(most, 5);
    auto place = [&](double v) { return left + v / ticks.back() * (width - left - right); };
    auto bytes = [](double v) { return app::bytesText(static_cast<int64_t>(v)); };
    if (ticks.back() > 0)
        horizontalAxis(canvas, ticks, top, bottom, place, bytes);
    for (size_t i = 0; i < rows.size() && ticks.back() > 0; ++i) {
        const Row& row = rows[i];
        double y = top + rowHeight * static_cast<double>(i);
        double a = place(std::min(row.from, row.to)), b = place(std::max(row.from, row.to));
        canvas.text(left - 8, y + 16, row.label, "text", Anchor::End).id = row.id;
        Primitive& bar = canvas.rect(a, y + 4, std::max(b - a, 1.0), rowHeight - 8, row.token);
        bar.id = row.id;
        bar.title = row.label + ": " + bytes(std::abs(row.to - row.from));
        std::string sign = row.total ? "" : row.to < row.from ? "−" : "+";
        canvas.text(b + 6, y + 16, sign + bytes(std::abs(row.to - row.from)), "text.dim");
        if (i + 1 < rows.size())
            canvas.line(place(row.to), y + rowHeight - 4, place(row.to), y + rowHeight + 4, "axis");
    }
    return std::move(canvas.chart);
}

} // namespace fuselage::chart
