// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/json_line.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace fuselage::gpu {

namespace {

constexpr size_t deepest = 4, longestLine = 1 << 20, longestString = 4096, longestNumber = 32;
constexpr size_t mostItems = 512;

/// Length of the UTF-8 sequence that begins here, 0 when it is none.
size_t sequenceLength(std::string_view text, size_t at) {
    const auto first = static_cast<unsigned char>(text[at]);
    const size_t length = first < 0x80                     ? 1
                          : first >= 0xc2 && first <= 0xdf ? 2
                          : first >= 0xe0 && first <= 0xef ? 3
                          : first >= 0xf0 && first <= 0xf4 ? 4
                                                           : 0;
    if (length == 0 || at + length > text.size())
        return 0;
    for (size_t i = 1; i < length; ++i)
        if ((static_cast<unsigned char>(text[at + i]) & 0xc0U) != 0x80U)
            return 0;
    return length;
}

class Reader {
public:
    explicit Reader(std::string_view line) : m_line(line) {}

    Result<JsonValue> read() {
        if (m_line.size() > longestLine)
            return wrong(fmt::format("the line is longer than {} bytes", longestLine));
        auto value = readValue(0);
        if (value && m_at != m_line.size())
            return wrong("text after the end of the object");
        return value;
    }

private:
    Failure wrong(const std::string& what) const {
        return failure("cache.line", fmt::format("column {}: {}", m_at + 1, what));
    }

    char peek() const { return m_at < m_line.size() ? m_line[m_at] : '\0'; }

    void skipSpaces() {
        while (peek() == ' ' || peek() == '\t' || peek() == '\r')
            ++m_at;
    }

    bool take(char wanted) {
        skipSpaces();
        if (peek() != wanted)
            return false;
        ++m_at;
        skipSpaces();
        return true;
    }

    bool takeWord(std::string_view word) {
        if (m_line.substr(m_at, word.size()) != word)
            return false;
        m_at += word.size();
        skipSpaces();
        return true;
    }

    Result<JsonValue> readValue(size_t depth) {
        skipSpaces();
        if (depth > deepest)
            return wrong("nested too deeply");
        if (peek() == '{')
            return readObject(depth);
        if (peek() == '[')
            return readArray(depth);
        if (peek() == '"') {
            auto text = readString();
            if (!text)
                return failure(text.error());
            return JsonValue{std::move(*text)};
        }
        for (bool truth : {true, false})
            if (takeWord(truth ? "true" : "false"))
                return JsonValue{truth};
        return readNumber();
    }

    Result<JsonValue> readObject(size_t depth) {
        take('{');
        JsonObject out;
        if (take('}'))
            return JsonValue{std::move(out)};
        do {
            auto name = readString();
            if (!name)
                return failure(name.error());
            if (!take(':'))
                return wrong("expected `:`");
            auto value = readValue(depth + 1);
            if (!value)
                return value;
            if (out.size() >= mostItems)
                return wrong(fmt::format("more than {} fields", mostItems));
            if (!out.emplace(*name, std::move(*value)).second)
                return wrong(fmt::format("field `{}` appears twice", *name));
        } while (take(','));
        if (!take('}'))
            return wrong("expected `,` or `}`");
        return JsonValue{std::move(out)};
    }

    Result<JsonValue> readArray(size_t depth) {
        take('[');
        JsonArray out;
        if (take(']'))
            return JsonValue{std::move(out)};
        do {
            auto value = readValue(depth + 1);
            if (!value)
                return value;
            if (out.size() >= mostItems)
                return wrong(fmt::format("more than {} items", mostItems));
            out.push_back(std::move(*value));
        } while (take(','));
        if (!take(']'))
            return wrong("expected `,` or `]`");
        return JsonValue{std::move(out)};
    }

