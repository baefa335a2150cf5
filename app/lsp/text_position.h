// SPDX-License-Identifier: Apache-2.0
// Places in a text as editors count them: lines and UTF-16 units from 0. Everything behind the
// protocol counts bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace fuselage::lsp {

struct Position {
    uint32_t line = 0;
    uint32_t character = 0; ///< UTF-16 units from the line's begin

    friend bool operator==(const Position&, const Position&) = default;
};

/// Translates both ways in one text, which must outlive it. Any input is moved to a place that
/// exists: never inside of a character, never behind the line's end.
class PositionMap {
public:
    explicit PositionMap(std::string_view text);

    Position position(uint32_t offset) const;
    uint32_t offset(Position position) const;

private:
    std::string_view line(uint32_t number) const;

    std::string_view m_text;
    std::vector<uint32_t> m_starts;
};

} // namespace fuselage::lsp
