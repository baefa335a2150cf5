// SPDX-License-Identifier: Apache-2.0
// The manuals hold: every ```fuse block of a README checks without a diagnostic, and the tests
// inside of it pass. A block may leave `fuse 1;` out. Tests on networks of the zoo are left to
// `fuselage test`.
#include "app/pipeline/rule_tests.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace fuselage;

namespace {

std::vector<std::string> snippetsOf(const std::string& page) {
    std::ifstream in(std::string(FUSELAGE_SOURCE_DIR) + "/" + page);
    std::vector<std::string> out;
    bool inside = false;
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("```", 0) == 0) {
            inside = !inside && line == "```fuse";
            if (inside)
                out.emplace_back();
        } else if (inside) {
            out.back() += line + "\n";
        }
    }
    return out;
}

void expectHolds(const std::string& snippet) {
    app::RuleOptions options;
    options.builtin = false;
    bool whole = snippet.rfind("fuse 1;", 0) == 0;
    options.texts = {{"snippet.fuse", whole ? snippet : "fuse 1;\n" + snippet}};
    auto library = app::loadRuleLibrary(options);
    ASSERT_TRUE(library) << library.error().text();
    EXPECT_TRUE(library->loaded.diagnostics.empty())
        << render(library->loaded.diagnostics, *library->sources) << snippet;
    app::RuleTestOptions tests;
    tests.files = {"snippet.fuse"};
    std::erase_if(library->loaded.tests, [](const dsl::RuleTest& test) {
        return test.given == dsl::RuleTest::Given::Zoo;
    });
    Progress quiet;
    auto results = app::runRuleTests(*library, tests, quiet);
    ASSERT_TRUE(results) << results.error().text();
    for (const app::RuleTestResult& result : *results)
        EXPECT_TRUE(result.passed())
            << result.where << " " << (result.failures.empty() ? "" : result.failures[0].found)
            << "\n"
            << snippet;
}

void expectPageHolds(const std::string& page, size_t least) {
    std::vector<std::string> snippets = snippetsOf(page);
    EXPECT_GE(snippets.size(), least) << page;
    for (const std::string& snippet : snippets)
        expectHolds(snippet);
}

} // namespace

TEST(Manual, TheLanguage) {
    expectPageHolds("dsl/README.md", 4);
}

TEST(Manual, WritingGoodRules) {
    expectPageHolds("patterns/README.md", 1);
}

TEST(Manual, TheFrontPage) {
    expectPageHolds("README.md", 1);
}
