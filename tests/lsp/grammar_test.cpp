// SPDX-License-Identifier: Apache-2.0
// The colouring grammar for editors names the words of the language, all of them and no others.
#include "dsl/words.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
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

/// The words of the last group "(a|b|c)" of an expression.
Words alternatives(const std::string& expression) {
    const size_t begin = expression.rfind('(') + 1;
    std::istringstream list(expression.substr(begin, expression.rfind(')') - begin));
    Words out;
    for (std::string word; std::getline(list, word, '|');)
        out.insert(word);
    return out;
}

TEST(EditorGrammar, namesTheWordsOfTheLanguage) {
    std::map<WordPlace, Words> wanted;
    for (const dsl::WordRow& row : dsl::wordRows())
        wanted[row.place].insert(row.word);
    const auto grammar =
        nlohmann::json::parse(std::ifstream(FUSELAGE_EDITORS "/vscode/fuse.tmLanguage.json"));
    ASSERT_EQ(wanted.size(), entries.size());
    for (const auto& [place, words] : wanted) {
        const std::string& entry = entries.at(place);
        EXPECT_EQ(alternatives(grammar["repository"][entry]["match"]), words) << entry;
        EXPECT_NE(grammar["patterns"].dump().find("#" + entry + "\""), std::string::npos) << entry;
    }
}

/// `\"` does not end a text, in either grammar.
TEST(EditorGrammar, escapedQuotesDoNotEndATextThere) {
    const auto grammar =
        nlohmann::json::parse(std::ifstream(FUSELAGE_EDITORS "/vscode/fuse.tmLanguage.json"));
    const std::string escape = grammar["repository"]["strings"]["patterns"][0]["match"];
    EXPECT_TRUE(std::regex_match("\\\"", std::regex(escape)));
    EXPECT_FALSE(std::regex_match("\"", std::regex(escape)));
    std::stringstream kate;
    kate << std::ifstream(FUSELAGE_EDITORS "/kate/fuse.xml").rdbuf();
    const std::string text = kate.str();
    const size_t context = text.find("<context name=\"String\"");
    const size_t escaped = text.find("String=\"\\\\.\"", context);
    EXPECT_LT(escaped, text.find("context=\"#pop\"", context)) << "before the quote that ends it";
}

} // namespace
} // namespace fuselage::lsp_test
