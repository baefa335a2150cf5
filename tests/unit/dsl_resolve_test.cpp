// SPDX-License-Identifier: Apache-2.0
// What is wrong with names, operators and types, told with code and place.
#include "core/ops/op_table.h"
#include "dsl/resolve.h"
#include "dsl_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace fuselage;
using fuselage::dsl::test::Loaded;
using Strings = std::vector<std::string>;

namespace {

/// The problems of `fuse 1; rule R { match { BODY } }`, one line.
Strings problemsOf(const std::string& body) {
    return Loaded("fuse 1;\nrule R { match {\n" + body + "\n} }").problems();
}

} // namespace

TEST(DslResolve, EveryOperatorOfEveryDomainHasOneName) {
    const auto& byName = dsl::operatorsByName();
    for (const OpRow& row : allRows()) {
        if (row.op == Op::Unknown || row.op == Op::Fused)
            continue;
        auto named = std::count_if(byName.begin(), byName.end(),
                                   [&](const auto& each) { return each.second == row.op; });
        EXPECT_EQ(named, 1) << row.domain << " " << row.name
                            << ": another operator has the name; give this domain a prefix";
    }
    EXPECT_EQ(dsl::operatorNamed("MsAttention"), opFromName("com.microsoft", "Attention"));
    EXPECT_EQ(dsl::operatorNamed("Attention"), opFromName("", "Attention"));
    EXPECT_EQ(dsl::operatorNamed("FusedMatMul"), opFromName("com.microsoft", "FusedMatMul"));
    EXPECT_EQ(dsl::operatorNamed("MsFusedMatMul"), std::nullopt) << "one name each";
}

TEST(DslResolve, UnknownOperatorsComeWithASuggestion) {
    Loaded loaded("fuse 1;\nrule R { match { y = Covn(x, w); } }");
    EXPECT_EQ(loaded.problems(),
              (Strings{"E0201 2:22 there is no operator, class or pattern `Covn`"}));
    EXPECT_EQ(loaded.result.diagnostics.all()[0].fix, "did you mean `Conv`?");
}

TEST(DslResolve, UnknownAttributesListTheSchema) {
    Loaded loaded("fuse 1;\nrule R { match { y = Flatten(x)[axes == 1]; } }");
    EXPECT_EQ(loaded.problems(), (Strings{"E0214 2:33 Flatten has no attribute `axes`"}));
    EXPECT_EQ(loaded.result.diagnostics.all()[0].fix, "did you mean `axis`?");
    EXPECT_NE(loaded.rendered().find("note: Flatten has the attribute axis"), std::string::npos);
}

TEST(DslResolve, AttributeTypesAreChecked) {
    EXPECT_EQ(problemsOf("y = Flatten(x)[axis == [1]];"),
              (Strings{"E0219 3:24 `axis` of Flatten has another type"}));
    EXPECT_EQ(problemsOf("y = Transpose(x)[perm == 1];"),
              (Strings{"E0219 3:26 `perm` of Transpose has another type"}));
    EXPECT_EQ(problemsOf("y = Flatten(x)[axis in 1];"),
              (Strings{"E0219 3:24 `axis` of Flatten has another type"}));
}

TEST(DslResolve, OperandsAreCountedAndNamed) {
    EXPECT_EQ(problemsOf("y = Relu(x, z);"), (Strings{"E0205 3:5 Relu has fewer operands"}));
    EXPECT_EQ(problemsOf("y = Clip(input = x, mni = 0);"),
              (Strings{"E0218 3:21 Clip has no input `mni`"}));
    EXPECT_EQ(problemsOf("a, b = Relu(x);"), (Strings{"E0205 3:4 Relu has fewer outputs"}));
}

TEST(DslResolve, SeveralErrorsInOneRuleAreAllReported) {
    EXPECT_EQ(problemsOf("y = Covn(x) -> Reul;\nwhere z.rank == 1, N > 2;"),
              (Strings{"E0201 3:5 there is no operator, class or pattern `Covn`",
                       "E0201 3:16 there is no operator, class or pattern `Reul`",
                       "E0230 4:7 nothing is called `z`", "E0230 4:20 nothing is called `N`"}));
}

