// SPDX-License-Identifier: Apache-2.0
#include "dsl/tokens.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace fuselage::dsl {

namespace {

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

bool isWordStart(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool isSpace(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

size_t endOfWord(std::string_view text, size_t at) {
    while (at < text.size() && (isWordStart(text[at]) || isDigit(text[at])))
        ++at;
    return at;
}

size_t endOfDigits(std::string_view text, size_t at) {
    while (at < text.size() && isDigit(text[at]))
        ++at;
    return at;
}

size_t endOfNumber(std::string_view text, size_t at) {
    at = endOfDigits(text, at);
    if (at + 1 < text.size() && text[at] == '.' && isDigit(text[at + 1]))
        at = endOfDigits(text, at + 1);
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        size_t digits = at + 1;
        if (digits < text.size() && (text[digits] == '+' || text[digits] == '-'))
            ++digits;
        if (digits < text.size() && isDigit(text[digits]))
            at = endOfDigits(text, digits);
    }
    return at;
}

/// One past the closing quote, or npos.
size_t endOfString(std::string_view text, size_t at) {
    for (++at; at < text.size(); ++at) {
        if (text[at] == '\\')
            ++at;
        else if (text[at] == '"')
            return at + 1;
    }
    return std::string_view::npos;
}

/// Bytes of the character that begins here; 1 where it is no UTF-8.
size_t lengthOfCharacter(std::string_view rest) {
    const auto lead = static_cast<unsigned char>(rest[0]);
    const size_t length = lead >= 0xf0 && lead < 0xf8   ? 4
                          : lead >= 0xe0 && lead < 0xf0 ? 3
                          : lead >= 0xc0 && lead < 0xe0 ? 2
                                                        : 1;
    if (length > rest.size())
        return 1;
    for (size_t i = 1; i < length; ++i)
        if ((static_cast<unsigned char>(rest[i]) & 0xc0) != 0x80)
            return 1;
    return length;
}

size_t lengthOfSymbol(std::string_view rest) {
    static constexpr std::array<std::string_view, 8> marks = {
        "...", "->", "..", "==", "!=", "<=", ">=", "??"};
    for (std::string_view mark : marks)
        if (rest.starts_with(mark))
            return mark.size();
    return std::string_view("(){}[];,:=|?*+-/%@<>.~").find(rest[0]) != std::string_view::npos ? 1
                                                                                              : 0;
}

Token nextToken(std::string_view text, size_t at) {
    auto token = [&](Token::Kind kind, size_t end) {
        return Token{kind, static_cast<uint32_t>(at), static_cast<uint32_t>(end)};
    };
    std::string_view rest = text.substr(at);
    if (rest.starts_with("//")) {
        size_t end = std::min(text.find('\n', at), text.size());
        bool isDoc = rest.starts_with("///") && !rest.starts_with("////");
        return token(isDoc ? Token::Kind::DocComment : Token::Kind::Comment, end);
    }
    if (isWordStart(rest[0]))
        return token(Token::Kind::Word, endOfWord(text, at));
    if (isDigit(rest[0]))
        return token(Token::Kind::Number, endOfNumber(text, at));
    if (rest[0] == '"') {
        size_t end = endOfString(text, at);
        return end == std::string_view::npos ? token(Token::Kind::Unclosed, text.size())
                                             : token(Token::Kind::String, end);
    }
    size_t length = lengthOfSymbol(rest);
    return length > 0 ? token(Token::Kind::Symbol, at + length)
                      : token(Token::Kind::Stray, at + lengthOfCharacter(rest));
}

} // namespace

double numeralValue(std::string_view numeral) {
    double value = 0;
    std::from_chars(numeral.data(), numeral.data() + numeral.size(), value);
    return value;
}

size_t markLength(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    return text.starts_with(mark) ? mark.size() : 0;
}

std::vector<Token> tokenize(std::string_view text) {
    std::vector<Token> tokens;
    size_t at = markLength(text);
    while (at < text.size()) {
        if (isSpace(text[at])) {
            ++at;
            continue;
        }
        tokens.push_back(nextToken(text, at));
        at = tokens.back().end;
    }
    return tokens;
}

size_t tokenAt(const std::vector<Token>& tokens, uint32_t offset) {
    auto found = std::lower_bound(tokens.begin(), tokens.end(), offset,
                                  [](const Token& t, uint32_t at) { return t.begin < at; });
    return static_cast<size_t>(found - tokens.begin());
}

std::string_view statementHead(const std::vector<Token>& tokens, std::string_view text, size_t at) {
    std::string_view head;
    while (at-- > 0) {
        const std::string_view word = textOf(tokens[at], text);
        if (word == ";" || word == "{" || word == "}")
            break;
        const Token::Kind kind = tokens[at].kind;
        if (kind != Token::Kind::Comment && kind != Token::Kind::DocComment)
            head = word;
    }
    return head;
}

std::string documentationAbove(const std::vector<Token>& tokens, std::string_view text,
                               uint32_t offset) {
    size_t end = tokenAt(tokens, offset);
    size_t begin = end;
    while (begin > 0 && tokens[begin - 1].kind == Token::Kind::DocComment)
        --begin;
    std::string out;
    for (size_t i = begin; i < end; ++i) {
        std::string_view line = textOf(tokens[i], text).substr(3);
        if (!line.empty() && line[0] == ' ')
            line.remove_prefix(1);
        while (!line.empty() && isSpace(line.back()))
            line.remove_suffix(1);
        if (i > begin)
            out += '\n';
        out += line;
    }
    return out;
}

bool isItemKeyword(std::string_view word) {
    static constexpr std::array<std::string_view, 9> words = {
        "class", "fn", "form", "import", "op", "opset", "pattern", "pipeline", "rule"};
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool isReserved(std::string_view word) {
    static constexpr std::array<std::string_view, 19> words = {
        "and", "const", "false",   "flat",   "in",     "inf",  "input", "let",    "many", "none",
        "not", "or",    "ordered", "region", "scalar", "spec", "true",  "unless", "where"};
    return std::find(words.begin(), words.end(), word) != words.end();
}

} // namespace fuselage::dsl
