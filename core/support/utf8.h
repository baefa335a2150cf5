// SPDX-License-Identifier: Apache-2.0
// Characters in UTF-8. Names in models and texts of rules are hostile: nothing here trusts that the
// bytes are well formed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace fuselage {

/// A byte inside of a character, not its first.
inline bool continuesCharacter(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Characters of a text, which are also its columns on a terminal.
inline size_t characterCount(std::string_view text) {
    return text.size() -
           static_cast<size_t>(std::count_if(text.begin(), text.end(), continuesCharacter));
}

/// Bytes of the well-formed character that starts at `at` (no surrogate, none longer than needed);
/// 0 when there is none.
inline size_t characterLength(std::string_view text, size_t at) {
    const auto first = static_cast<unsigned char>(text[at]);
    if (first < 0x80)
        return 1;
    const size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (first < 0xC2 || first > 0xF4 || at + size > text.size())
        return 0;
    uint32_t code = first & (0xFFU >> (size + 1));
    for (size_t i = 1; i < size; ++i) {
        if (!continuesCharacter(text[at + i]))
            return 0;
        code = (code << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
    }
    const bool tooLong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return tooLong || surrogate || code > 0x10FFFF ? 0 : size;
}

} // namespace fuselage
