// SPDX-License-Identifier: Apache-2.0
// Properties over random rule files: printing and parsing gives the same tree back; formatting
// keeps every word and every comment in its order, and formatting twice changes nothing more.
#include "dsl/print.h"
#include "dsl/service/format.h"
#include "dsl/tokens.h"
#include "dsl_support.h"
#include "tests/support/random_rules.h"
#include "tests/support/syntax_text.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace fuselage;
using fuselage::dsl::test::Parsed;
using testing_support::randomFile;
using testing_support::scattered;
using testing_support::syntaxText;

namespace {

constexpr uint32_t files = 500;

std::vector<std::string> wordsOf(const std::string& text) {
    std::vector<std::string> out;
    for (const dsl::Token& token : dsl::tokenize(text)) {
        std::string word(dsl::textOf(token, text));
        // The formatter drops white space at the end of a comment.
        out.push_back(word.substr(0, word.find_last_not_of(" \t\r") + 1));
    }
    return out;
}

} // namespace

TEST(DslRoundTrip, ParsingWhatWasPrintedGivesTheSameTree) {
    for (uint32_t seed = 0; seed < files; ++seed) {
        dsl::ast::File file = randomFile(seed);
        std::string text = dsl::print(file);
        Parsed parsed(text);
        ASSERT_EQ(parsed.rendered(), "") << "seed " << seed << "\n" << text;
        ASSERT_EQ(syntaxText(parsed.result.file), syntaxText(file)) << "seed " << seed << "\n"
                                                                    << text;
        ASSERT_EQ(dsl::print(parsed.result.file), text) << "seed " << seed;
    }
}

TEST(DslRoundTrip, TheFilesHoldEveryKindOfClauseAndStatement) {
    std::string all;
    for (uint32_t seed = 0; seed < files; ++seed)
        all += dsl::print(randomFile(seed));
    for (const char* word :
         {"rewrite {", "gate ",     "escape ",   "numeric ", "qdq {",   "verify ", "hint ",
          "test \"",   "unless {",  "many ",     " all {",   "region ", " outs ",  "flat ",
          "spec ",     "ordered ",  "s2@",       "...",      "?",       " ?? ",    "not ",
          "pipeline ", " by exact", "opset >= ", "class ",   "fn ",     "~"})
        EXPECT_NE(all.find(word), std::string::npos) << word;
}

TEST(DslRoundTrip, FormattingKeepsEveryWordAndEveryComment) {
    for (uint32_t seed = 0; seed < files; ++seed) {
        std::string text = scattered(dsl::print(randomFile(seed)), seed);
        ASSERT_EQ(wordsOf(dsl::formatText(text)), wordsOf(text)) << "seed " << seed << "\n" << text;
    }
}

TEST(DslRoundTrip, FormattingTwiceChangesNothingMore) {
    for (uint32_t seed = 0; seed < files; ++seed) {
        std::string text = scattered(dsl::print(randomFile(seed)), seed);
        std::string once = dsl::formatText(text);
        ASSERT_EQ(dsl::formatText(once), once) << "seed " << seed << "\n" << text;
    }
}
