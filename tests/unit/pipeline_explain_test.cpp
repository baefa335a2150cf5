// SPDX-License-Identifier: Apache-2.0
// What explain says of a rule that does not fire: the whole text, and the JSON against its schema.
#include "tests/unit/explain_questions.h"

#include <algorithm>

using namespace fuselage;
using namespace fuselage::test;

namespace {

constexpr const char* chain = "g (float[2,8] x) => (float[2,8] y) { a = Relu(x) y = Tanh(a) }";

} // namespace

TEST(Explain, AnOperatorThatTheModelDoesNotHaveIsNamedWithWhatStandsThere) {
    EXPECT_EQ(textOf({chain, "rule R { match { y = Relu(x) -> Sigmoid; } }"}), R"(
m.onnx: 2 -> 2 nodes
R (r.fuse:2) fires 0 times; 1 place came near
1. 1 of 2 steps fit, 1 place [M0203]
   2 | rule R { match { y = Relu(x) -> Sigmoid; } }
                                       ^^^^^^^
   = at Tanh
   = found Tanh, the rule wants Sigmoid, of which the model has none
   = change: add an alternative: `(Sigmoid | Tanh)`
   = tried: it fires 1 time instead of 0, predicted gain 1.4 us, 128 B less moved
)");
}

TEST(Explain, AnEscapingValueNamesItsReader) {
    EXPECT_EQ(textOf({"g (float[2,8] x, float[8,8] w) => (float[2,8] y, float[2,8] z)"
                      "{ a = Relu(x) y = Tanh(a) z = MatMul(a, w) }",
                      "rule R { match { y = a@Relu(x) -> Tanh; } }"}),
              R"(
m.onnx: 3 -> 3 nodes
R (r.fuse:2) fires 0 times; 1 place came near
1. complete, not legal, 1 place [M0305]
   = at Relu, Tanh
   = value `a` is also read by `MatMul`
   = change: add `escape a: export;`
   = tried: it fires 1 time instead of 0, predicted gain 1.4 us, 64 B less moved
)");
}

TEST(Explain, AnEscapingValueWithoutANameGetsOne) {
    EXPECT_EQ(textOf({"g (float[2,8] x, float[8,8] w) => (float[2,8] y, float[2,8] z)"
                      "{ a = Relu(x) y = Tanh(a) z = MatMul(a, w) }",
                      "rule R { match { y = Relu(x) -> Tanh; } }"}),
              R"(
m.onnx: 3 -> 3 nodes
R (r.fuse:2) fires 0 times; 1 place came near
1. complete, not legal, 1 place [M0305]
   2 | rule R { match { y = Relu(x) -> Tanh; } }
                            ^^^^^^^
   = at Relu, Tanh
   = value `a` is also read by `MatMul`
   = change: name it, `inner@Relu`, and add `escape inner: export;`
   = tried: it fires 1 time instead of 0, predicted gain 1.4 us, 64 B less moved
)");
}

/// Where one alternative matched, what the others lack is of no interest.
TEST(Explain, APlaceThatTheRuleTookByAnotherAlternativeIsNoFinding) {
    const app::Explanation explanation =
        explain({"g (float[2,8] x) => (float[2,8] y) { a = Exp(x) b = Relu(a) y = Tanh(b) }",
                 "rule R { match { y = (Conv(x, w) -> Relu | Exp(x) -> Relu -> Tanh); } }"});
    EXPECT_EQ(explanation.rules.at(0).applied, 1U);
    EXPECT_EQ(explanation.rules.at(0).places, 1U);
    EXPECT_TRUE(explanation.findings.empty()) << app::renderExplanation(explanation, 6);
}

/// Changes that nobody has tried load at least.
TEST(Explain, AChangeThatDoesNotLoadIsNotOffered) {
    const char* const conv = "g (float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {2}>"
                             "{ a = Relu(x) y = Conv(a, w) }";
    Question broken{conv, "rule R { match { y = Conv(Pad(x, p), w); } }"};
    Question sound{conv, "rule R { match { y = Conv(Abs(x), w); } }"};
    for (const size_t tries : {size_t{0}, size_t{5}}) {
        broken.tries = sound.tries = tries;
        const app::Explanation without = explain(broken), with = explain(sound);
        ASSERT_EQ(without.findings.size(), 1U); // `Relu(x, p)` is no Relu
        EXPECT_FALSE(without.findings[0].change);
        EXPECT_EQ(without.findings[0].reason.flip, "");
        ASSERT_EQ(with.findings.size(), 1U);
        EXPECT_TRUE(with.findings[0].change);
        EXPECT_EQ(with.findings[0].outcome.has_value(), tries > 0);
    }
}

