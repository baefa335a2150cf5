// SPDX-License-Identifier: Apache-2.0
#include "app/lsp/text_position.h"

#include "core/support/utf8.h"

#include <algorithm>

namespace fuselage::lsp {

namespace {

/// Bytes of the character that begins here; a byte that begins none counts as one.
size_t lengthAt(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    const size_t wanted = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    size_t length = 1;
    while (length < std::min(wanted, text.size()) && continuesCharacter(text[length]))
        ++length;
    return length;
}

} // namespace

PositionMap::PositionMap(std::string_view text) : m_text(text), m_starts{0} {
    for (size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n')
            m_starts.push_back(static_cast<uint32_t>(i + 1));
}

std::string_view PositionMap::line(uint32_t number) const {
    const size_t begin = m_starts[number];
    const size_t end = number + 1 < m_starts.size() ? m_starts[number + 1] - 1 : m_text.size();
    std::string_view line = m_text.substr(begin, end - begin);
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    return line;
}

Position PositionMap::position(uint32_t offset) const {
    offset = std::min(offset, static_cast<uint32_t>(m_text.size()));
    auto after = std::upper_bound(m_starts.begin(), m_starts.end(), offset);
    const auto number = static_cast<uint32_t>(after - m_starts.begin() - 1);
    std::string_view rest = line(number);
    Position out{number, 0};
    for (size_t left = offset - m_starts[number]; left > 0 && !rest.empty();) {
        const size_t length = lengthAt(rest);
        if (length > left)
            break;
        out.character += length == 4 ? 2 : 1;
        left -= length;
        rest.remove_prefix(length);
    }
    return out;
}

uint32_t PositionMap::offset(Position position) const {
    if (position.line >= m_starts.size())
        return static_cast<uint32_t>(m_text.size());
    std::string_view rest = line(position.line);
    uint32_t offset = m_starts[position.line];
    for (uint32_t left = position.character; left > 0 && !rest.empty();) {
        const size_t length = lengthAt(rest);
        const uint32_t units = length == 4 ? 2 : 1;
        if (units > left)
            break;
        left -= units;
        offset += static_cast<uint32_t>(length);
        rest.remove_prefix(length);
    }
    return offset;
}

} // namespace fuselage::lsp
