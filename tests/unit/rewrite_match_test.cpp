// SPDX-License-Identifier: Apache-2.0
// The matcher, one rule at a time: order, flat, optional steps, constants, types, attribute tests.
#include "tests/unit/rewrite_builder.h"

#include <set>

using namespace fuselage;
using namespace fuselage::test;

namespace {

size_t countOf(const Graph& graph, const RuleBuilder& b) {
    return matchesOf(graph, b.rule).matches.size();
}

std::string codeOf(const Graph& graph, const RuleBuilder& b) {
    MatcherOptions options;
    options.explain = true;
    MatchResult result = matchesOf(graph, b.rule, options);
    if (!result.refused.empty())
        return result.refused[0].reason.code;
    return result.nearMisses.empty() ? "none" : result.nearMisses[0].reason.code;
}

RuleBuilder sigmoidGate() {
    RuleBuilder b("Gate");
    TermId x = b.value("x");
    b.define({"y"}, b.node(Op::Mul, {x, b.node(Op::Sigmoid, {x})}));
    return b;
}

} // namespace

TEST(Match, CommutativeOperandsMatchInBothOrders) {
    EXPECT_EQ(countOf(graphOf("g (float[4] x) => (float[4] y) { s = Sigmoid(x) y = Mul(x, s) }"),
                      sigmoidGate()),
              1U);
    EXPECT_EQ(countOf(graphOf("g (float[4] x) => (float[4] y) { s = Sigmoid(x) y = Mul(s, x) }"),
                      sigmoidGate()),
              1U);
}

TEST(Match, OneNameIsOneValue) {
    Graph graph =
        graphOf("g (float[4] x, float[4] z) => (float[4] y) { s = Sigmoid(z) y = Mul(x, s) }");
    EXPECT_EQ(countOf(graph, sigmoidGate()), 0U);
    EXPECT_EQ(codeOf(graph, sigmoidGate()), code::otherValue);
}

TEST(Match, NonCommutativeOperandsKeepTheirOrder) {
    RuleBuilder b("Sub");
    b.define({"y"}, b.node(Op::Sub, {b.node(Op::Relu, {b.value("x")}), b.value("z")}));
    EXPECT_EQ(countOf(graphOf("g (float[4] x, float[4] z) => (float[4] y)"
                              "{ r = Relu(x) y = Sub(z, r) }"),
                      b),
              0U);
}

TEST(Match, FlatTakesAnyTreeOfItsLeaves) {
    for (const char* body : {"p = Mul(a, b) y = Mul(p, c)", "p = Mul(c, a) y = Mul(b, p)",
                             "p = Mul(b, c) y = Mul(a, p)"}) {
        RuleBuilder b("Three");
        b.define({"y"},
                 b.flat(Op::Mul, {b.node(Op::Relu, {b.value("x")}), b.value("m"), b.value("n")}));
        Graph graph = graphOf(std::string("g (float[4] x, float[4] b, float[4] c) => (float[4] y)"
                                          "{ a = Relu(x) ") +
                              body + " }");
        MatchResult found = matchesOf(graph, b.rule);
        ASSERT_EQ(found.matches.size(), 1U) << body;
        EXPECT_EQ(found.matches[0].nodes.size(), 3U);
    }
}

TEST(Match, FlatWantsExactlyItsLeaves) {
    RuleBuilder b("Three");
    b.define({"y"}, b.flat(Op::Mul, {b.value("l"), b.value("m"), b.value("n")}));
    EXPECT_EQ(countOf(graphOf("g (float[4] a, float[4] b) => (float[4] y) { y = Mul(a, b) }"), b),
              0U);
}

TEST(Match, OptionalIsGreedyAndItsNamesMayBeNone) {
    RuleBuilder b("ConvBN");
    TermId bn = b.capture(b.step(Op::BatchNormalization), "n");
    b.define({"y"}, b.optional(b.node(Op::Conv, {b.value("x"), b.value("w"), b.maybe("b")}), bn));
    const char* head = "g (float[1,2,4,4] x, float[2,2,1,1] w, float[2] s) => (float[1,2,4,4] y)";
    Graph with =
        graphOf(std::string(head) + "{ c = Conv(x, w) y = BatchNormalization(c, s, s, s, s) }");
    MatchResult found = matchesOf(with, b.rule);
    size_t longest = 0;
    for (const Match& match : found.matches)
        longest = std::max(longest, match.nodes.size());
    EXPECT_EQ(longest, 2U);
    Graph without = graphOf(std::string(head) + "{ y = Conv(x, w) }");
    found = matchesOf(without, b.rule);
    ASSERT_EQ(found.matches.size(), 1U);
    EXPECT_EQ(found.matches[0].slots[b.slot("n")].kind, Binding::Kind::None);
    EXPECT_EQ(found.matches[0].slots[b.slot("b")].kind, Binding::Kind::None);
}

