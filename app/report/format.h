// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them; shared by every report format so that they agree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::app {

std::string bytesText(int64_t bytes);     ///< "104.8 MB" (powers of 1000)
std::string secondsText(double seconds);  ///< "34.2 ms"
std::string countText(int64_t count);     ///< "212,997,920"
std::string percentText(double fraction); ///< "-50.8 %", with sign
std::string flopsText(int64_t flops);     ///< "8.2 GFLOP"

/// Columns padded to the widest cell; numbers right, words left.
class TextTable {
public:
    enum class Align { Left, Right };

    explicit TextTable(std::vector<Align> columns) : m_align(std::move(columns)) {}

    /// Control characters in cells become visible.
    void row(const std::vector<std::string>& cells);

    std::string text(std::string_view indent = "  ") const;

private:
    std::vector<Align> m_align;
    std::vector<std::vector<std::string>> m_rows;
};

/// "note: ...", a line each; nothing without notes.
std::string notesText(const std::vector<std::string>& notes);

} // namespace fuselage::app
