// SPDX-License-Identifier: Apache-2.0
// The standard library as a whole: its tests, its lints, what its page says about it, and the
// unsound rules that the numeric proof has to catch.
#include "app/pipeline/lint/lint.h"
#include "core/support/file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

using namespace fuselage;
namespace fs = std::filesystem;

namespace {

const fs::path sourceRoot = FUSELAGE_SOURCE_DIR;

app::RuleLibrary standardLibrary() {
    return std::move(*app::loadRuleLibrary({}));
}

std::set<std::string> ruleNames(const app::RuleLibrary& library) {
    std::set<std::string> out;
    for (const Rule& rule : library.loaded.rules.rules)
        out.insert(rule.name);
    return out;
}

std::vector<std::string> allMatches(const std::string& text, const std::regex& pattern) {
    std::vector<std::string> out;
    for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
        out.push_back((*it)[1]);
    return out;
}

} // namespace

TEST(StandardLibrary, EveryRuleHasATestInWhichItFiresAndOneInWhichItMustNot) {
    app::RuleLibrary library = standardLibrary();
    for (const Rule& rule : library.loaded.rules.rules) {
        bool fires = false, refuses = false;
        for (const dsl::RuleTest& test : library.loaded.tests) {
            if (test.rule != rule.name)
                continue;
            fires = fires || test.fires.value_or(0) > 0;
            refuses = refuses || test.fires == 0U || !test.misses.empty();
        }
        EXPECT_TRUE(fires) << rule.name;
        EXPECT_TRUE(refuses) << rule.name;
    }
}

TEST(StandardLibrary, HasNoLint) {
    app::RuleLibrary library = standardLibrary();
    Progress progress;
    auto found = app::lintRules(library, {}, progress);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(render(*found, *library.sources), "");
}

TEST(StandardLibrary, EveryRuleThatItsPageNamesExistsAndEveryRuleIsNamed) {
    std::string page = *readFile((sourceRoot / "patterns/README.md").string());
    size_t from = page.find("## Against the fusion lists"), to = page.find("\n## ", from + 1);
    ASSERT_NE(from, std::string::npos);
    std::set<std::string> rules = ruleNames(standardLibrary());
    std::string lists = page.substr(from, to - from);
    std::vector<std::string> named = allMatches(lists, std::regex("`([A-Z][A-Za-z0-9]+)`"));
    EXPECT_GT(named.size(), 40U);
    for (const std::string& name : named)
        EXPECT_TRUE(rules.contains(name)) << "`" << name << "` is no rule of the library";
    for (const std::string& name : rules)
        EXPECT_TRUE(std::regex_search(page, std::regex("\\b" + name + "\\b")))
            << name << " is not on the page";
}

TEST(StandardLibrary, EveryLineOfTheListsNamesARuleOrAReason) {
    std::string page = *readFile((sourceRoot / "patterns/README.md").string());
    size_t from = page.find("## Against the fusion lists"), to = page.find("\n## ", from + 1);
    std::string lists = page.substr(from, to - from);
    std::regex row("\n\\| ([^|]+) \\| ([^|]*) \\|(?=\n)");
    size_t rows = 0;
    for (std::sregex_iterator it(lists.begin(), lists.end(), row), end; it != end; ++it) {
        std::string here = (*it)[2];
        if (here == "here")
            continue;
        ++rows;
        EXPECT_TRUE(here.find('`') != std::string::npos || here.starts_with("no rule: "))
            << (*it)[1] << " names neither a rule nor a reason";
    }
    EXPECT_GT(rows, 60U);
}

// The cases themselves are run by case_prove; their text says how large a counterexample is.
TEST(UnsoundRules, AtLeastTenAreCaughtWithAtMostFourElementsADimension) {
    std::set<std::string> caught;
    for (const auto& entry : fs::directory_iterator(sourceRoot / "tests/cases/prove")) {
        std::string text = *readFile(entry.path().string());
        for (const std::string& rule : allMatches(text, std::regex("rule (Unsound[A-Za-z0-9]*)"))) {
            std::string line = rule + ": unsound, counterexample of at most 4 elements a dimension";
            EXPECT_NE(text.find("\n" + line), std::string::npos) << entry.path() << ": " << rule;
            caught.insert(rule);
        }
    }
    EXPECT_GE(caught.size(), 10U);
}