/// Places where one operator alone says no come before those where another operator stands, however
/// many there are of these and whatever the search meets first.
TEST(Explain, WhereOneOperatorSaysNoStandsFirst) {
    std::string model = "g (float[1,2,8,8] x) => (float[1,2,5,5] y0", body;
    for (int i = 1; i < 3; ++i)
        model += ", float[1,2,5,5] y" + std::to_string(i);
    for (int i = 0; i < 10; ++i)
        model += ", float[1,2,8,8] z" + std::to_string(i);
    for (int i = 0; i < 3; ++i) {
        const std::string n = std::to_string(i);
        body +=
            " a" + n + " = Pad(x, p) y" + n + " = Conv<group = 2, strides = [2, 2]>(a" + n + ", w)";
    }
    for (int i = 0; i < 10; ++i) {
        const std::string n = std::to_string(i);
        body += " b" + n + " = Clip(x) z" + n + " = Conv(b" + n + ", v)";
    }
    const app::Explanation explanation = explain(
        {model +
             ") <float[2,1,1,1] w = {1, 2}, float[2,2,1,1] v = {1, 2, 3, 4}, "
             "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> {" +
             body + " }",
         "rule R { match { y = Conv(Pad(x, p), w: const)[strides == [1, 1], group == 1]; } }"});
    ASSERT_GE(explanation.findings.size(), 2U);
    const app::Finding& first = explanation.findings[0];
    EXPECT_EQ(first.reason.code, "M0204") << app::renderExplanation(explanation, 6);
    EXPECT_EQ(first.sites.size(), 3U);
    EXPECT_EQ(first.step, 1U);
    EXPECT_EQ(first.steps, 2U);
}

TEST(Explain, AValueInsideOfAPatternThatTheRuleUsesIsNotNamed) {
    app::Explanation explanation = explain(
        {"g (float[2,8] x) => (float[2,8] y, float[2,8] z)"
         "{ a = Relu(x) b = Tanh(a) y = Exp(b) z = Neg(a) }",
         "pattern P(x) -> y { y = Relu(x) -> Tanh; } rule R { match { y = P(x) -> Exp; } }"});
    ASSERT_EQ(explanation.findings.size(), 1U);
    EXPECT_EQ(explanation.findings[0].reason.code, "M0305");
    EXPECT_FALSE(explanation.findings[0].change);
}

TEST(Explain, AnOverviewLeavesOutWhatOnlyTidies) {
    Question question{"g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,8,8] y)"
                      "{ p = Transpose<perm = [0, 1, 3, 2]>(x) y = Conv<pads = [1,1,1,1]>(p, w) }",
                      "rule R { match { y = Conv(x, w) -> Sqrt; } }"};
    question.builtin = true;
    app::Explanation all = explain(question);
    for (const app::Finding& finding : all.findings)
        EXPECT_FALSE(finding.file.starts_with("std/canonicalize") &&
                     finding.stage == app::Finding::Stage::Match)
            << finding.rule;
    EXPECT_GT(all.tidyRules, 0U);
    EXPECT_NE(app::renderExplanation(all, 6).find("only tidy"), std::string::npos);
    expectSchema(all);
    question.rule = "RemoveTransposePair";
    app::Explanation one = explain(question);
    EXPECT_FALSE(one.findings.empty());
}

TEST(Explain, AnOverviewLeavesOutRulesForNetworksOfAnotherKind) {
    const char* network = "g (float[1,2,8,8] x) => (float[1,2,8,8] y)"
                          " <float[2,2,1,1] w = {1, 2, 3, 4}> {"
                          " c = Conv(x, w) m = Mul(c, x) y = Softplus(m) }";
    Question question{network, ""};
    question.builtin = true;
    const app::Explanation all = explain(question);
    EXPECT_GT(all.absentRules, 20U);
    for (const app::Finding& finding : all.findings)
        EXPECT_FALSE(finding.rule.starts_with("Quantized")) << finding.rule;
    // Nor do those say that they are for newer files.
    Question older = question;
    older.model = "g (float[2,8] x) => (float[2,8] y) { y = Softplus(x) }";
    older.opset = 15;
    for (const app::Finding& finding : explain(older).findings)
        EXPECT_NE(finding.reason.code, "opset") << finding.rule;
    question.rule = "QuantizedConv"; // who asks for one is told
    const app::Explanation asked = explain(question);
    ASSERT_FALSE(asked.findings.empty());
    EXPECT_EQ(asked.findings[0].rule, "QuantizedConv");
    // A person's own rule is never for another kind.
    const app::Explanation own = explain(
        {network, "rule R { match { y = DequantizeLinear(x, s, z) -> Conv(_, w) -> Mul; } }"});
    ASSERT_FALSE(own.findings.empty());
    EXPECT_EQ(own.findings[0].rule, "R");
}

