// SPDX-License-Identifier: Apache-2.0
// Text -> AST: shapes of the tree, several errors in one text with their places, hostile input.
#include "dsl_support.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace fuselage;
using namespace fuselage::dsl;
using fuselage::dsl::test::Parsed;
using Strings = std::vector<std::string>;

namespace {

template <typename T> const T& itemAt(const Parsed& parsed, size_t index) {
    return std::get<T>(parsed.result.file.items.at(index));
}

} // namespace

TEST(DslParse, TheExamplesOfTheManualParse) {
    std::string text = test::exampleText();
    ASSERT_FALSE(text.empty());
    Parsed parsed(text);
    EXPECT_EQ(parsed.rendered(), "");
    EXPECT_EQ(parsed.result.file.items.size(), 16U);
}

TEST(DslParse, ChainOfStepsKeepsQuantifiers) {
    Parsed parsed("fuse 1; rule R { match { y = Conv(x) -> BatchNormalization? -> Relu{1..3}; } }");
    ASSERT_EQ(parsed.rendered(), "");
    const auto& match = std::get<ast::Match>(itemAt<ast::Rule>(parsed, 0).clauses.at(0));
    const auto& define = std::get<ast::Define>(match.body.at(0));
    const auto& steps = define.choice.alternatives.at(0).chain.steps;
    ASSERT_EQ(steps.size(), 3U);
    EXPECT_EQ(steps[1].quantifier, ast::Step::Quantifier::Optional);
    EXPECT_EQ(steps[2].quantifier, ast::Step::Quantifier::Repeat);
    EXPECT_EQ(steps[2].range.most, 3U);
}

TEST(DslParse, LabelAndTypeAreToldApart) {
    Parsed parsed("fuse 1; pattern P(x) -> y { y = relu: Relu(x) | x: [N] -> Abs; z: float [1]; }");
    ASSERT_EQ(parsed.rendered(), "");
    const auto& body = itemAt<ast::Pattern>(parsed, 0).body;
    const auto& alternatives = std::get<ast::Define>(body.at(0)).choice.alternatives;
    ASSERT_EQ(alternatives.size(), 2U);
    EXPECT_EQ(alternatives[0].label->text, "relu");
    EXPECT_FALSE(alternatives[1].label);
    EXPECT_TRUE(alternatives[1].chain.steps[0].term.type->hasDims);
    EXPECT_EQ(std::get<ast::Define>(body.at(1))
                  .choice.alternatives[0]
                  .chain.steps[0]
                  .term.type->dtypes[0]
                  .text,
              "float");
}

TEST(DslParse, DocCommentsBelongToTheItemBelow) {
    Parsed parsed("fuse 1;\n/// First.\n/// Second.\nclass A = Relu;\n// plain\nclass B = Abs;");
    EXPECT_EQ(itemAt<ast::Class>(parsed, 0).documentation, "First.\nSecond.");
    EXPECT_EQ(itemAt<ast::Class>(parsed, 1).documentation, "");
}

TEST(DslParse, SpansCoverNamesExactly) {
    Parsed parsed("fuse 1;\n  rule   Abc {\n match { y = Relu(x); } }");
    const ast::Rule& rule = itemAt<ast::Rule>(parsed, 0);
    EXPECT_EQ(parsed.sources.text(rule.name.span), "Abc");
    EXPECT_EQ(parsed.sources.where(rule.span), "t.fuse:2:3");
}

TEST(DslParse, BindingStrengthOfOperators) {
    Parsed parsed("fuse 1; fn f(a, b) = not a + 2 * -b == 1 and a ?? b > 0 or a.x[0] in {1, 2};");
    ASSERT_EQ(parsed.rendered(), "");
    const ast::Expr& whole = itemAt<ast::Function>(parsed, 0).body;
    EXPECT_EQ(whole.text, "or");
    EXPECT_EQ(whole.args[1].text, "in");
    const ast::Expr& conjunction = whole.args[0];
    EXPECT_EQ(conjunction.text, "and");
    EXPECT_EQ(conjunction.args[0].text, "not");
    EXPECT_EQ(conjunction.args[0].args[0].text, "==");
    EXPECT_EQ(conjunction.args[0].args[0].args[0].text, "+");
    EXPECT_EQ(conjunction.args[1].text, ">");
    EXPECT_EQ(conjunction.args[1].args[0].text, "??");
}

TEST(DslParse, SeveralErrorsInOneTextEachWithItsPlace) {
    Parsed parsed("fuse 1;\n"
                  "rule A {\n"
                  "  match {\n"
                  "    y = Conv(x w);\n"
                  "    z = Relu(y);\n"
                  "    u = -> ;\n"
                  "  }\n"
                  "  gaet always;\n"
                  "  numeric sloppy;\n"
                  "}\n"
                  "ruel B { match { y = Relu(x); } }\n"
                  "rule C { match { y = Abs(x); } }\n");
    EXPECT_EQ(parsed.problems(), (Strings{"E0101 4:16 expected `)`", "E0101 6:9 expected a pattern",
                                          "E0101 8:3 expected a clause",
                                          "E0101 9:11 expected `exact`, `wider`, `reassociated` or "
                                          "`approximate`",
                                          "E0101 11:1 expected an item"}));
    ASSERT_EQ(parsed.result.file.items.size(), 2U);
    EXPECT_EQ(itemAt<ast::Rule>(parsed, 1).name.text, "C");
}