TEST(Match, RepeatTakesAsManyAsThereAreAndGivesBack) {
    Graph graph = graphOf("g (float[4] x) => (float[4] y)"
                          "{ a = Relu(x) b = Relu(a) c = Relu(b) y = Neg(c) }");
    RuleBuilder b("Relus");
    b.define({"y"}, b.pipe(b.repeat(b.value("x"), b.step(Op::Relu), 1, 8), b.step(Op::Neg)));
    ASSERT_EQ(countOf(graph, b), 1U);
    EXPECT_EQ(matchesOf(graph, b.rule).matches[0].nodes.size(), 4U);
    // The last round must be given back to the Relu that stands before.
    RuleBuilder tight("Tight");
    TermId first = tight.node(Op::Relu, {tight.value("x")});
    tight.define({"y"},
                 tight.pipe(tight.repeat(first, tight.step(Op::Relu), 1, 8), tight.step(Op::Neg)));
    ASSERT_EQ(countOf(graph, tight), 1U);
    EXPECT_EQ(matchesOf(graph, tight.rule).matches[0].nodes.size(), 4U);
}

TEST(Match, AlternativesAreTriedInOrderAndLabelled) {
    RuleBuilder b("Act");
    b.define({"y"}, b.pipe(b.value("x"),
                           b.choice({{"relu", b.step(Op::Relu)}, {"neg", b.step(Op::Neg)}})));
    MatchResult found = matchesOf(graphOf("g (float[4] x) => (float[4] y) { y = Neg(x) }"), b.rule);
    ASSERT_EQ(found.matches.size(), 1U);
    EXPECT_EQ(found.matches[0].labels, std::vector<std::string>{"neg"});
}

TEST(Match, HoleReadTwiceIsOneValue) {
    RuleBuilder b("Silu");
    TermId step = b.node(Op::Mul, {b.hole(), b.node(Op::Sigmoid, {b.hole()})});
    b.define({"y"}, b.pipe(b.node(Op::Relu, {b.value("x")}), step));
    EXPECT_EQ(countOf(graphOf("g (float[4] x) => (float[4] y)"
                              "{ r = Relu(x) s = Sigmoid(r) y = Mul(s, r) }"),
                      b),
              1U);
    EXPECT_EQ(countOf(graphOf("g (float[4] x) => (float[4] y)"
                              "{ r = Relu(x) s = Sigmoid(x) y = Mul(s, r) }"),
                      b),
              0U);
}

TEST(Match, NumbersMatchWhatTheTypeCanStore) {
    RuleBuilder b("Scale");
    b.define({"y"}, b.node(Op::Div, {b.value("x"), b.num(1.41421356)}));
    Graph half;
    ValueId x = half.addInput("x", tensorType(DType::Float16, {4}));
    auto root = std::make_shared<Tensor>(DType::Float16, Extents{});
    root->set(0, 1.41421356); // stored as 1.4140625, more than 1e-4 away
    ValueId c = half.addConstant("c", root);
    NodeId div = half.addNode({Op::Div, "div", {x, c}, {"y"}});
    half.addOutput(half.node(div).outputs[0]);
    EXPECT_EQ(countOf(half, b), 1U);
    EXPECT_EQ(countOf(graphOf("g (float[4] x) => (float[4] y)"
                              "<float[4] c = {1.41421, 1.41421, 1.41421, 1.41421}>"
                              "{ y = Div(x, c) }"),
                      b),
              1U)
        << "a splat";
    EXPECT_EQ(
        countOf(graphOf("g (float[4] x) => (float[4] y) <float c = {1.5}> { y = Div(x, c) }"), b),
        0U);
}