    Result<JsonValue> readNumber() {
        const size_t begin = m_at;
        while (peek() == '-' || peek() == '+' || peek() == '.' || peek() == 'e' || peek() == 'E' ||
               (peek() >= '0' && peek() <= '9'))
            ++m_at;
        JsonNumber out{std::string(m_line.substr(begin, m_at - begin))};
        m_at = begin;
        if (out.digits.empty())
            return wrong("expected a value");
        if (out.digits.size() > longestNumber || !JsonValue{out}.number())
            return wrong("this is no number");
        m_at += out.digits.size();
        skipSpaces();
        return JsonValue{std::move(out)};
    }

    Result<std::string> readString() {
        if (peek() != '"')
            return wrong("expected `\"`");
        ++m_at;
        std::string out;
        while (peek() != '"') {
            if (m_at >= m_line.size())
                return wrong("the string has no end");
            if (out.size() > longestString)
                return wrong(fmt::format("a string is longer than {} bytes", longestString));
            if (auto piece = readPiece(out); !piece)
                return failure(piece.error());
        }
        ++m_at;
        skipSpaces();
        return out;
    }

    /// One character or one escape.
    Result<void> readPiece(std::string& out) {
        if (peek() != '\\') {
            const size_t length = sequenceLength(m_line, m_at);
            if (length == 0 || static_cast<unsigned char>(peek()) < 0x20)
                return wrong("a byte that no text has");
            out += m_line.substr(m_at, length);
            m_at += length;
            return {};
        }
        ++m_at;
        const char escape = peek();
        if (escape == '"' || escape == '\\' || escape == '/')
            out += escape;
        else if (escape == 'n' || escape == 't')
            out += escape == 'n' ? '\n' : '\t';
        else if (!readCode(out))
            return wrong("an escape other than \\\" \\\\ \\/ \\n \\t and \\u0000 to \\u007f");
        ++m_at;
        return {};
    }

    /// "u00XX" of a character of ASCII; stops at its last digit.
    bool readCode(std::string& out) {
        const std::string_view digits = m_line.substr(m_at, 5);
        unsigned code = 0;
        if (digits.size() != 5 || digits[0] != 'u')
            return false;
        auto [end, error] = std::from_chars(digits.data() + 1, digits.data() + 5, code, 16);
        if (error != std::errc() || end != digits.data() + 5 || code > 0x7f)
            return false;
        out += static_cast<char>(code);
        m_at += 4;
        return true;
    }

    std::string_view m_line;
    size_t m_at = 0;
};

} // namespace

std::optional<bool> JsonValue::boolean() const {
    const bool* found = std::get_if<bool>(&value);
    return found ? std::optional(*found) : std::nullopt;
}

std::optional<double> JsonValue::number() const {
    const auto* found = std::get_if<JsonNumber>(&value);
    double out = 0;
    if (!found)
        return std::nullopt;
    const char* end = found->digits.data() + found->digits.size();
    auto [stopped, error] = std::from_chars(found->digits.data(), end, out);
    if (error != std::errc() || stopped != end || !std::isfinite(out))
        return std::nullopt;
    return out;
}

std::optional<int64_t> JsonValue::integer() const {
    const auto* found = std::get_if<JsonNumber>(&value);
    int64_t out = 0;
    if (!found)
        return std::nullopt;
    const char* end = found->digits.data() + found->digits.size();
    auto [stopped, error] = std::from_chars(found->digits.data(), end, out);
    if (error != std::errc() || stopped != end)
        return std::nullopt;
    return out;
}

Result<JsonValue> parseJsonLine(std::string_view line) {
    return Reader(line).read();
}

std::string quotedJson(std::string_view text) {
    std::string out = "\"";
    for (size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const size_t length = sequenceLength(text, i);
        if (byte == '"' || byte == '\\')
            out += std::string("\\") + text[i];
        else if (byte < 0x20 || byte == 0x7f)
            out += fmt::format("\\u{:04x}", byte);
        else if (length == 0)
            out += '?';
        else
            out += text.substr(i, length);
        i += std::max<size_t>(length, 1);
    }
    return out + "\"";
}

} // namespace fuselage::gpu
