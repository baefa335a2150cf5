// SPDX-License-Identifier: Apache-2.0
// The grammar for editors that read tree-sitter: it names the words of the language and takes every
// file that the language takes. The second needs `tree-sitter`, `node` and a C compiler.
#include "core/graph/dtype.h"
#include "dsl/print.h"
#include "dsl/words.h"
#include "tests/support/process.h"
#include "tests/support/random_rules.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace fuselage::lsp_test {
namespace {

using testing_support::runProcess;
namespace fs = std::filesystem;

constexpr uint32_t generatedFiles = 500;

std::string textOfFile(const fs::path& path) {
    std::stringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
}

/// Words that stand for something by where they stand: the grammar sees a name.
bool isAName(dsl::WordPlace place) {
    using Place = dsl::WordPlace;
    return place == Place::Member || place == Place::RootMember || place == Place::Root ||
           place == Place::Phase || place == Place::Trait;
}

TEST(TreeSitter, NamesTheWordsOfTheLanguage) {
    const std::string grammar = textOfFile(FUSELAGE_EDITORS "/tree-sitter/grammar.js");
    const std::string colours = textOfFile(FUSELAGE_EDITORS "/tree-sitter/queries/highlights.scm");
    for (const dsl::WordRow& row : dsl::wordRows()) {
        if (isAName(row.place))
            continue;
        const std::string word = row.word;
        EXPECT_NE(grammar.find("'" + word + "'"), std::string::npos) << word;
        if (row.place != dsl::WordPlace::Flag)
            EXPECT_NE(colours.find("\"" + word + "\""), std::string::npos) << word;
    }
}

TEST(TreeSitter, NamesTheElementTypes) {
    const std::string grammar = textOfFile(FUSELAGE_EDITORS "/tree-sitter/grammar.js");
    for (int64_t number = 1; auto type = dtypeFromOnnx(number); ++number)
        EXPECT_NE(grammar.find("'" + std::string(nameOf(*type)) + "'"), std::string::npos)
            << nameOf(*type);
}

/// A parser made of the grammar, in a folder of its own.
class TreeSitterParser : public ::testing::Test {
protected:
    void SetUp() override {
        if (!runProcess({"tree-sitter", "--version"}) || !runProcess({"node", "--version"}))
            GTEST_SKIP() << "no tree-sitter or node in PATH";
        fs::copy(FUSELAGE_EDITORS "/tree-sitter", m_folder.path(),
                 fs::copy_options::recursive | fs::copy_options::overwrite_existing);
        run({"generate"});
    }

    void run(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "tree-sitter");
        const auto done =
            runProcess(arguments, {.folder = m_folder.path(),
                                   .environment = {{"HOME", m_folder.path()},
                                                   {"XDG_CACHE_HOME", m_folder.file("cache")}}});
        ASSERT_TRUE(done);
        ASSERT_EQ(done->exitCode, 0) << done->output << done->errors;
    }

    testing_support::TemporaryFolder m_folder;
};

TEST_F(TreeSitterParser, TakesWhatTheLanguageTakes) {
    std::vector<std::string> files;
    for (const char* folder : {FUSELAGE_PATTERNS, FUSELAGE_EXAMPLES})
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
            if (entry.path().extension() == ".fuse")
                files.push_back(entry.path());
    ASSERT_GT(files.size(), 20u);
    m_folder.write("odd.fuse",
                   "fuse 1;\nrule R { match { y = Relu(x); } hint \"/// three\"; rewrite { "
                   "y = com.acme._gated(x, inf); } }\n");
    files.push_back(m_folder.file("odd.fuse"));
    for (uint32_t seed = 0; seed < generatedFiles; ++seed) {
        const std::string name = std::to_string(seed) + ".fuse";
        m_folder.write(
            name, testing_support::scattered(dsl::print(testing_support::randomFile(seed)), seed));
        files.push_back(m_folder.file(name));
    }
    std::vector<std::string> parse{"parse", "--quiet"};
    parse.insert(parse.end(), files.begin(), files.end());
    run(parse);
}

TEST_F(TreeSitterParser, ColoursByNodesThatTheGrammarHas) {
    run({"query", "queries/highlights.scm", FUSELAGE_PATTERNS "/std/convert.fuse"});
}

} // namespace
} // namespace fuselage::lsp_test
