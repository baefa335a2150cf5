// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/figures.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>

namespace fuselage::bench {

namespace {

std::string today() {
    std::time_t now = std::time(nullptr);
    char text[16] = {};
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
}

/// What a person wrote under "## Notes" in the published file, heading included; "" without.
std::string notesIn(const std::string& path) {
    std::ifstream in(path);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    size_t at = text.find("\n## Notes\n");
    return at == std::string::npos ? "" : text.substr(at);
}

} // namespace

double median(Rounds values) {
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double geometricMean(const std::vector<double>& values) {
    double sum = 0;
    for (double value : values)
        sum += std::log(value);
    return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

std::string spread(const Rounds& values, int decimals) {
    if (values.empty())
        return "-";
    auto [low, high] = std::minmax_element(values.begin(), values.end());
    return fmt::format("{:.{}f} ({:.{}f}-{:.{}f})", median(values), decimals, *low, decimals, *high,
                       decimals);
}

std::string loadText() {
    double loads[1] = {0};
    return getloadavg(loads, 1) == 1 ? fmt::format("{:.2f}", loads[0]) : "unknown";
}

void addOptions(CLI::App& app, Publication& where) {
    app.add_option("--publish", where.file, "also write the results to this file");
    app.add_option("--command", where.command, "what the file says it was written by");
}

int publish(const Publication& where, const std::string& title, const std::string& reading,
            const std::string& results) {
    fmt::print("{}", results);
    if (where.file.empty())
        return 0;
    const std::string notes = notesIn(where.file);
    std::ofstream out(where.file);
    out << "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        << "# " << title << ": last published figures\n\nWritten by `" << where.command << "` on "
        << today() << " (UTC). Do not edit above the notes: run it again.\n"
        << reading << "\n```\n"
        << results << "```\n"
        << notes;
    out.flush();
    if (out.good())
        return 0;
    fmt::print(stderr, "{}: cannot be written\n", where.file);
    return 1;
}

} // namespace fuselage::bench