TEST(Match, NegativeAxesCountFromTheBack) {
    RuleBuilder b("Mean");
    TermId mean = b.node(Op::ReduceMean, {b.value("x")});
    b.test(mean, "axes", "==", list({number(-1)}));
    b.define({"y"}, b.test(mean, "keepdims", "==", number(1)));
    Graph graph = graphOf("g (float[2,3,4] x) => (float[2,3,1] y) <int64[1] axes = {2}>"
                          "{ y = ReduceMean(x, axes) }");
    EXPECT_EQ(countOf(graph, b), 1U);
    Graph other = graphOf("g (float[2,3,4] x) => (float[2,1,4] y) <int64[1] axes = {1}>"
                          "{ y = ReduceMean(x, axes) }");
    EXPECT_EQ(countOf(other, b), 0U);
    EXPECT_EQ(codeOf(other, b), code::attribute);
}

TEST(Match, DimensionVariablesAreSharedAndSymbolic) {
    RuleBuilder b("Square");
    TermId w = b.shaped(b.value("w"), {"K", "K"});
    b.define({"y"}, b.node(Op::MatMul, {b.shaped(b.value("x"), {"...", "K"}), w}));
    EXPECT_EQ(countOf(graphOf("g (float[N,3,K] x, float[K,K] w) => (float[N,3,K] y)"
                              "{ y = MatMul(x, w) }"),
                      b),
              1U);
    EXPECT_EQ(countOf(graphOf("g (float[2,4] x, float[4,5] w) => (float[2,5] y)"
                              "{ y = MatMul(x, w) }"),
                      b),
              0U);
    Graph open = graphOf("g (float[2,4] x, float[4,M] w) => (float[2,M] y) { y = MatMul(x, w) }");
    EXPECT_EQ(countOf(open, b), 0U);
    EXPECT_EQ(codeOf(open, b), code::unknown) << "M may be 4";
}

TEST(Match, UnknownRankIsRefusedNotDenied) {
    RuleBuilder b("Relu");
    b.define({"y"}, b.node(Op::Relu, {b.shaped(b.value("x"), {"A", "B"})}));
    Graph graph;
    ValueId x = graph.addInput("x", {TypeKind::Tensor, DType::Float32, std::nullopt});
    NodeId relu = graph.addNode({Op::Relu, "relu", {x}, {"y"}});
    graph.addOutput(graph.node(relu).outputs[0]);
    EXPECT_EQ(countOf(graph, b), 0U);
    EXPECT_EQ(codeOf(graph, b), code::unknown);
}

TEST(Match, OperandsThatNoArgumentNamesMustBeParameters) {
    RuleBuilder b("Conv");
    b.define({"y"}, b.node(Op::Conv, {b.value("x"), b.value("w")}));
    Graph graph = graphOf("g (float[1,2,4,4] x, float[2,2,1,1] w, float[2] v) => "
                          "(float[1,2,4,4] y) { y = Conv(x, w, v) }");
    EXPECT_EQ(countOf(graph, b), 0U);
    EXPECT_EQ(codeOf(graph, b), code::operands);
    RuleBuilder loose("Loose");
    loose.define({"y"}, loose.pipe(loose.value("x"), loose.step(Op::Conv)));
    EXPECT_EQ(countOf(graph, loose), 1U) << "a step without operand list does not look";
}

TEST(Match, IntegerConstantsAreParametersOnlyWhereOperandsHaveRoles) {
    RuleBuilder reshape("Reshape");
    reshape.define({"y"}, reshape.node(Op::Reshape, {reshape.value("x")}));
    EXPECT_EQ(countOf(graphOf("g (int64[4] x) => (int64[2,2] y) <int64[2] s = {2, 2}>"
                              "{ y = Reshape(x, s) }"),
                      reshape),
              1U);
    RuleBuilder concat("Concat");
    concat.define({"y"}, concat.node(Op::Concat, {concat.value("x")}));
    EXPECT_EQ(countOf(graphOf("g (int64[4] x) => (int64[6] y) <int64[2] s = {2, 2}>"
                              "{ y = Concat <axis = 0> (x, s) }"),
                      concat),
              0U)
        << "the constant is a part of the result";
}

