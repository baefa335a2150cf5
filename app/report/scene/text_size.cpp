// SPDX-License-Identifier: Apache-2.0
#include "app/report/scene/text_size.h"

#include "core/support/utf8.h"

#include <cmath>

namespace fuselage::scene {

namespace {

/// The bytes before the character with this number.
size_t bytesBefore(std::string_view text, size_t character) {
    size_t at = 0;
    for (; at < text.size(); ++at)
        if (!continuesCharacter(text[at]) && character-- == 0)
            break;
    return at;
}

double emOf(char c) {
    constexpr std::string_view narrow = "iljt.,:;|!'()[]/ ";
    constexpr std::string_view wide = "mwMWGOQ@%";
    if (static_cast<unsigned char>(c) >= 0x80)
        return 0.84;
    if (narrow.find(c) != std::string_view::npos)
        return 0.36;
    if (wide.find(c) != std::string_view::npos)
        return 0.84;
    return c >= 'A' && c <= 'Z' ? 0.67 : 0.60;
}

} // namespace

double textWidth(std::string_view text, double size) {
    double em = 0;
    for (char c : text)
        if (!continuesCharacter(c))
            em += emOf(c);
    return em * size;
}

double badgeWidth(std::string_view text) {
    return std::round(textWidth(text, lineSize)) + 10;
}

std::string elided(std::string_view text, size_t characters) {
    size_t count = characterCount(text);
    if (count <= characters || characters < 3)
        return std::string(text);
    size_t head = characters / 2, tail = characters - head - 1;
    std::string out(text.substr(0, bytesBefore(text, head)));
    return out + "…" + std::string(text.substr(bytesBefore(text, count - tail)));
}

std::string shortType(std::string_view type) {
    size_t open = type.find('['), close = type.rfind(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
        return std::string(type);
    std::string_view dtype = type.substr(0, open);
    std::string dims;
    for (char c : type.substr(open + 1, close - open - 1))
        dims += c == ',' ? "×" : std::string(1, c);
    if (dims.empty())
        dims = "scalar";
    return dtype == "float" ? dims : std::string(dtype) + " " + dims;
}

} // namespace fuselage::scene
