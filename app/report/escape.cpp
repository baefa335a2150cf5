// SPDX-License-Identifier: Apache-2.0
#include "app/report/escape.h"

#include "core/support/utf8.h"

#include <fmt/format.h>

namespace fuselage::app {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// characterLength() without the two characters that XML does not know.
size_t xmlCharacterLength(std::string_view text, size_t at) {
    const std::string_view three = text.substr(at, 3);
    return three == "\xEF\xBF\xBE" || three == "\xEF\xBF\xBF" ? 0 : characterLength(text, at);
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
    case '\n': // as they are, readers of XML make spaces of them inside of attributes
        return "&#10;";
    case '\t':
        return "&#9;";
    default:
        return nullptr;
    }
}

} // namespace

std::string escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        size_t size = xmlCharacterLength(text, at);
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

std::string visible(std::string_view text, std::string_view kept) {
    std::string out;
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        const bool isControl = code < 0x20 || code == 0x7f;
        if (!isControl || kept.find(c) != std::string_view::npos)
            out += c;
        else if (c == '\n' || c == '\t' || c == '\r')
            out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
        else
            out += fmt::format("\\x{:02x}", code);
    }
    return out;
}

} // namespace fuselage::app