TEST(Match, OutputsGetNamesByPosition) {
    Graph graph = graphOf("g (float[4] x) => (float[2] y) <int64[2] sizes = {2, 2}>"
                          "{ a, b = Split <axis = 0> (x, sizes) y = Sub(b, a) }");
    RuleBuilder b("Halves");
    b.define({"a", "b"}, b.pipe(b.value("x"), b.step(Op::Split)));
    b.define({"y"}, b.node(Op::Sub, {b.value("b"), b.value("a")}));
    EXPECT_EQ(countOf(graph, b), 1U);
    RuleBuilder wrong("Wrong");
    wrong.define({"a", "b"}, wrong.pipe(wrong.value("x"), wrong.step(Op::Split)));
    wrong.define({"y"}, wrong.node(Op::Sub, {wrong.value("a"), wrong.value("b")}));
    EXPECT_EQ(countOf(graph, wrong), 0U);
}

TEST(Match, RootsThatTheLastOneDoesNotReachAreFoundThroughUsers) {
    Graph graph = graphOf("g (float[4] x, float[4] z) => (float[4] p, float[4] q, float[4] r)"
                          "{ p = Relu(x) q = Neg(x) r = Relu(z) }");
    RuleBuilder b("Both");
    b.define({"p"}, b.node(Op::Relu, {b.value("x")}));
    b.define({"q"}, b.node(Op::Neg, {b.value("x")}));
    MatchResult found = matchesOf(graph, b.rule);
    ASSERT_EQ(found.matches.size(), 1U);
    EXPECT_EQ(graph.value(found.matches[0].slots[b.slot("p")].value).name, "p");
    EXPECT_EQ(found.matches[0].outputs.size(), 2U);
}

TEST(Match, UnlessRefuses) {
    RuleBuilder b("NoSoftmax");
    b.define({"y"}, b.node(Op::Relu, {b.value("x")}));
    Block& unless = b.rule.match.unless.emplace_back();
    b.define({}, b.node(Op::Neg, {b.value("y")}), &unless);
    EXPECT_EQ(countOf(graphOf("g (float[4] x) => (float[4] y) { y = Relu(x) }"), b), 1U);
    Graph graph = graphOf("g (float[4] x) => (float[4] y, float[4] n) { y = Relu(x) n = Neg(y) }");
    EXPECT_EQ(countOf(graph, b), 0U);
    EXPECT_EQ(codeOf(graph, b), code::unless);
}

TEST(Match, ConditionsAreThreeValued) {
    RuleBuilder b("Same");
    b.define({"y"}, b.node(Op::Add, {b.value("a"), b.value("b")}));
    b.where(binary("==", member(b.slotOf("a"), "shape"), member(b.slotOf("b"), "shape")));
    EXPECT_EQ(countOf(graphOf("g (float[N] a, float[N] b) => (float[N] y) { y = Add(a, b) }"), b),
              1U);
    Graph broadcast = graphOf("g (float[4] a, float[1] b) => (float[4] y) { y = Add(a, b) }");
    EXPECT_EQ(codeOf(broadcast, b), code::condition);
    Graph open = graphOf("g (float[N] a, float[M] b) => (float[K] y) { y = Add(a, b) }");
    EXPECT_EQ(codeOf(open, b), code::unknown);
}

TEST(Match, BudgetCutsTheSearchOff) {
    // Every order of a deep commutative tree of the same value, and a leaf that never fits.
    RuleBuilder b("Deep");
    TermId term = b.num(7);
    for (int i = 0; i < 14; ++i)
        term = b.node(Op::Add, {term, b.node(Op::Add, {b.value("x"), b.value("x")})});
    b.define({"y"}, term);
    std::string body;
    std::string last = "x";
    for (int i = 0; i < 14; ++i) {
        std::string n = std::to_string(i);
        body += "s" + n + " = Add(x, x) t" + n + " = Add(" + last + ", s" + n + ") ";
        last = "t" + n;
    }
    Graph graph = graphOf("g (float[4] x) => (float[4] y) { " + body + " y = Relu(" + last + ") }");
    MatcherOptions options;
    options.budget = 10;
    MatchResult found = matchesOf(graph, b.rule, options);
    EXPECT_TRUE(found.matches.empty());
    ASSERT_FALSE(found.refused.empty());
    EXPECT_EQ(found.refused[0].reason.code, code::budget);
}