TEST(Explain, ACycleNamesThePathAndTheEscapeThatBreaksIt) {
    EXPECT_EQ(textOf({"g (float[4,4] x, float[4,4] w) => (float[4,4] y) "
                      "{ a = Exp(x) h = MatMul(a, w) b = Add(a, h) y = Neg(b) }",
                      "rule R { match { y = Neg(Add(s@Exp(x), h)); } escape s: export; }"}),
              R"(
m.onnx: 4 -> 4 nodes
R (r.fuse:2) fires 0 times; 1 place came near
1. complete, not legal, 1 place [M0500]
   2 | rule R { match { y = Neg(Add(s@Exp(x), h)); } escape s: export; }
                                                     ^^^^^^^^^^^^^^^^^
   = at Exp, Add, Neg
   = a path leaves the match and comes back: MatMul -> Add
   = change: write `duplicate` in place of `export` for `s`
   = tried: it fires 1 time instead of 0, predicted gain 1.2 us, 128 B less moved
)");
}

TEST(Explain, AGateShowsBothNumbersAndALimitThatWouldHold) {
    EXPECT_EQ(textOf({chain, "rule R { match { y = Relu(x) -> Tanh; } gate gain.us > 1000; }", "",
                      "", Decide::Cost}),
              R"(
m.onnx: 2 -> 2 nodes
R (r.fuse:2) fires 0 times; 1 place came near
1. complete, refused by its gate, 1 place [M0308]
   2 | rule R { match { y = Relu(x) -> Tanh; } gate gain.us > 1000; }
                                                              ^^^^
   = at Relu, Tanh
   = the gate found 1.41, the rule wants > 1000 (gain 1.41 us, 128 bytes)
   = change: loosen the gate to `> 1.4`
   = tried: it fires 1 time instead of 0, predicted gain 1.4 us, 128 B less moved
)");
}

TEST(Explain, AGateOfWhatNoKernelComputesGivesThatReason) {
    EXPECT_EQ(textOf({"g (float[4,8] x, float[8,16] w, float[16] s) => (float[4,16] y)"
                      "{ a = MatMul(x, w) y = LayerNormalization<axis = -1>(a, s) }",
                      "rule R { match { y = MatMul(x, w) -> LayerNormalization(_, s); } }", "", "",
                      Decide::Cost}),
              R"(
m.onnx: 2 -> 2 nodes
R (r.fuse:2) fires 0 times; 1 place came near
1. complete, but no single kernel computes it, 1 place [M0308]
   = at MatMul, LayerNormalization
   = the match gains 0 us: no single kernel computes it: MatMul `MatMul` and LayerNormalization `LayerNormalization`: a reduction over results crosses the tiles of the contraction
   = change, not tried: match one of them only
)");
}

/// Nothing is said of a gate that the rule does not have.
TEST(Explain, APredictionThatRefusesIsNoGate) {
    const std::string text =
        textOf({"g (float[1,512] x, float[4096,512] r) => (float[1,512] a, float[4096,512] y)"
                "{ a = Sin(x) y = Add(a, r) }",
                "rule R { match { a = Sin(x); y = Add(a, r); } escape a: duplicate; }", "", "",
                Decide::Cost});
    EXPECT_NE(text.find("1. complete, predicted to save no time, 1 place [M0308]"),
              std::string::npos)
        << text;
}

TEST(Explain, ALineOfAnotherFileComesWithItsName) {
    EXPECT_EQ(textOf({.model = "g (float[4] x) => (float[4] y) { a = Tanh(x) y = Mul(x, a) }",
                      .rules = "rule R { match { y = spec Neg(x); } }",
                      .forms = "form Neg(x) { y = Mul(x, Exp(x)); }"}),
              R"(
m.onnx: 2 -> 2 nodes
R (r.fuse:2) fires 0 times; 1 place came near
1. 1 of 2 steps fit, 1 place [M0203]
   forms.fuse:2 | form Neg(x) { y = Mul(x, Exp(x)); }
                                           ^^^^^^
   = at Tanh
   = `Tanh`: found Tanh, the rule wants Exp (`Exp`)
   = change: add an alternative: `(Exp | Tanh)`
   = tried: it fires 1 time instead of 0, predicted gain 1.6 us, 48 B less moved
)");
}

