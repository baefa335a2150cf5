// SPDX-License-Identifier: Apache-2.0
// `spec Op` finds the operator and its written-out forms, and nothing near them.
#include "tests/unit/rewrite_builder.h"

using namespace fuselage;
using namespace fuselage::test;

namespace {

/// Nodes covered by the one match of `spec op(x)` whose result is `y`; 0 without a match.
size_t covered(Op op, const std::string& body, const std::string& constants, size_t operands = 1) {
    RuleBuilder b("Spec");
    std::vector<TermId> arguments{b.value("x")};
    if (operands > 1)
        arguments.push_back(b.constant("g"));
    if (operands > 2)
        arguments.push_back(b.maybe("b"));
    b.define({"y"}, b.spec(op, arguments));
    Graph graph =
        graphOf("g (float[2,4] x) => (float[2,4] y) <" + constants + "> { " + body + " }");
    size_t largest = 0;
    for (const Match& match : matchesOf(graph, b.rule).matches) {
        EXPECT_EQ(graph.value(match.slots[b.slot("x")].value).name, "x");
        largest = std::max(largest, match.nodes.size());
    }
    return largest;
}

const char* erfConstants = "float r = {1.41421356}, float one = {1.0}, float h = {0.5}";
const char* tanhConstants = "float c = {0.044715}, float k = {0.79788456}, float one = {1.0}, "
                            "float h = {0.5}, float three = {3.0}";
const char* sixConstants = "float three = {3.0}, float zero = {0.0}, float six = {6.0}";
const char* normConstants = "float e = {1e-5}, float two = {2.0}, int64[1] axis = {1}, "
                            "float[4] s = {1.0, 2.0, 3.0, 4.0}, float[4] o = {1.0, 2.0, 3.0, 5.0}";

} // namespace

TEST(Spec, GeluByErf) {
    EXPECT_EQ(covered(Op::Gelu,
                      "d = Div(x, r) e = Erf(d) a = Add(e, one) p = Mul(x, a) "
                      "y = Mul(p, h)",
                      erfConstants),
              5U)
        << "torch";
    EXPECT_EQ(covered(Op::Gelu,
                      "d = Div(x, r) e = Erf(d) a = Add(one, e) p = Mul(x, h) "
                      "y = Mul(p, a)",
                      erfConstants),
              5U)
        << "another nesting";
    EXPECT_EQ(covered(Op::Gelu,
                      "d = Div(x, r) e = Erf(d) a = Add(e, h) p = Mul(x, a) "
                      "y = Mul(p, h)",
                      erfConstants),
              0U)
        << "another constant";
}

TEST(Spec, GeluByTanh) {
    EXPECT_EQ(covered(Op::Gelu,
                      "q = Pow(x, three) r = Mul(q, c) s = Add(x, r) t = Mul(s, k) "
                      "u = Tanh(t) v = Add(u, one) w = Mul(x, v) y = Mul(w, h)",
                      tanhConstants),
              8U);
}

TEST(Spec, GeluAttributeChoosesTheForm) {
    RuleBuilder b("Tanh");
    TermId gelu = b.spec(Op::Gelu, {b.value("x")});
    Expression kind;
    kind.kind = Expression::Kind::Text;
    kind.text = "tanh";
    b.define({"y"}, b.test(gelu, "approximate", "==", kind));
    Graph graph = graphOf(std::string("g (float[2,4] x) => (float[2,4] y) <") + erfConstants +
                          "> { d = Div(x, r) e = Erf(d) a = Add(e, one) p = Mul(x, a) "
                          "y = Mul(p, h) }");
    EXPECT_TRUE(matchesOf(graph, b.rule).matches.empty());
}

TEST(Spec, HardSwish) {
    EXPECT_EQ(covered(Op::HardSwish,
                      "a = Add(x, three) c = Clip(a, zero, six) m = Mul(x, c) "
                      "y = Div(m, six)",
                      sixConstants),
              4U);
    EXPECT_EQ(covered(Op::HardSwish, "y = HardSwish(x)", sixConstants), 1U);
}

TEST(Spec, HardSigmoid) {
    EXPECT_EQ(covered(Op::HardSigmoid, "a = Add(x, three) c = Clip(a, zero, six) y = Div(c, six)",
                      sixConstants),
              3U);
}

TEST(Spec, LayerNormFromPrimitives) {
    EXPECT_EQ(covered(Op::LayerNormalization,
                      "m = ReduceMean(x, axis) d = Sub(x, m) q = Pow(d, two) "
                      "v = ReduceMean(q, axis) w = Add(v, e) r = Sqrt(w) n = Div(d, r) "
                      "g = Mul(n, s) y = Add(g, o)",
                      normConstants, 3),
              9U);
    EXPECT_EQ(covered(Op::LayerNormalization,
                      "m = ReduceMean(x, axis) d = Sub(x, m) q = Mul(d, d) "
                      "v = ReduceMean(q, axis) w = Add(v, e) r = Sqrt(w) n = Div(d, r) "
                      "y = Mul(n, s)",
                      normConstants, 3),
              8U)
        << "without bias";
}

TEST(Spec, RmsNorm) {
    EXPECT_EQ(covered(Op::RMSNormalization,
                      "q = Pow(x, two) v = ReduceMean(q, axis) w = Add(v, e) r = Sqrt(w) "
                      "i = Reciprocal(r) n = Mul(x, i) y = Mul(s, n)",
                      normConstants, 2),
              7U);
}

TEST(Spec, SoftmaxByHand) {
    EXPECT_EQ(covered(Op::Softmax,
                      "m = ReduceMax(x, axis) d = Sub(x, m) e = Exp(d) t = ReduceSum(e, axis) "
                      "y = Div(e, t)",
                      "int64[1] axis = {1}"),
              5U);
}

TEST(Spec, ChainStepReadsItsSource) {
    RuleBuilder b("Linear");
    TermId product = b.node(Op::MatMul, {b.value("x"), b.constant("w")});
    TermId gelu = b.step(Op::Gelu);
    b[gelu].byFunction = true;
    b.define({"y"}, b.pipe(product, gelu));
    Graph graph = graphOf(std::string("g (float[2,2] x) => (float[2,2] y) <float[2,2] w = "
                                      "{1.0, 2.0, 3.0, 4.0}, ") +
                          erfConstants +
                          "> { z = MatMul(x, w) d = Div(z, r) e = Erf(d) a = Add(e, one) "
                          "p = Mul(z, a) y = Mul(p, h) }");
    MatchResult found = matchesOf(graph, b.rule);
    ASSERT_EQ(found.matches.size(), 1U);
    EXPECT_EQ(found.matches[0].nodes.size(), 6U);
}
