// SPDX-License-Identifier: Apache-2.0
#include "app/report/format.h"

#include "app/report/escape.h"
#include "core/support/utf8.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace fuselage::app {

namespace {

template <size_t N>
std::string scaled(double value, double base, const std::array<const char*, N>& units) {
    size_t unit = 0;
    while (std::fabs(value) >= base * 0.9995 && unit + 1 < N) {
        value /= base;
        ++unit;
    }
    int digits = value != 0 && std::fabs(value) < 10 ? 2 : 1;
    return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : digits, units[unit]);
}

} // namespace

std::string bytesText(int64_t bytes) {
    return scaled(static_cast<double>(bytes), 1000, std::array{"B", "kB", "MB", "GB", "TB"});
}

std::string secondsText(double seconds) {
    if (seconds < 1e-3)
        return fmt::format("{:.1f} us", seconds * 1e6);
    if (seconds < 1)
        return fmt::format("{:.2f} ms", seconds * 1e3);
    return fmt::format("{:.2f} s", seconds);
}

std::string countText(int64_t count) {
    std::string digits = std::to_string(count < 0 ? -count : count);
    for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<size_t>(at), ",");
    return count < 0 ? "-" + digits : digits;
}

std::string percentText(double fraction) {
    return fmt::format("{:+.1f} %", fraction * 100);
}

std::string flopsText(int64_t flops) {
    return scaled(static_cast<double>(flops), 1000,
                  std::array{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"});
}

void TextTable::row(const std::vector<std::string>& cells) {
    std::vector<std::string>& row = m_rows.emplace_back();
    for (const std::string& cell : cells)
        row.push_back(visible(cell));
}

std::string TextTable::text(std::string_view indent) const {
    std::vector<size_t> widths(m_align.size(), 0);
    for (const auto& row : m_rows)
        for (size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], characterCount(row[i]));
    std::string out;
    for (const auto& row : m_rows) {
        std::string line(indent);
        for (size_t i = 0; i < row.size(); ++i) {
            std::string pad(widths[i] - characterCount(row[i]), ' ');
            bool right = m_align[i] == Align::Right;
            line += (i ? "  " : "") + (right ? pad + row[i] : row[i] + pad);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

std::string notesText(const std::vector<std::string>& notes) {
    std::string out;
    for (const std::string& note : notes)
        out += "note: " + visible(note) + "\n";
    return out;
}

} // namespace fuselage::app
