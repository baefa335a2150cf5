// SPDX-License-Identifier: Apache-2.0
#include "dsl/syntax_advice.h"

#include "core/support/number_text.h"
#include "dsl/names_elsewhere.h"
#include "dsl/resolve.h"
#include "dsl/suggest.h"
#include "dsl/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <tuple>

namespace fuselage::dsl {

namespace {

/// One word or mark in quotes.
bool isOneMark(const std::string& expected) {
    return expected.front() == '`' && expected.find('`', 1) == expected.size() - 1 &&
           expected.find(' ') == std::string::npos;
}

/// Where nothing was found that would do.
std::string fixFor(const std::string& expected) {
    static constexpr std::pair<std::string_view, std::string_view> fixes[] = {
        {"an item", "begin with rule, pattern, form, op, class, fn, import, opset or pipeline"},
        {"a clause",
         "begin with match, rewrite, gate, escape, numeric, qdq, verify, hint, as or test"},
        {"a statement", "write `name = pattern;`, or begin with let, where, many or unless"},
        {"a type", "write const, scalar, input, an element type or dimensions in `[...]`"},
        {"a name", "write a name that begins with a small letter and is no keyword"},
        {"something else", "compare with the grammar in dsl/README.md"},
        {"a range", "write how often: `{1..3}`"},
        {"a block", "write `{ ... }` here"},
        {"`->`", "name the result: `-> y`"},
        {"a comparison", "say what the attribute must be: `axis == 1`"},
        {"`==`", "say what the attribute is: `axis == 1`"},
        {"`fuse 1;`", "write `fuse 1;` on the first line"},
    };
    for (auto& [what, fix] : fixes)
        if (what == expected)
            return std::string(fix);
    return isOneMark(expected) ? "compare with the grammar in dsl/README.md"
                               : "write " + expected + " here";
}

/// The words around an error, by distance from the token that does not fit; empty: none there.
class Words {
public:
    explicit Words(const SyntaxError& error) : m_error(error) {}

    std::string_view at(int distance) const {
        const auto index = static_cast<int64_t>(m_error.found) + distance;
        if (index < 0 || index >= static_cast<int64_t>(m_error.tokens->size()))
            return {};
        return textOf((*m_error.tokens)[static_cast<size_t>(index)], m_error.text);
    }

    bool isWord(int distance) const {
        const std::string_view word = at(distance);
        return !word.empty() && (std::isalpha(word[0]) != 0 || word[0] == '_');
    }

    bool isCapital(int distance) const {
        return isWord(distance) && std::isupper(at(distance)[0]) != 0;
    }