TEST(Explain, AFusedNodeThatIsSplitSaysWhereAndWhatThatCosts) {
    EXPECT_EQ(textOf({"g (float[4,8] x, float[8,16] w, float[16] s) => (float[4,16] y)"
                      "{ a = MatMul(x, w) y = LayerNormalization<axis = -1>(a, s) }",
                      "rule R { match { y = MatMul(x, w) -> LayerNormalization(_, s); } }"}),
              R"(
m.onnx: 2 -> 1 nodes
R (r.fuse:2) fires 1 time
1. fused, but one kernel cannot compute it, 1 place [kind]
   = at MatMul, LayerNormalization
   = MatMul `MatMul` and LayerNormalization `LayerNormalization`: a reduction over results crosses the tiles of the contraction
   = it runs as 2 kernels: [MatMul], [LayerNormalization]; one kernel saves 1 launch and 512 B
   = change, not tried: match one of them only
)");
}

TEST(Explain, TheSameReasonInManyPlacesIsOneFinding) {
    EXPECT_EQ(textOf({"g (float[4] x) => (float[4] y)"
                      "{ a = Relu(x) b = Tanh(a) c = Relu(b) d = Tanh(c) e = Exp(d) y = Tanh(e) }",
                      "rule R { match { y = Neg(x) -> Tanh; } }"}),
              R"(
m.onnx: 6 -> 6 nodes
R (r.fuse:2) fires 0 times; 3 places came near
1. 1 of 2 steps fit, 2 places [M0203]
   2 | rule R { match { y = Neg(x) -> Tanh; } }
                            ^^^^^^
   = at Relu_1, Relu
   = `Relu_1`: found Relu, the rule wants Neg (`Neg`)
   = change: add an alternative: `(Neg | Relu)`
   = tried: it fires 2 times instead of 0, predicted gain 2.8 us, 64 B less moved
2. 1 of 2 steps fit, 1 place [M0203]
   2 | rule R { match { y = Neg(x) -> Tanh; } }
                            ^^^^^^
   = at Exp
   = `Exp`: found Exp, the rule wants Neg (`Neg`)
   = change: add an alternative: `(Neg | Exp)`
   = tried: it fires 1 time instead of 0, predicted gain 1.4 us, 32 B less moved
)");
}

/// An optional step that starts to fit takes more nodes in the same places.
TEST(Explain, AChangeThatTakesMoreInTheSamePlacesHelps) {
    const std::string text =
        textOf({"g (float[4,8,6] x, float[6] b) => (float[4,8,6] y)"
                "{ e = Exp(x) s = Add(e, b) y = Tanh(s) }",
                "rule R { match { y = Exp(x) -> Add(_, b: [_, _])? -> Tanh?; } }"});
    EXPECT_NE(text.find("= tried: it fires 1 time as now and takes more"), std::string::npos)
        << text;
}

/// M3 of a review: `axis in {-1, 0}` would match, and the rewrite be wrong.
TEST(Explain, AChangeThatMakesARewriteUnsoundIsNotOffered) {
    const Question question{"g (float[3,4] x) => (float[3,4] y)"
                            "{ s = Softmax<axis = 0>(x) l = Log(s) y = Neg(l) }",
                            "rule R in convert { match { y = Softmax(x)[axis == -1] -> Log; } "
                            "rewrite { y = LogSoftmax(x)[axis = -1]; } }\n"
                            "pipeline default = convert;"};
    const std::string text = textOf(question);
    EXPECT_NE(text.find("makes the rewrite unsound"), std::string::npos) << text;
    EXPECT_EQ(text.find("= change:"), std::string::npos) << text;
    expectSchema(explain(question));
}

TEST(Explain, RulesOutsideOfThePipelineOrTheOpsetSaySo) {
    EXPECT_EQ(textOf({chain, "rule A in elsewhere { match { y = Relu(x) -> Tanh; } }\n"
                             "opset >= 30;\nrule B { match { y = Relu(x) -> Tanh; } }"}),
              R"(
m.onnx: 2 -> 2 nodes; 0 of 2 rules fire
1. A (r.fuse:2): not searched for [phase]
   = its phase `elsewhere` is not in pipeline `default`
   = change, not tried: name a pipeline that has it with --pipeline
2. B (r.fuse:4): not searched for [opset]
   = the model has opset 17, the rule is for opset >= 30
   = change, not tried: widen the `opset` line above the rule
)");
}

