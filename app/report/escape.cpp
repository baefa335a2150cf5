// SPDX-License-Identifier: Apache-2.0
#include "app/report/escape.h"

namespace fuselage::app {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// Bytes of the well-formed character that starts here; 0 when there is none.
size_t characterAt(std::string_view text, size_t at) {
    auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    unsigned char first = byte(at);
    if (first < 0x80)
        return 1;
    size_t size = first >= 0xC2 && first <= 0xDF ? 2 : first >= 0xE0 && first <= 0xEF ? 3 : 4;
    if (first < 0xC2 || first > 0xF4 || at + size > text.size())
        return 0;
    uint32_t code = first & (0xFFU >> (size + 1));
    for (size_t i = 1; i < size; ++i) {
        if ((byte(at + i) & 0xC0U) != 0x80U)
            return 0;
        code = (code << 6U) | (byte(at + i) & 0x3FU);
    }
    bool tooLong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
    bool notXml = (code >= 0xD800 && code <= 0xDFFF) || code == 0xFFFE || code == 0xFFFF;
    return tooLong || notXml || code > 0x10FFFF ? 0 : size;
}

const char* entityOf(char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return nullptr;
    }
}

} // namespace

std::string escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        size_t size = characterAt(text, at);
        auto c = static_cast<unsigned char>(text[at]);
        if (size == 0 || (c < 0x20 && c != '\t' && c != '\n') || c == 0x7F)
            out += replacement;
        else if (const char* entity = entityOf(text[at]))
            out += entity;
        else
            out += text.substr(at, size);
        at += size == 0 ? 1 : size;
    }
    return out;
}

std::string escapedForScript(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    for (size_t at = 0; at < json.size(); ++at) {
        if (json[at] == '<')
            out += "\\u003c";
        else if (json[at] == '>')
            out += "\\u003e";
        else if (json[at] == '&')
            out += "\\u0026";
        else if (json.substr(at, 3) == "\xE2\x80\xA8" || json.substr(at, 3) == "\xE2\x80\xA9") {
            out += json[at + 2] == '\xA8' ? "\\u2028" : "\\u2029";
            at += 2;
        } else {
            out += json[at];
        }
    }
    return out;
}

} // namespace fuselage::app
