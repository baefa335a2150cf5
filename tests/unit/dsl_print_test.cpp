// SPDX-License-Identifier: Apache-2.0
// AST -> text: printing and parsing again changes nothing, neither the text nor what it means.
#include "dsl/print.h"
#include "dsl_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using fuselage::dsl::test::Loaded;
using fuselage::dsl::test::Parsed;

namespace {

std::string printed(const std::string& text) {
    Parsed parsed(text);
    EXPECT_EQ(parsed.rendered(), "");
    return dsl::print(parsed.result.file);
}

void describe(const Expression& e, std::string& out) {
    out += "(" + std::to_string(static_cast<int>(e.kind)) + e.text + std::to_string(e.number) +
           "#" + std::to_string(e.slot);
    for (const Expression& arg : e.args)
        describe(arg, out);
    for (auto& [name, value] : e.named) {
        out += name;
        describe(value, out);
    }
    out += ")";
}

/// Everything of the compiled rules that does not depend on places in the text.
std::string meaning(const std::string& text) {
    Loaded loaded(text);
    EXPECT_EQ(loaded.rendered(), "");
    std::string out;
    for (const Rule& rule : loaded.result.rules.rules) {
        out += "\n" + rule.name + rule.phase + std::to_string(rule.priority) + rule.documentation;
        for (const Term& term : rule.terms) {
            out += " " + std::to_string(static_cast<int>(term.kind)) + ":" +
                   std::to_string(term.slot.value_or(99)) + std::to_string(term.number) +
                   std::to_string(term.least) + std::to_string(term.most);
            for (Op op : term.ops)
                out += nameOf(op);
            for (const Argument& argument : term.arguments)
                out += "," + argument.name + std::to_string(argument.term.index());
            for (const AttributeTest& test : term.tests) {
                out += test.name + test.comparison;
                describe(test.value, out);
            }
        }
        for (const Condition& condition : rule.match.conditions)
            describe(condition.expression, out);
        for (const Assignment& assignment : rule.rewrite)
            describe(assignment.value, out);
        out += std::to_string(rule.qdq.size()) + std::to_string(rule.escapes.size());
    }
    return out + std::to_string(loaded.result.tests.size());
}

void expectStable(const std::string& text) {
    std::string once = printed(text);
    EXPECT_EQ(printed(once), once);
    EXPECT_EQ(meaning(once), meaning(text));
}

} // namespace

TEST(DslPrint, TheExamplesOfTheManualAreStable) {
    expectStable(dsl::test::exampleText());
}

TEST(DslPrint, TheStandardFilesAreStable) {
    for (std::string_view path : embeddedPatternPaths())
        expectStable(std::string(*embeddedPattern(path)));
}

TEST(DslPrint, ParenthesesStandOnlyWhereTheyMatter) {
    auto body = [](const std::string& expr) {
        Parsed parsed("fuse 1; fn f(a, b, c) = " + expr + ";");
        EXPECT_EQ(parsed.rendered(), "");
        return dsl::print(std::get<dsl::ast::Function>(parsed.result.file.items.at(0)).body);
    };
    EXPECT_EQ(body("(a + b) + c"), "a + b + c");
    EXPECT_EQ(body("a + (b + c)"), "a + (b + c)");
    EXPECT_EQ(body("(a * b) + -(c)"), "a * b + -c");
    EXPECT_EQ(body("-(a + b)"), "-(a + b)");
    EXPECT_EQ(body("not (a and b) or c == 1"), "not (a and b) or c == 1");
    EXPECT_EQ(body("(a ?? b) + 1"), "(a ?? b) + 1");
    EXPECT_EQ(body("(a.x)[ 0 ] in {1,2}"), "a.x[0] in {1, 2}");
}

TEST(DslPrint, StringsKeepTheirEscapes) {
    std::string text = "fuse 1;\n\nrule R {\n  match {\n    y = Abs(x);\n  }\n"
                       "  hint \"a \\\"quoted\\\" \\\\ word\";\n}\n";
    EXPECT_EQ(printed(text), text);
}

TEST(DslPrint, CanonicalForm) {
    EXPECT_EQ(printed("fuse 1; import \"std/activation\";import \"std/linear\";\n/// Doc.\nrule A "
                      "priority 2 in x once{match{y=Conv(x:float|float16[N,...],w?:const)->s@Add(_,"
                      "1)?->Relu{1..2};many 2..3 all{m=Abs(y);}}escape s:export if s.bytes<1;}"),
              "fuse 1;\n\nimport \"std/activation\";\nimport \"std/linear\";\n\n/// Doc.\n"
              "rule A priority 2 in x once {\n"
              "  match {\n"
              "    y = Conv(x: float|float16 [N, ...], w?: const) -> s@Add(_, 1)? -> Relu{1..2};\n"
              "    many 2..3 all {\n"
              "      m = Abs(y);\n"
              "    }\n"
              "  }\n"
              "  escape s: export if s.bytes < 1;\n"
              "}\n");
}
