// SPDX-License-Identifier: Apache-2.0
// The colouring grammars for editors name the words of the language: that of VS Code all of them
// and no others, that of Kate all of them.
#include "core/graph/dtype.h"
#include "dsl/words.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace fuselage::lsp_test {
namespace {

using Words = std::set<std::string>;
using dsl::WordPlace;

const std::map<WordPlace, std::string> entries = {
    {WordPlace::Item, "Item"},           {WordPlace::Clause, "Clause"},
    {WordPlace::Statement, "Statement"}, {WordPlace::Term, "Term"},
    {WordPlace::Flag, "Flag"},           {WordPlace::Modifier, "Modifier"},
    {WordPlace::Member, "Member"},       {WordPlace::RootMember, "RootMember"},
    {WordPlace::Root, "Root"},           {WordPlace::Gate, "Gate"},
    {WordPlace::Numeric, "Numeric"},     {WordPlace::Policy, "Policy"},
    {WordPlace::Test, "Test"},           {WordPlace::Expect, "Expect"},
    {WordPlace::Phase, "Phase"},         {WordPlace::Selection, "Selection"},
    {WordPlace::Pipeline, "Pipeline"},   {WordPlace::Trait, "Trait"},
};

/// What a match goes on to ask of the text behind it.
const std::regex lookahead(R"(\(\?=[^()]*\))");

/// The words of the last group "(a|b|c)" of an expression.
Words alternatives(const std::string& given) {
    const std::string expression = std::regex_replace(given, lookahead, "");
    const size_t begin = expression.rfind('(') + 1;
    std::istringstream list(expression.substr(begin, expression.rfind(')') - begin));
    Words out;
    for (std::string word; std::getline(list, word, '|');)
        out.insert(word);
    return out;
}

nlohmann::json textMate() {
    return nlohmann::json::parse(std::ifstream(FUSELAGE_EDITORS "/vscode/fuse.tmLanguage.json"));
}

std::string kate() {
    std::stringstream out;
    out << std::ifstream(FUSELAGE_EDITORS "/kate/fuse.xml").rdbuf();
    return out.str();
}

Words elementTypes() {
    Words out;
    for (int64_t number = 1; auto type = dtypeFromOnnx(number); ++number)
        out.insert(nameOf(*type));
    return out;
}

TEST(EditorGrammar, namesTheWordsOfTheLanguage) {
    std::map<WordPlace, Words> wanted;
    for (const dsl::WordRow& row : dsl::wordRows())
        wanted[row.place].insert(row.word);
    const auto grammar = textMate();
    const auto joint = dsl::jointWords();
    EXPECT_EQ(alternatives(grammar["repository"]["Joint"]["match"]),
              Words(joint.begin(), joint.end()));
    EXPECT_NE(grammar["patterns"].dump().find("#Joint\""), std::string::npos);
    ASSERT_EQ(wanted.size(), entries.size());
    for (const auto& [place, words] : wanted) {
        const std::string& entry = entries.at(place);
        EXPECT_EQ(alternatives(grammar["repository"][entry]["match"]), words) << entry;
        EXPECT_NE(grammar["patterns"].dump().find("#" + entry + "\""), std::string::npos) << entry;
    }
}

TEST(EditorGrammar, namesTheElementTypes) {
    const auto grammar = textMate();
    EXPECT_EQ(alternatives(grammar["repository"]["types"]["match"]), elementTypes());
    EXPECT_NE(grammar["patterns"].dump().find("#types\""), std::string::npos);
}

/// A match that colours one group takes the words around it from all other rules: they need groups
/// and colours of their own.
TEST(EditorGrammar, everyWordOfAMatchHasAColour) {
    size_t matches = 0;
    const auto grammar = textMate();
    for (const auto& [name, entry] : grammar["repository"].items()) {
        if (!entry.contains("captures"))
            continue;
        const std::string expression = entry["match"];
        const std::regex group(R"(\((?!\?)[^()]*\))"), mark(R"(\\.)"), word("[a-z]+");
        const std::string around =
            std::regex_replace(std::regex_replace(expression, group, ""), mark, "");
        EXPECT_FALSE(std::regex_search(around, word)) << name << ": " << around;
        const std::sregex_iterator first(expression.begin(), expression.end(), group);
        EXPECT_EQ(std::distance(first, std::sregex_iterator()),
                  static_cast<std::ptrdiff_t>(entry["captures"].size()))
            << name;
        ++matches;
    }
    EXPECT_GE(matches, 8U);
}

TEST(EditorGrammar, kateNamesTheWordsToo) {
    const std::string text = kate();
    const std::set<WordPlace> names = {WordPlace::Member, WordPlace::RootMember, WordPlace::Root,
                                       WordPlace::Phase, WordPlace::Trait};
    auto holds = [&](const std::string& word) {
        return text.find("<item>" + word + "</item>") != std::string::npos ||
               text.find("\"\\b" + word + "(?=") != std::string::npos;
    };
    for (const dsl::WordRow& row : dsl::wordRows())
        if (!names.contains(row.place))
            EXPECT_TRUE(holds(row.word)) << row.word;
    for (const std::string_view word : dsl::jointWords())
        EXPECT_TRUE(holds(std::string(word))) << word;
    for (const std::string& type : elementTypes())
        EXPECT_TRUE(holds(type)) << type;
}

/// `\"` does not end a text, in either grammar.
TEST(EditorGrammar, escapedQuotesDoNotEndATextThere) {
    const auto grammar = textMate();
    const std::string escape = grammar["repository"]["strings"]["patterns"][0]["match"];
    EXPECT_TRUE(std::regex_match("\\\"", std::regex(escape)));
    EXPECT_FALSE(std::regex_match("\"", std::regex(escape)));
    const std::string text = kate();
    const size_t context = text.find("<context name=\"String\"");
    const size_t escaped = text.find("String=\"\\\\.\"", context);
    EXPECT_LT(escaped, text.find("context=\"#pop\"", context)) << "before the quote that ends it";
}

} // namespace
} // namespace fuselage::lsp_test