    /// Whether the token stands in the line of the one before it.
    bool isBesideTheLast() const {
        if (m_error.found == 0 || m_error.found >= m_error.tokens->size())
            return false;
        const Token &last = (*m_error.tokens)[m_error.found - 1],
                    &found = (*m_error.tokens)[m_error.found];
        return m_error.text.substr(last.end, found.begin - last.end).find('\n') ==
               std::string_view::npos;
    }

private:
    const SyntaxError& m_error;
};

/// What is meant where one token stands and another is expected; empty when that cannot be told.
std::string_view meantBy(const SyntaxError& error) {
    const Words words(error);
    const std::string_view found = words.at(0), next = words.at(1), last = words.at(-1);
    const std::string& expected = error.expected;
    static constexpr std::string_view equal = "write `==` in place of `=`",
                                      heading = "write it before the `{` of the rule",
                                      inMatch = "write it in `match { ... }`";
    static constexpr std::tuple<std::string_view, std::string_view, std::string_view> known[] = {
        {"`==`", "=", equal},
        {"a comparison", "=", equal},
        {"an expression", "=", "leave the `=` out"},
        {"a block", "->", "leave `->` out: the value that a form defines last is its result"},
        {"a clause", "priority", heading},
        {"a clause", "once", heading},
        {"a clause", "replaces", heading},
        {"a clause", "in", heading},
        {"a clause", "where", inMatch},
        {"a clause", "let", inMatch},
        {"a clause", "many", inMatch},
        {"a clause", "unless", inMatch},
        {"`)`", "|", "write alternatives in parentheses: `(A(x) | B(x))`"},
        {"`)`", "*", "write an operator of the graph: `Mul(x, b)`"},
        {"`)`", "+", "write an operator of the graph: `Add(x, b)`"},
        {"`}`", ",", "write how often with two points: `{1..3}`"},
        {"a block", "-", "write how many with two points: `many 2..4`"},
    };
    if (found.empty())
        return {};
    for (const auto& [where, mark, fix] : known)
        if (where == expected && mark == found)
            return fix;
    if ((found == "/" && next == "*") || (found == "-" && next == "-"))
        return "write `//` in front of a comment; it ends with the line";
    if (expected == "a clause" && next == "=")
        return "write statements in `match { ... }`";
    if (expected == "an attribute test" && std::isdigit(found[0]) != 0)
        return "write a list in brackets: `[axes == [0, 1]]`";
    if (found == "(" && last == "]")
        return "write operands before attributes: `Op(x)[axis == 1]`";
    if (expected == "`)`" && found == "," && words.at(-2) == "(") {
        if (words.at(-3) == "in")
            return "write a set in braces: `in {1, 2}`";
        if (words.at(-3) == "==" || words.at(-3) == "=")
            return "write a list in brackets: `[1, 2]`";
    }
    if (expected == "a statement" && words.isWord(0) && next == "=")
        return "choose another name: this one is a word of the language";
    if (found == "not" && next == "in")
        return "write `not` before the whole comparison: `not x.rank in {1, 2}`";
    if (words.at(-1) == "<" && found == ">")
        return "write `!=` in place of `<>`";
    if (last == "[" && (found == "*" || found == ".."))
        return "write `[...c]`: all attributes of the node that is called so";
    if (words.isCapital(-1) && found == "<")
        return "write attributes in brackets, behind the operands: `Op(x)[axis == 1]`";
    if (last == "return")
        return "name the result in place of `return`: `y = ...;`";
    if (expected != "`;`" || last.empty())
        return {};
    const std::string_view head = statementHead(*error.tokens, error.text, error.found);
    const bool isCondition = head == "where" || head == "gate" || head == "escape";
    if (isCondition && found == "=" && (next == ">" || next == "<"))
        return next == ">" ? "write `>=`" : "write `<=`";
    if (isCondition && (found == "=" || found == "|"))
        return found == "=" ? equal : "write `or`";
    if (found == "==" && head == last)
        return "write `=`: `==` compares";
    if (found == "=" && words.isCapital(-1) && head == last)
        return "begin the name of a value with a small letter";
    if (found == "=" && head != last && !isCondition)
        return next == ">" ? "write `->`"
                           : "a statement has one `=`: end it with `;`, or test an attribute in "
                             "`[...]`";
    if ((found == "*" || found == "+") && (next == "->" || next == ";" || next == ")"))
        return found == "*" ? "write behind the operator how often it stands there: `{0..8}`"
                            : "write behind the operator how often it stands there: `{1..8}`";
    static constexpr std::pair<std::string_view, std::string_view> operators[] = {
        {"+", "write an operator of the graph: `Add(x, b)`"},
        {"-", "write an operator of the graph: `Sub(x, b)`"},
        {"*", "write an operator of the graph: `Mul(x, b)`"},
        {"/", "write an operator of the graph: `Div(x, b)`"}};
    for (const auto& [mark, fix] : operators)
        if (mark == found && !isCondition)
            return fix;
    if (words.isCapital(-1) && words.isWord(0) && !words.isCapital(0) && next != "=" &&
        words.isBesideTheLast())
        return "write operands in parentheses: `Relu(x)`";
    return {};
}

/// Numbers have no units here: what `100MB` is in the unit of the figure that it is compared with;
/// empty: no such word stands behind a number.
std::string withoutUnit(const SyntaxError& error) {
    const size_t at = error.found;
    if (at == 0 || at == error.tokens->size())
        return {};
    const Token &number = (*error.tokens)[at - 1], &unit = (*error.tokens)[at];
    if (number.kind != Token::Kind::Number || unit.kind != Token::Kind::Word)
        return {};
    static constexpr std::tuple<std::string_view, double, std::string_view> units[] = {
        {"B", 1, "bytes"},           {"kB", 1e3, "bytes"},      {"KB", 1e3, "bytes"},
        {"MB", 1e6, "bytes"},        {"GB", 1e9, "bytes"},      {"KiB", 0x1p10, "bytes"},
        {"MiB", 0x1p20, "bytes"},    {"GiB", 0x1p30, "bytes"},  {"us", 1, "microseconds"},
        {"ms", 1e3, "microseconds"}, {"s", 1e6, "microseconds"}};
    for (const auto& [name, factor, figure] : units)
        if (name == textOf(unit, error.text)) {
            const double value = numberIn(std::string(textOf(number, error.text)));
            return fmt::format("write `{:.15g}`: numbers are in {}", value * factor, figure);
        }
    return {};
}

/// A change of a text at one place, and the advice to make it.
struct Edit {
    uint32_t begin, end;
    std::string with;
    std::string advice;
};

/// What other languages call a word of this one.
std::string_view calledHere(std::string_view word) {
    static constexpr std::pair<std::string_view, std::string_view> known[] = {
        {"if", "where"}, {"when", "where"}, {"replace", "rewrite"}, {"is", "=="}, {"equals", "=="}};
    for (const auto& [elsewhere, here] : known)
        if (elsewhere == word)
            return here;
    return {};
}

/// Words of the language that may have been meant, the likeliest first.
std::vector<std::string> nearWords(std::string_view word, bool isCalled) {
    std::vector<std::string> fixed{"fuse"}, out;
    for (const WordRow& row : wordRows())
        if (row.place != WordPlace::Member && row.place != WordPlace::RootMember)
            fixed.emplace_back(row.word);
    std::string capital(word);
    capital[0] = static_cast<char>(std::toupper(capital[0]));
    if (const std::string_view known = calledHere(word); !known.empty())
        out.emplace_back(known);
    if (!isCalled)
        out.push_back(closest(word, fixed));
    out.push_back(operatorMeant(std::string(word), operatorNames()));
    out.push_back(std::move(capital));
    std::erase_if(out, [&](const std::string& near) { return near.empty() || near == word; });
    return out;
}

constexpr std::string_view brackets = "()[]{}";

std::string oppositeOf(std::string_view bracket) {
    return std::string(1, brackets[brackets.find(bracket) ^ 1U]);
}

/// Whether `mark` is no bracket, or one that more tokens of the item are than its opposite.
bool isTooMany(const SyntaxError& error, std::pair<uint32_t, uint32_t> item,
               std::string_view mark) {
    const size_t which = brackets.find(mark);
    if (which == std::string_view::npos)
        return true;
    int64_t opened = 0;
    for (const Token& token : *error.tokens)
        if (token.begin >= item.first && token.end <= item.second) {
            const std::string_view word = textOf(token, error.text);
            opened += word == brackets.substr(which / 2 * 2, 1)       ? 1
                      : word == brackets.substr(which / 2 * 2 + 1, 1) ? -1
                                                                      : 0;
        }
    return which % 2 == 0 ? opened > 0 : opened < 0;
}

/// Edits of one token or two, those that change least first.
std::vector<Edit> editsAt(const SyntaxError& error, std::pair<uint32_t, uint32_t> item) {
    const Words words(error);
    std::vector<Edit> out;
    const auto replace = [&](int distance, const std::string& with, std::string advice) {
        if (!isTooMany(error, item, words.at(distance)))
            return;
        const Token& token =
            (*error.tokens)[static_cast<size_t>(static_cast<int64_t>(error.found) + distance)];
        out.push_back({token.begin, token.end, with, std::move(advice)});
    };
    for (const int distance : {0, -1}) {
        if (!words.isWord(distance))
            continue;
        for (const std::string& near : nearWords(words.at(distance), words.at(distance + 1) == "("))
            replace(distance, near, didYouMean(near, ""));
    }
    const std::string_view found = words.at(0);
    const std::string mark =
        isOneMark(error.expected) ? error.expected.substr(1, error.expected.size() - 2) : "";
    const auto insert = [&](const std::string& what) {
        const std::string before = what == mark    ? "here"
                                   : found.empty() ? ""
                                                   : "before `" + std::string(found) + "`";
        out.push_back(
            {error.missing, error.missing, " " + what + " ", "add `" + what + "` " + before});
    };
    if (!mark.empty())
        insert(mark);
    for (const char* bracket : {")", "]", "}", "(", "[", "{"})
        if (mark != bracket && isTooMany(error, item, oppositeOf(bracket)))
            insert(bracket);
    if (found.empty())
        return out;
    const std::string_view head = statementHead(*error.tokens, error.text, error.found);
    std::vector<std::string> between{",", "|", "->", ";"};
    between.resize(head == "gate" || head == "escape" ? 0 : head == "where" ? 1 : between.size());
    for (const std::string& other : between)
        if (mark != other)
            insert(other);
    // What compares, computes or denies is meant: without it a rule says another thing.
    static constexpr std::string_view separators[] = {",", ";", ":", ".", "->", "="};
    const bool isSeparator =
        std::find(std::begin(separators), std::end(separators), found) != std::end(separators) ||
        brackets.find(found) != std::string_view::npos;
    for (const std::string& other : {mark, std::string(","), std::string(";")})
        if (!other.empty() && isSeparator)
            replace(0, other, "write `" + other + "` in place of `" + std::string(found) + "`");
    if (found == "," && words.at(1) == ".")
        replace(1, "0.", "write a digit before the point: `0.5`");
    if (isSeparator && found != "=")
        replace(0, "", "leave `" + std::string(found) + "` out");
    if (words.at(-1) == "," || words.at(-1) == ";")
        replace(-1, "", "leave `" + std::string(words.at(-1)) + "` out");
    return out;
}

/// The item of a file that a token belongs to, as one that begins a line.
std::pair<uint32_t, uint32_t> itemAround(const SyntaxError& error) {
    const std::vector<Token>& tokens = *error.tokens;
    const auto beginsItem = [&](size_t i) {
        const uint32_t before = i == 0 ? 0 : tokens[i - 1].end;
        return tokens[i].kind == Token::Kind::Word &&
               isItemKeyword(textOf(tokens[i], error.text)) &&
               (i == 0 || error.text.substr(before, tokens[i].begin - before).find('\n') !=
                              std::string_view::npos);
    };
    size_t first = 0;
    while (first + 1 < tokens.size() && tokens[first + 1].end <= error.missing)
        ++first;
    size_t last = first + 1;
    while (first > 0 && !beginsItem(first))
        --first;
    while (last < tokens.size() && !beginsItem(last))
        ++last;
    return {tokens[first].begin,
            last < tokens.size() ? tokens[last].begin : static_cast<uint32_t>(error.text.size())};
}

/// A clause that stands in the block before it, for want of a brace; empty: none does.
std::string_view clauseInBlock(const SyntaxError& error) {
    const Words words(error);
    if (error.tokens->empty() || !isTooMany(error, itemAround(error), "{"))
        return {};
    static constexpr std::pair<std::string_view, std::string_view> clauses[] = {
        {"rewrite", "add `}` before `rewrite`: the block above it is not closed"},
        {"test", "add `}` before `test`: the block above it is not closed"},
        {"gate", "add `}` before `gate`: the block above it is not closed"},
        {"numeric", "add `}` before `numeric`: the block above it is not closed"},
        {"verify", "add `}` before `verify`: the block above it is not closed"}};
    for (const auto& [clause, fix] : clauses) {
        const bool withBrace = words.at(-1) == "{" && words.at(-2) == clause && words.at(-3) == ";";
        if (withBrace || (words.at(-1) == clause && words.at(-2) == ";"))
            return fix;
    }
    return {};
}

/// The advice of the edit behind which the grammar gets furthest, beyond the token that did not
/// fit; empty: none does.
std::string triedEdit(const SyntaxError& error, const FirstError& firstError) {
    constexpr size_t longestItem = 1 << 14;
    if (!firstError || error.tokens->empty())
        return {};
    const auto [begin, end] = itemAround(error);
    if (end - begin > longestItem)
        return {};
    const std::string heading = begin == 0 ? "" : "fuse 1;\n";
    const auto leftBehind = [&, end = end](size_t token) {
        return token < error.tokens->size() ? static_cast<int64_t>(end) - (*error.tokens)[token].end
                                            : -1;
    };
    std::string best;
    int64_t least = 0; // characters of the item from the first error on; -1: there is none
    for (const Edit& edit : editsAt(error, {begin, end})) {
        if (edit.begin < begin || edit.end > end)
            continue;
        const std::string text =
            heading + std::string(error.text.substr(begin, edit.begin - begin)) + edit.with +
            std::string(error.text.substr(edit.end, end - edit.end));
        const std::optional<uint32_t> next = firstError(text);
        const int64_t left = next ? static_cast<int64_t>(text.size()) - *next : -1;
        const bool isOfFound = edit.end > edit.begin && edit.end > error.missing;
        const bool isBeyond = left < 0 || left <= leftBehind(error.found + (isOfFound ? 1 : 0));
        if (isBeyond && (best.empty() || left < least)) {
            best = edit.advice;
            least = left;
        }
    }
    return best;
}

} // namespace

std::string syntaxFix(const SyntaxError& error, const FirstError& firstError) {
    if (std::string unit = withoutUnit(error); !unit.empty())
        return unit;
    for (const std::string_view meant : {clauseInBlock(error), meantBy(error)})
        if (!meant.empty())
            return std::string(meant);
    const std::string tried = triedEdit(error, firstError);
    return tried.empty() ? fixFor(error.expected) : tried;
}

/// What a character that other languages use is called here.
std::string_view inPlaceOf(std::string_view stray) {
    static constexpr std::pair<std::string_view, std::string_view> known[] = {
        {"&", "write `and`"},
        {"!", "write `not`, or `!=` for unequal"},
        {"'", "write text in `\"`"},
        {"\u201c", "write text in `\"`"},
        {"\u201d", "write text in `\"`"},
        {"#", "write `//` in front of a comment"},
        {"\u2013", "write `-`"},
        {"\u2212", "write `-`"},
        {"\u00d7", "write `*`"},
        {"\u2192", "write `->`"},
        {"\u2264", "write `<=`"},
        {"\u2265", "write `>=`"},
        {"\u2260", "write `!=`"},
        {"\u00a0", "write a plain space"},
    };
    for (const auto& [character, fix] : known)
        if (character == stray)
            return fix;
    return stray.size() > 1
               ? "write names with the letters a to z; other letters stand in texts and "
                 "comments"
               : "delete it";
}

} // namespace fuselage::dsl
