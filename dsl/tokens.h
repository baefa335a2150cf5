// SPDX-License-Identifier: Apache-2.0
// The lossless token pass beside the grammar: every byte of a text is in a token or is white space
// between two. Serves doc comments, error recovery, the nesting limit, the formatter and the
// highlighter. Knows nothing of the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::dsl {

struct Token {
    enum class Kind : uint8_t {
        Word,       ///< identifier or keyword, also `_`
        Number,     ///< without sign
        String,     ///< with its quotes
        Comment,    ///< `// ...` without the line break
        DocComment, ///< `/// ...` without the line break
        Symbol,     ///< one of the marks of the language, longest first
        Unclosed,   ///< a string without its closing quote, up to the end of the text
        Stray,      ///< a byte that the language does not use
    };

    Kind kind = Kind::Symbol;
    uint32_t begin = 0;
    uint32_t end = 0;
};

/// The number that a numeral with an optional sign stands for.
double numeralValue(std::string_view numeral);

/// Bytes of the byte order mark that some editors put in front of UTF-8; 0 without one.
size_t markLength(std::string_view text);

/// All tokens of a text, in order, comments included.
std::vector<Token> tokenize(std::string_view text);

inline std::string_view textOf(const Token& token, std::string_view text) {
    return text.substr(token.begin, token.end - token.begin);
}

/// Index of the first token that begins at `offset` or later.
size_t tokenAt(const std::vector<Token>& tokens, uint32_t offset);

/// The word that the statement, clause or item of token `at` begins with.
std::string_view statementHead(const std::vector<Token>& tokens, std::string_view text, size_t at);

/// The `///` lines that stand directly above the token at `offset`, joined by line breaks.
std::string documentationAbove(const std::vector<Token>& tokens, std::string_view text,
                               uint32_t offset);

/// True for a word that begins an item: rule, pattern, form, op, class, fn, import, opset,
/// pipeline.
bool isItemKeyword(std::string_view word);

/// True for a word that cannot name a value.
bool isReserved(std::string_view word);

} // namespace fuselage::dsl
