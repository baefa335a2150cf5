// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/stranger_table.h"

#include "app/report/format.h"
#include "core/support/function_ref.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fuselage::bench {

namespace {

Rounds ratiosOf(const Rounds& a, const Rounds& b) {
    Rounds out;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        out.push_back(a[i] / b[i]);
    return out;
}

using Align = app::TextTable::Align;

std::vector<Align> columns(size_t numbers) {
    std::vector<Align> out(numbers + 1, Align::Right);
    out[0] = Align::Left;
    return out;
}

/// "0.912, worst 1.31" of the medians of some rows.
std::string meanText(const std::vector<Row>& rows, FunctionRef<Rounds(const Row&)> ratio) {
    std::vector<double> medians;
    for (const Row& row : rows)
        if (Rounds rounds = ratio(row); !rounds.empty())
            medians.push_back(median(rounds));
    if (medians.empty())
        return "-";
    return fmt::format("{:.3f}, worst {:.2f}", geometricMean(medians),
                       *std::max_element(medians.begin(), medians.end()));
}

std::string timesTable(const std::vector<Row>& rows, const std::string& title, Times Row::*times) {
    app::TextTable table(columns(8));
    table.row({title, "fused ms", "unfused ms", "ONNX Runtime ms", "its level disabled ms",
               "fused/ONNX Runtime", "fused/unfused", "unfused/disabled", "fallbacks"});
    constexpr std::pair<Side, Side> ratios[] = {
        {Fused, All}, {Fused, Unfused}, {Unfused, Disabled}};
    for (const Row& row : rows) {
        std::vector<std::string> cells{row.name};
        for (const Rounds& rounds : (row.*times).of)
            cells.push_back(spread(rounds, 2));
        for (auto [a, b] : ratios)
            cells.push_back(spread((row.*times).ratio(a, b), 3));
        cells.push_back(row.fallbacks.empty() ? "-"
                                              : fmt::format("{}", fmt::join(row.fallbacks, " / ")));
        table.row(cells);
    }
    std::vector<std::string> means{"geometric mean", "", "", "", ""};
    for (auto [a, b] : ratios)
        means.push_back(meanText(rows, [&](const Row& row) { return (row.*times).ratio(a, b); }));
    means.emplace_back();
    table.row(means);
    return table.text("");
}

std::string firstTable(const std::vector<Row>& rows) {
    app::TextTable table(columns(3));
    table.row({"load + first run", "fused s", "ONNX Runtime s", "fused/ONNX Runtime"});
    for (const Row& row : rows)
        table.row({row.name, spread(row.first, 3), spread(row.firstOfRuntime, 3),
                   spread(ratiosOf(row.first, row.firstOfRuntime), 2)});
    table.row({"geometric mean", "", "", meanText(rows, [](const Row& row) {
                   return ratiosOf(row.first, row.firstOfRuntime);
               })});
    return table.text("");
}

std::string failures(const std::vector<Row>& rows) {
    std::string out;
    for (const Row& row : rows)
        if (!row.failure.empty())
            out += fmt::format("{}: {}\n", row.name, row.failure);
    return out.empty() ? out : "\nnot measured\n" + out;
}

} // namespace

Rounds Times::ratio(Side a, Side b) const {
    return ratiosOf(of[a], of[b]);
}

std::string tables(const std::vector<Row>& rows) {
    return timesTable(rows, "alone", &Row::idle) + "\n" +
           timesTable(rows, "beside a busy process", &Row::busy) + "\n" + firstTable(rows) +
           failures(rows);
}

} // namespace fuselage::bench