TEST(Explain, OneNodeGetsWhatHappenedToItAndOnlyItsFindings) {
    EXPECT_EQ(textOf({chain,
                      "rule A { match { y = Relu(x) -> Tanh; } }\n"
                      "rule B priority -1 { match { y = Neg(x) -> Tanh; } }",
                      "", "Tanh"}),
              R"(
fused by A (r.fuse:2) into A: Relu, Tanh
1. B (r.fuse:3): 1 of 2 steps fit, 1 place (in other fusions) [M0203]
   3 | rule B priority -1 { match { y = Neg(x) -> Tanh; } }
                                        ^^^^^^
   = at Relu
   = `Relu`: found Relu, the rule wants Neg (`Neg`)
   = the nodes are in `A`, fused by A
)");
}

TEST(Explain, UnknownNamesAreRefusedWithTheNearest) {
    app::LoadedModel model;
    model.graph = std::move(*model_io::loadText(chain));
    app::ExplainOptions options;
    options.node = "Tanhh";
    auto library = app::requireRuleLibrary(options.rules);
    Progress quiet;
    auto out = app::explainModel(model, *library, options, quiet);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "usage.node");
    EXPECT_EQ(out.error().fix, "did you mean `Tanh`?");
    options.node.clear();
    options.rule = "ConvBNRelu";
    out = app::explainModel(model, *library, options, quiet);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().fix, "did you mean `ConvBNReLU`?");
}

TEST(Explain, JsonFitsItsSchema) {
    expectSchema(explain({chain, "rule R { match { y = Relu(x) -> Sigmoid; } }"}));
    expectSchema(explain({chain, "rule R { match { y = Relu(x) -> Tanh; } gate gain.us > 1000; }",
                          "", "", Decide::Cost}));
    expectSchema(explain({"g (float[4,8] x, float[8,16] w, float[16] s) => (float[4,16] y)"
                          "{ a = MatMul(x, w) y = LayerNormalization<axis = -1>(a, s) }",
                          "rule R { match { y = MatMul(x, w) -> LayerNormalization(_, s); } }", "",
                          "MatMul"}));
}

namespace {

/// Rules of the first findings of an overview, which a person reads.
std::vector<std::string> firstRules(const std::string& model, size_t count = 6) {
    Question question{model, "rule Mine { match { y = Conv(x, w) -> Sqrt -> Sqrt; } }"};
    question.builtin = true;
    std::vector<std::string> out;
    for (const app::Finding& finding : explain(question).findings)
        if (out.size() < count && finding.rule != "Mine")
            out.push_back(finding.rule);
    return out;
}

} // namespace

/// A layer with a bias behind its activation, and a HardSigmoid that is none.
TEST(Explain, RulesAboutOtherNodesDoNotStandInFront) {
    const char* const biasBehind =
        "g (float[1,3,8,8] x) => (float[1,3,8,8] y)"
        " <float[3,3,1,1] w = {1,2,3,4,5,6,7,8,9}, float[3,1,1] b = {1,2,3}>"
        " { c = Conv(x, w) r = Relu(c) y = Add(r, b) }";
    const char* const hardSigmoid =
        "g (float[1,3,8,8] x) => (float[1,3,8,8] y)"
        " <float[3,3,1,1] w = {1,2,3,4,5,6,7,8,9}, float three = {3}, float zero = {0},"
        "  float five = {5}, float six = {6}>"
        " { c = Conv(x, w) a = Add(c, three) p = Clip(a, zero, five) y = Div(p, six) }";
    for (const char* model : {biasBehind, hardSigmoid}) {
        const std::vector<std::string> rules = firstRules(model);
        for (const char* other :
             {"MergeBiasedProjections", "MHAInProjection", "GroupNorm", "RemoveNeutralOperand"})
            EXPECT_EQ(std::find(rules.begin(), rules.end(), other), rules.end())
                << ::testing::PrintToString(rules);
    }
}

TEST(Explain, WhatWasTriedAndDoesNotHelpIsNoAdvice) {
    // With `export` alone the path through the Softmax closes a cycle: the next step fails.
    const app::Explanation explanation =
        explain({"g (float[4] x) => (float[4] y, float[4] z)"
                 "{ a = Exp(x) h = Softmax(a) z = Neg(a) y = Add(a, h) }",
                 "rule R { match { y = Add(s@Exp(x), h); } }"});
    ASSERT_FALSE(explanation.findings.empty());
    for (const app::Finding& finding : explanation.findings) {
        if (!finding.outcome || finding.outcome->helps())
            continue;
        EXPECT_EQ(finding.reason.flip, "");
        EXPECT_FALSE(finding.change);
    }
    ASSERT_TRUE(explanation.findings[0].outcome);
    EXPECT_EQ(app::renderExplanation(explanation, 6).find("change"), std::string::npos)
        << app::renderExplanation(explanation, 6);
    expectSchema(explanation);
}
