// SPDX-License-Identifier: Apache-2.0
// What is advised about syntax errors, done: rules of the library with one small mistake each, made
// by chance. Advice that can be followed to the letter must take the grammar further.
#include "core/support/diagnostic.h"
#include "dsl/syntax_advice.h"
#include "dsl/words.h"
#include "dsl_support.h"
#include "patterns/embedded.h"

#include <gtest/gtest.h>

#include <random>

using namespace fuselage;
using namespace fuselage::dsl;

namespace {

/// The items of the library's files, each as a file of its own.
std::vector<std::string> itemsOfTheLibrary() {
    std::vector<std::string> out;
    for (const std::string_view path : embeddedPatternPaths()) {
        const std::string text(*embeddedPattern(path));
        test::Parsed parsed(text);
        for (const ast::Item& item : parsed.result.file.items) {
            const Span span = ast::spanOf(item);
            out.push_back("fuse 1;\n" + text.substr(span.begin, span.end - span.begin) + "\n");
        }
    }
    return out;
}

/// One mistake at a token; the text as it was: none is possible there.
std::string withMistake(const std::string& text, const Token& token, uint32_t kind) {
    const std::string word(textOf(token, text));
    const auto put = [&](const std::string& other) {
        return text.substr(0, token.begin) + other + text.substr(token.end);
    };
    if (token.kind == Token::Kind::Symbol)
        return kind % 2 == 0 ? put("") : put(word + word);
    if (token.kind != Token::Kind::Word)
        return text;
    if (std::isupper(word[0]) != 0)
        return put(std::string(1, static_cast<char>(std::tolower(word[0]))) + word.substr(1));
    return findWord(word) && word.size() > 3 ? put(word.substr(0, 2) + word.substr(3)) : text;
}

struct Followed {
    std::string text; ///< empty: nothing that can be done by the letter
    uint32_t place = 0;
};

/// The text behind the advice of its first error.
Followed followed(const std::string& text) {
    test::Parsed parsed(text);
    const Diagnostic* first = nullptr;
    for (const Diagnostic& d : parsed.result.diagnostics.all())
        if (!first || d.span.begin < first->span.begin)
            first = &d;
    if (!first)
        return {};
    const std::vector<Token>& tokens = parsed.result.tokens;
    const std::string& fix = first->fix;
    std::vector<std::string> quoted;
    for (size_t at = fix.find('`'); at != std::string::npos;) {
        const size_t end = fix.find('`', at + 1);
        quoted.push_back(fix.substr(at + 1, end - at - 1));
        at = fix.find('`', end + 1);
    }
    size_t found = tokenAt(tokens, first->span.begin);
    const bool isBehind =
        first->found !=
        "`" + std::string(text.substr(first->span.begin, first->span.end - first->span.begin)) +
            "`";
    const uint32_t place = isBehind ? first->span.end : first->span.begin;
    if (isBehind)
        ++found;
    const auto replaced = [&](size_t token, const std::string& with) {
        return text.substr(0, tokens[token].begin) + with + text.substr(tokens[token].end);
    };
    if (fix.starts_with("add `") && (fix.ends_with("here") || fix.find(" before `") != fix.npos))
        return {text.substr(0, place) + " " + quoted[0] + " " + text.substr(place), place};
    for (const size_t token : {found, found - 1}) {
        if (token >= tokens.size())
            continue;
        const std::string word(textOf(tokens[token], text));
        if (fix.starts_with("did you mean `") && tokens[token].kind == Token::Kind::Word) {
            std::string out = replaced(token, quoted[0]);
            if (firstErrorOf(out).value_or(text.size()) > place)
                return {out, place};
        }
        if (fix.find(" in place of `") != fix.npos && quoted.back() == word)
            return {replaced(token, quoted[0]), place};
        if (fix.starts_with("leave `") && fix.ends_with("` out") && quoted[0] == word)
            return {replaced(token, ""), place};
    }
    return {};
}

} // namespace

TEST(SyntaxAdvice, TakesTheGrammarFurther) {
    const std::vector<std::string> items = itemsOfTheLibrary();
    ASSERT_GT(items.size(), 100U);
    std::mt19937 random(7);
    size_t mistakes = 0, advised = 0, mended = 0;
    for (int i = 0; i < 3000; ++i) {
        const std::string& text = items[random() % items.size()];
        const std::vector<Token> tokens = tokenize(text);
        const std::string wrong =
            withMistake(text, tokens[random() % tokens.size()], random() & 0xFFU);
        if (wrong == text || !firstErrorOf(wrong))
            continue;
        ++mistakes;
        const Followed mine = followed(wrong);
        if (mine.text.empty())
            continue;
        ++advised;
        const std::optional<uint32_t> next = firstErrorOf(mine.text);
        mended += !next ? 1 : 0;
        test::Parsed parsed(wrong);
        EXPECT_TRUE(!next || *next > mine.place) << parsed.rendered() << "\nbecame\n"
                                                 << mine.text << test::Parsed(mine.text).rendered();
    }
    RecordProperty("mistakes", static_cast<int>(mistakes));
    std::cout << mistakes << " mistakes, " << advised << " with advice to the letter, " << mended
              << " mended by it\n";
    EXPECT_GT(mistakes, 1000U);
    EXPECT_GT(advised * 100, mistakes * 85);
    EXPECT_GT(mended * 100, advised * 93);
}
