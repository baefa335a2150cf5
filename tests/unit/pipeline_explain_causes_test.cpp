// SPDX-License-Identifier: Apache-2.0
// What explain names as the cause: rules whose nodes others have, blocks of `unless`, the operand
// that a condition looks at, two nodes that should be together, nodes without a launch.
#include "tests/unit/explain_questions.h"

using namespace fuselage;
using namespace fuselage::test;

namespace {

constexpr const char* reluTanh = "g (float[2,8] x) => (float[2,8] y) { a = Relu(x) y = Tanh(a) }";

} // namespace

/// Another rule had the node before this one was searched for: what it wants of the node itself.
TEST(Explain, ARuleWhoseNodesAreTakenSaysWhatItWantsOfThem) {
    const app::Explanation explanation =
        explain({reluTanh,
                 "rule A priority 9 { match { y = Relu(x) -> Tanh; } }\n"
                 "rule B { match { y = Sigmoid(x) -> Tanh; } }",
                 "B"});
    ASSERT_FALSE(explanation.findings.empty());
    const app::Finding& finding = explanation.findings.front();
    EXPECT_EQ(finding.stage, app::Finding::Stage::Match) << finding.reason.message;
    EXPECT_EQ(finding.reason.message, "`Relu`: found Relu, the rule wants Sigmoid (`Sigmoid`)");
    ASSERT_EQ(finding.sites.size(), 1U);
    EXPECT_TRUE(finding.sites[0].taken);
    EXPECT_NE(finding.sites[0].holder.find(", fused by A"), std::string::npos)
        << finding.sites[0].holder;
    expectSchema(explanation);
}

TEST(Explain, ARuleThatOnlyLacksNodesThatAreTakenSaysSo) {
    const app::Explanation explanation =
        explain({reluTanh,
                 "rule A priority 9 { match { y = Relu(x) -> Tanh; } }\n"
                 "rule B { match { y = Tanh(x); } }",
                 "B"});
    ASSERT_FALSE(explanation.findings.empty());
    EXPECT_EQ(explanation.findings.front().stage, app::Finding::Stage::Select);
}

/// By another alternative the rule took the place, with all nodes that this one has.
TEST(Explain, AnAlternativeThatEscapesIsNoFindingWhereAnotherTookItsNodes) {
    const app::Explanation explanation =
        explain({"g (float[2,8] x) => (float[2,8] y) { a = Exp(x) s = Sigmoid(a) y = Mul(a, s) }",
                 "rule R { match { y = (Mul(a, Sigmoid(a)) | Sigmoid(a)); a = Exp(x); } }"});
    EXPECT_EQ(explanation.rules.at(0).applied, 1U);
    EXPECT_TRUE(explanation.findings.empty()) << explanation.findings.front().reason.message;
}

TEST(Explain, AnUnlessSaysWhichOneMatchesAndByWhichNodes) {
    const app::Explanation explanation =
        explain({"g (float[2,8] x) => (float[2,8] y) { a = Exp(x) b = Relu(a) y = Tanh(b) }",
                 "rule R { match { y = Relu(x) -> Tanh; unless { x = Neg(_); }"
                 " unless { x = Exp(_); } } }"});
    ASSERT_FALSE(explanation.findings.empty());
    const app::Finding& finding = explanation.findings.front();
    EXPECT_EQ(finding.reason.message,
              "`Exp`: found a match of this `unless` by `Exp`, the rule wants none");
    ASSERT_TRUE(finding.place);
    EXPECT_EQ(finding.place->text.substr(finding.place->column - 1, finding.place->length),
              "unless { x = Exp(_); }");
}

TEST(Explain, AConditionNamesTheValueThatItLooksAt) {
    const app::Explanation explanation =
        explain({"g (float[2,8] x, float[8] z) => (float[2,8] y)"
                 "{ a = Relu(x) b = Neg(z) y = Add(a, b) }",
                 "rule R { match { y = Add(Relu(x), r); where r.shape == y.shape; } }"});
    ASSERT_FALSE(explanation.findings.empty());
    EXPECT_EQ(explanation.findings.front().reason.message,
              "`b`: found [8], the rule wants == [2, 8]");
}

/// A value's name is that of the node that makes it.
TEST(Explain, TwoNodesAreAnsweredForTheRuleThatComesNearestToBoth) {
    Question question{"g (float[2,8] x) => (float[2,8] y) { a = Relu(x) b = Ceil(a) y = Tanh(b) }",
                      "rule R { match { y = Relu(x) -> Tanh; } }\n"
                      "rule S { match { y = Exp(x) -> Tanh; } }"};
    question.node = "a";
    question.with = "Tanh";
    const app::Explanation explanation = explain(question);
    EXPECT_EQ(explanation.node, "Relu");
    ASSERT_FALSE(explanation.findings.empty());
    EXPECT_EQ(explanation.findings.size(), 1U);
    EXPECT_EQ(explanation.findings.front().reason.message,
              "`Ceil` (Ceil) stands between `Relu` and `Tanh`; the rule has no place for it");
    expectSchema(explanation);
}

TEST(Explain, ANodeWithoutALaunchSaysWhoReadsThroughIt) {
    Question question{"g (float[4,8] x, float[4,8] w) => (float[8,8] y)"
                      "{ t = Transpose(x) a = Relu(w) y = MatMul(t, a) }",
                      "rule R { match { y = Exp(x) -> Tanh; } }"};
    question.node = "Transpose";
    const app::Explanation explanation = explain(question);
    ASSERT_EQ(explanation.planned.size(), 1U);
    EXPECT_EQ(explanation.planned[0],
              "Transpose needs no launch: what reads `t` reads `x` in place");
    expectSchema(explanation);
}