TEST(DslResolve, FilesThatImportEachOtherSeeEachOthersNames) {
    const std::map<std::string, std::string> files = {
        {"a", "fuse 1; import \"b\"; pattern PA(x) -> y { y = Relu(x); } "
              "rule A { match { y = PB(x); } }"},
        {"b", "fuse 1; import \"c\"; pattern PB(x) -> y { y = PA(x) -> PC; }"},
        {"c", "fuse 1; import \"a\"; fn two(n) = 2 * n; pattern PC(x) -> y { y = Neg(x); } "
              "rule C { match { y = PB(x) -> Abs; } }"}};
    for (const auto& [first, text] : files) {
        SourceSet sources;
        auto loaded = dsl::loadRules(
            sources, {{first, text, first}},
            [&](const std::string& path) -> Result<std::string> { return files.at(path); });
        EXPECT_EQ(dsl::test::problemsOf(loaded.diagnostics, sources), Strings()) << first;
        EXPECT_EQ(loaded.rules.rules.size(), 2U) << first;
    }
}

TEST(DslResolve, RulesWithErrorsAreLeftOut) {
    Loaded loaded("fuse 1; rule A { match { y = Nope(x); } } rule B { match { y = Relu(x); } }");
    ASSERT_EQ(loaded.result.rules.rules.size(), 1U);
    EXPECT_EQ(loaded.rule().name, "B");
}