TEST(DslParse, MissingSemicolonIsReportedBehindTheLine) {
    Parsed parsed("fuse 1;\nrule A {\n  match {\n    y = Relu(x)\n  }\n}\n");
    EXPECT_EQ(parsed.problems(), (Strings{"E0101 4:15 expected `;`"}));
}

TEST(DslParse, UnclosedBodyDoesNotSwallowTheNextRule) {
    Parsed parsed("fuse 1;\nrule A {\n  match { y = Relu(x);\nrule B { match { y = Abs(x); } }\n");
    ASSERT_EQ(parsed.problems().size(), 1U) << parsed.rendered();
    EXPECT_EQ(parsed.problems()[0], "E0103 3:22 expected `}`");
    ASSERT_FALSE(parsed.result.file.items.empty());
    EXPECT_EQ(std::get<ast::Rule>(parsed.result.file.items.back()).name.text, "B");
}

TEST(DslParse, FirstLineNamesTheVersion) {
    EXPECT_EQ(Parsed("rule A { }").problems(), (Strings{"E0104 1:1 expected `fuse 1;`"}));
    EXPECT_EQ(Parsed("fuse 2;").problems(),
              (Strings{"E0104 1:1 this language version is not known"}));
    EXPECT_EQ(Parsed("").problems().size(), 1U);
}

TEST(DslParse, UnclosedStringIsOneError) {
    Parsed parsed("fuse 1;\nimport \"std/x;\nrule A { match { y = Relu(x); } }\n");
    EXPECT_EQ(parsed.problems(), (Strings{"E0102 2:8 string is not closed"}));
}

TEST(DslParse, StrayCharacterIsReported) {
    Parsed parsed("fuse 1;\nclass A = Relu;\nclass B = $;\n");
    ASSERT_FALSE(parsed.problems().empty());
    EXPECT_EQ(parsed.problems()[0], "E0106 3:11 the language does not use this character");
}

TEST(DslParse, HugeNestingIsRefusedNotCrashed) {
    for (const char* open : {"(", "[", "{"}) {
        std::string deep;
        for (int i = 0; i < 100000; ++i)
            deep += open;
        Parsed parsed("fuse 1; fn f(a) = " + deep + ";");
        ASSERT_EQ(parsed.problems().size(), 1U);
        EXPECT_EQ(parsed.problems()[0].substr(0, 5), "E0105");
    }
}

TEST(DslParse, LongOperatorRowsAreRefusedNotCrashed) {
    std::string row = "a";
    for (int i = 0; i < 100000; ++i)
        row += "+a";
    Parsed parsed("fuse 1; fn f(a) = " + row + ";");
    ASSERT_EQ(parsed.problems().size(), 1U);
    EXPECT_EQ(parsed.problems()[0].substr(0, 5), "E0105");
    Parsed nots("fuse 1; fn f(a) = " + std::string(400000, '-') + "a;");
    EXPECT_FALSE(nots.problems().empty());
}

TEST(DslParse, EveryPrefixOfTheExamplesTerminates) {
    std::string text = test::exampleText();
    for (size_t length = 0; length < text.size(); length += 37) {
        Parsed parsed(text.substr(0, length));
        EXPECT_LE(parsed.problems().size(), 3U) << parsed.rendered();
    }
}

TEST(DslParse, AMegabyteOfRulesTakesUnderASecond) {
    std::string body = test::exampleText();
    body.erase(0, body.find("fuse 1;") + 7);
    std::string text = "fuse 1;";
    while (text.size() < 1000000)
        text += body;
    auto begin = std::chrono::steady_clock::now();
    Parsed parsed(text);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(parsed.result.diagnostics.empty());
    RecordProperty("milliseconds", static_cast<int>(seconds.count() * 1000));
    EXPECT_LT(seconds.count(), 5.0) << "aim: under one second on an idle machine";
}

TEST(DslParse, AByteOrderMarkIsNoText) {
    const std::string mark = "\xef\xbb\xbf";
    for (const char* text :
         {"fuse 1;", "fuse 1;\n", "fuse 1; class A = Relu;", "fuse 1;\r\n\r\n"}) {
        Parsed parsed(mark + text);
        EXPECT_EQ(parsed.rendered(), "") << text;
    }
}

TEST(DslParse, NoMessageShowsTheInsideOfTheParser) {
    std::string text = test::exampleText();
    SourceSet sources;
    for (const Token& token : tokenize(text)) {
        std::string without = text.substr(0, token.begin) + text.substr(token.end);
        Parsed parsed(without);
        EXPECT_EQ(parsed.rendered().find("something else"), std::string::npos) << parsed.rendered();
    }
}