/// Twelve places for Relu(Add(Exp, Abs)), written in two orders.
Graph manyPlaces(bool turned) {
    std::vector<std::string> parts;
    for (int i = 0; i < 12; ++i) {
        const std::string n = std::to_string(i);
        parts.push_back("a" + n + " = Exp(x" + n + ") b" + n + " = Abs(a" + n + ") s" + n +
                        " = Add(a" + n + ", b" + n + ") y" + n + " = Relu(s" + n + ") ");
    }
    if (turned)
        std::reverse(parts.begin(), parts.end());
    std::string text = "g (float[4] x0";
    for (int i = 1; i < 12; ++i)
        text += ", float[4] x" + std::to_string(i);
    text += ") => (float[4] y0";
    for (int i = 1; i < 12; ++i)
        text += ", float[4] y" + std::to_string(i);
    text += ") { ";
    for (const std::string& part : parts)
        text += part;
    return graphOf(text + "}");
}

TEST(Match, AllSearchesOfARuleTogetherTakeABoundedNumberOfSteps) {
    RuleBuilder b("R");
    b.define({"y"}, b.node(Op::Relu, {b.node(Op::Add, {b.node(Op::Exp, {b.value("x")}),
                                                       b.node(Op::Abs, {b.value("z")})})}));
    std::vector<std::vector<std::string>> found;
    for (const bool turned : {false, true})
        for (const bool explain : {false, true}) {
            const Graph graph = manyPlaces(turned);
            MatcherOptions options;
            options.explain = explain;
            ASSERT_EQ(matchesOf(graph, b.rule, options).matches.size(), 12U);
            options.ruleBudget = 20;
            const MatchResult few = matchesOf(graph, b.rule, options);
            std::vector<std::string>& names = found.emplace_back();
            for (const Match& match : few.matches)
                for (NodeId node : match.nodes)
                    names.push_back(graph.value(graph.node(node).outputs[0]).name);
            std::vector<std::string> facts;
            for (const RefusedMatch& refused : few.refused)
                if (refused.reason.code == code::budget)
                    facts.push_back(refused.reason.facts.at(1).value);
            EXPECT_EQ(facts, std::vector<std::string>{"rule"}); // said once
            EXPECT_GT(few.matches.size(), 1U);
            EXPECT_LT(few.matches.size(), 12U);
        }
    EXPECT_EQ(found[0], found[1]);
    EXPECT_EQ(found[0], found[2]);
    EXPECT_EQ(found[0], found[3]);
}

/// One test that fails at the root must not hide that the rest of the pattern stands there.
TEST(Match, ANearMissGoesOnBehindATestThatFails) {
    const char* constants = "<float[2,1,1,1] w = {1.0, 1.0}, int64[8] p = {0,0,1,1,0,0,1,1}>";
    RuleBuilder b("PadConv");
    const TermId conv =
        b.node(Op::Conv, {b.node(Op::Pad, {b.value("x"), b.value("p")}), b.constant("w")});
    b.test(conv, "strides", "==", list({number(1), number(1)}));
    b.test(conv, "group", "==", number(1));
    b.define({"y"}, conv);
    MatcherOptions options;
    options.explain = true;
    struct Expected {
        const char *producer, *size;
        uint32_t step;
        bool isAllButOne;
    };
    for (const Expected& expected :
         {Expected{"Pad(x, p)", "3,3", 1, true}, {"Relu(x)", "2,2", 0, false}}) {
        Graph graph = graphOf(std::string("g (float[1,2,4,4] x) => (float[1,2,") + expected.size +
                              "] y)" + constants + "{ a = " + expected.producer +
                              " y = Conv<group = 2, strides = [2, 2]>(a, w) }");
        const MatchResult found = matchesOf(graph, b.rule, options);
        ASSERT_EQ(found.nearMisses.size(), 1U) << expected.producer;
        const NearMiss& miss = found.nearMisses[0];
        EXPECT_EQ(miss.reason.code, code::attribute);
        EXPECT_NE(miss.reason.message.find("strides"), std::string::npos) << miss.reason.message;
        EXPECT_EQ(miss.step, expected.step) << expected.producer;
        EXPECT_EQ(miss.steps, 2U);
        EXPECT_EQ(miss.isAllButOne, expected.isAllButOne) << expected.producer;
    }
}