TEST(DslResolve, AFileMayReplaceAnImportedName) {
    Loaded loaded("fuse 1; import \"std/activation\"; pattern Act(x) -> y { y = Abs(x); } "
                  "rule R { match { y = Neg(a) -> Act; } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Rule& rule = loaded.result.rules.rules.back();
    const Term& root = rule.term(rule.match.definitions.back().term);
    EXPECT_EQ(rule.term(root.step).ops, std::vector<Op>{Op::Abs});
}

TEST(DslResolve, NamesAreUniqueInAFile) {
    EXPECT_EQ(Loaded("fuse 1;\nclass A = Relu;\nclass A = Abs;").problems(),
              (Strings{"E0203 3:7 class `A` has a name that is taken"}));
    EXPECT_EQ(Loaded("fuse 1;\nclass Relu = Abs;").problems(),
              (Strings{"E0203 2:7 class `Relu` has a name that is taken"}));
    EXPECT_EQ(Loaded("fuse 1;\nrule A { match { y = Abs(x); } }\nrule A { match { y = Neg(x); } }")
                  .problems(),
              (Strings{"E0203 3:6 rule `A` has a name that is taken"}));
}

TEST(DslResolve, MissingImportsAreReportedWhereTheyAreNamed) {
    EXPECT_EQ(Loaded("fuse 1;\nimport \"std/nothing\";").problems(),
              (Strings{"E0202 2:1 import `std/nothing` cannot be loaded"}));
}

TEST(DslResolve, RecursivePatternsAreRefused) {
    Loaded loaded(
        "fuse 1; pattern A(x) -> y { y = B(x); } pattern B(x) -> y { y = A(x) -> Relu; }\n"
        "rule R { match { y = A(x); } }");
    ASSERT_FALSE(loaded.problems().empty());
    EXPECT_EQ(loaded.problems()[0].substr(0, 5), "E0212");
    Loaded function(
        "fuse 1; fn f(a) = f(a) + 1;\nrule R { match { y = Abs(x); where f(1) == 2; } }");
    EXPECT_EQ(function.problems(), (Strings{"E0212 1:19 function `f` calls itself"}));
}

TEST(DslResolve, PatternsThatGrowExponentiallyAreRefused) {
    std::string text = "fuse 1; pattern P0(x) -> y { y = Add(Relu(x), Abs(x)); }";
    for (int i = 1; i < 40; ++i) {
        std::string inner = "P" + std::to_string(i - 1);
        text += " pattern P" + std::to_string(i) + "(x) -> y { y = Add(" + inner + "(x), " + inner +
                "(Neg(x))); }";
    }
    Loaded loaded(text + "\nrule R { match { y = P39(x); } }");
    ASSERT_FALSE(loaded.problems().empty());
    EXPECT_EQ(loaded.problems()[0].substr(0, 5), "E0213");
}

TEST(DslResolve, FunctionsThatGrowExponentiallyAreRefused) {
    std::string text = "fuse 1; fn f0(a) = a + a;";
    for (int i = 1; i < 40; ++i)
        text += " fn f" + std::to_string(i) + "(a) = f" + std::to_string(i - 1) + "(a) + f" +
                std::to_string(i - 1) + "(a);";
    Loaded loaded(text + "\nrule R { match { y = Abs(x); where f39(1) > 0; } }");
    ASSERT_FALSE(loaded.problems().empty());
    EXPECT_EQ(loaded.problems()[0].substr(0, 5), "E0213");
}

TEST(DslResolve, ListsAndSinglesAreToldApart) {
    EXPECT_EQ(problemsOf("y = Relu(x); many 2..4 { m = MatMul(y, w); } where w.rank == 2;"),
              (Strings{"E0233 3:52 `w` is a list here"}));
    EXPECT_EQ(problemsOf("y = Relu(x); where len(x[]) == 2;"),
              (Strings{"E0233 3:24 `x` is no list"}));
}

TEST(DslResolve, StepsMustReadTheirSource) {
    EXPECT_EQ(problemsOf("y = Relu(x) -> z;"),
              (Strings{"E0241 3:16 this step does not read what stands before `->`"}));
    EXPECT_EQ(problemsOf("y = Relu(x) -> (Abs | z);"),
              (Strings{"E0241 3:23 this alternative does not read what stands before `->`"}));
    EXPECT_EQ(problemsOf("y = Relu? -> Abs;"),
              (Strings{"E0240 3:5 the first step of a chain cannot be left out"}));
}

TEST(DslResolve, RulesHaveOneMatchAndSingleClauses) {
    EXPECT_EQ(Loaded("fuse 1;\nrule A { gate always; }").problems(),
              (Strings{"E0210 2:6 rule `A` has no `match`"}));
    EXPECT_EQ(Loaded("fuse 1;\nrule A { match { y = Abs(x); }\ngate always; gate gain.us > 0; }")
                  .problems(),
              (Strings{"E0211 3:14 rule `A` has two `gate` clauses"}));
}

TEST(DslResolve, ClausesNameOnlyWhatTheMatchBinds) {
    EXPECT_EQ(
        Loaded("fuse 1;\nrule A { match { yes = Abs(x); }\nescape yse: export; qdq { INPUT: u; }\n"
               "verify 2 with { K in {1} }; rewrite { z = Neg(x); } }")
            .problems(),
        (Strings{"E0230 3:8 nothing in `match` is called `yse`",
                 "E0230 3:34 nothing in `match` is called `u`",
                 "E0230 4:17 no type in `match` has a dimension `K`",
                 "E0230 4:39 nothing in `match` is called `z`"}));
}

TEST(DslResolve, NodesAreBuiltOnlyInRewrites) {
    EXPECT_EQ(problemsOf("y = Abs(x); where Relu(x) == 1;"),
              (Strings{"E0242 3:19 a node can only be built in `rewrite`"}));
}

TEST(DslResolve, SyntaxErrorsDoNotRaiseFollowUps) {
    EXPECT_EQ(problemsOf("s = Abs(x) y = Neg(s);\nwhere s.rank == 1;").size(), 1U);
}

TEST(DslResolve, FlatNeedsAnOperatorWithoutOrder) {
    EXPECT_EQ(problemsOf("y = flat Sub(a, b, c);").at(0).substr(0, 9), "E0215 3:1");
    EXPECT_EQ(problemsOf("y = flat Mul(a, b, c, d, e, f, g);").at(0).substr(0, 5), "E0217");
}

TEST(DslResolve, EveryErrorHasAFix) {
    Loaded loaded("fuse 1;\nclass A = Nope | @nope;\nrule R { match { y = Covn(x)[q == 1] -> z; "
                  "z = Clip(a = x); where f(1) == g; } qdq { I: h; } }\nrule S { }");
    EXPECT_GE(loaded.problems().size(), 7U);
    for (const Diagnostic& d : loaded.result.diagnostics.all())
        EXPECT_FALSE(d.fix.empty()) << d.message;
}