TEST(Match, NearMissSaysHowFarItCame) {
    Graph graph = graphOf("g (float[1,2,4,4] x, float[1,2,4,4] r) => (float[1,2,4,4] y)"
                          "<float[2,2,1,1] w = {1.0, 0.0, 0.0, 1.0}>"
                          "{ c = Conv(x, w) a = Add(c, r) y = Sigmoid(a) }");
    RuleBuilder b("ConvAddSigmoid");
    TermId conv = b.node(Op::Conv, {b.value("x"), b.constant("w"), b.maybe("b")});
    TermId scaled = b.pipe(conv, b.step(Op::BatchNormalization));
    TermId sum = b.pipe(scaled, b.node(Op::Add, {b.hole(), b.value("r")}));
    b.define({"y"}, b.pipe(sum, b.step(Op::Sigmoid)));
    MatcherOptions options;
    options.explain = true;
    MatchResult found = matchesOf(graph, b.rule, options);
    ASSERT_EQ(found.nearMisses.size(), 1U);
    EXPECT_EQ(found.nearMisses[0].step, 2U);
    EXPECT_EQ(found.nearMisses[0].steps, 4U);
    EXPECT_EQ(found.nearMisses[0].bound.size(), 2U); // the Sigmoid and the Add
    EXPECT_EQ(found.nearMisses[0].reason.code, code::otherOp);
    EXPECT_EQ(found.nearMisses[0].reason.facts[0].value, "Conv");
    EXPECT_EQ(found.nearMisses[0].reason.facts[1].value, "BatchNormalization");
}

/// What a full list has no room for is not made; the list is the same as if it were.
TEST(Match, TheNearestMissesAreKeptWhateverCameBefore) {
    RuleBuilder b("Chain");
    const TermId softmax = b.node(Op::Softmax, {b.node(Op::Exp, {b.value("x")})});
    b.test(softmax, "axis", "==", number(0));
    const TermId sum = b.node(Op::Add, {b.node(Op::Relu, {softmax}), b.value("r")});
    b.define({"y"}, b.node(Op::Sigmoid, {sum}));
    std::string body, last = "x";
    uint32_t state = 7;
    constexpr int nodes = 1500; // several times as many as are searched at once
    const char* const operators[] = {
        "Sigmoid(%)",           "Add(%, r)", "Relu(%)", "Softmax<axis = 0>(%)",
        "Softmax<axis = 1>(%)", "Exp(%)"};
    for (int i = 0; i < nodes; ++i) {
        state = state * 1664525U + 1013904223U;
        // Mostly as the rule wants it, read from its end: misses of every length.
        const uint32_t way[] = {5, 4 - (state >> 30U) % 2, 2, 1, 0};
        const uint32_t op = (state >> 24U) % 8 == 0 ? (state >> 16U) % 6 : way[i % 5];
        std::string text = operators[op];
        text.replace(text.find('%'), 1, last);
        last = i + 1 == nodes ? "y" : "v" + std::to_string(i);
        body += last + " = " + text + " ";
    }
    const Graph graph = graphOf("g (float[4,4] x, float[4,4] r) => (float[4,4] y) { " + body + "}");
    MatcherOptions options;
    options.explain = true;
    options.maxNearMisses = nodes;
    const std::vector<NearMiss> all = matchesOf(graph, b.rule, options).nearMisses;
    std::set<uint32_t> steps;
    for (const NearMiss& miss : all)
        steps.insert(miss.step);
    EXPECT_GE(steps.size(), 4U);
    for (size_t most : {1, 5, 20, 60}) {
        options.maxNearMisses = most;
        const std::vector<NearMiss> some = matchesOf(graph, b.rule, options).nearMisses;
        ASSERT_EQ(some.size(), most);
        for (size_t i = 0; i < most; ++i) {
            EXPECT_EQ(some[i].anchor, all[i].anchor);
            EXPECT_EQ(some[i].node, all[i].node);
            EXPECT_EQ(some[i].step, all[i].step);
            EXPECT_EQ(some[i].isAllButOne, all[i].isAllButOne);
            EXPECT_EQ(some[i].reason.text(), all[i].reason.text());
            EXPECT_EQ(some[i].reason.flip, all[i].reason.flip);
            EXPECT_EQ(some[i].bound, all[i].bound);
        }
    }
}
