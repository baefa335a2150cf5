// SPDX-License-Identifier: Apache-2.0
// `many`: merging parallel projections, lists of names and dimensions, `all`, and their misses.
#include "tests/unit/rewrite_builder.h"

using namespace fuselage;
using namespace fuselage::test;

namespace {

/// x: [..., K]; many least..16 { m = MatMul(x, w: const [K, N]); } rewritten to one product.
RuleBuilder mergeRule(uint32_t least = 2, uint32_t most = 16) {
    RuleBuilder b("Merge");
    b.rule.phase = "convert";
    b.define({}, b.shaped(b.value("x"), {"...", "K"}));
    Many& many = b.rule.match.manys.emplace_back();
    many.least = least;
    many.most = most;
    TermId w = b.shaped(b.constant("w"), {"K", "N"});
    b.define({"m"}, b.node(Op::MatMul, {b.value("x"), w}), &many.block);
    many.slots = {b.slot("m"), b.slot("w")};
    many.dims = {b.dim("N")};
    auto weights =
        call("concat", {b.slotOf("w", Expression::Kind::SlotList)}, {{"axis", number(1)}});
    auto product = makeNode(Op::MatMul, {b.slotOf("x"), weights});
    b.assign(
        {"m"},
        call("split", {product, b.dimOf("N", Expression::Kind::DimList)}, {{"axis", number(-1)}}),
        true);
    return b;
}

const char* projections = "g (float[2,3] x, float[2,3] z) => (float[2,1] q, float[2,2] k, "
                          "float[2,1] v, float[2,1] o)"
                          "<float[3,1] wq = {1.0, 2.0, 3.0}, "
                          "float[3,2] wk = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, "
                          "float[3,1] wv = {7.0, 8.0, 9.0}>"
                          "{ q = MatMul(x, wq) k = MatMul(x, wk) v = MatMul(x, wv) "
                          "o = MatMul(z, wq) }";

} // namespace

TEST(Many, CollectsParallelNodesOfOneValue) {
    Graph graph = graphOf(projections);
    RuleBuilder b = mergeRule();
    MatchResult found = matchesOf(graph, b.rule);
    ASSERT_EQ(found.matches.size(), 1U);
    EXPECT_EQ(found.matches[0].nodes.size(), 3U);
    EXPECT_EQ(found.matches[0].slots[b.slot("w")].items.size(), 3U);
    ASSERT_TRUE(found.matches[0].dims[b.dim("N")].isList);
    EXPECT_EQ(found.matches[0].dims[b.dim("N")].items.size(), 3U);
}

TEST(Many, MergesProjectionsIntoOneProduct) {
    Rewritten out = run(graphOf(projections), {mergeRule().rule}, {{"convert"}});
    auto counts = opCounts(out.graph);
    EXPECT_EQ(counts["MatMul"], 2);
    EXPECT_EQ(counts["Split"], 1);
    NodeId split = out.graph.producer(out.graph.findValue("q"));
    ASSERT_TRUE(split.valid());
    EXPECT_EQ(out.graph.node(split).outputs.size(), 3U);
    EXPECT_EQ(out.graph.value(out.graph.findValue("k")).type.text(), "float[2,2]");
    NodeId product = out.graph.producer(out.graph.node(split).inputs[0]);
    const Value& weights = out.graph.value(out.graph.node(product).inputs[1]);
    ASSERT_TRUE(weights.constant) << "folded";
    EXPECT_EQ(weights.type.text(), "float[3,4]");
    EXPECT_EQ(out.graph.node(product).provenance.sources.size(), 3U);
}

TEST(Many, FoldedWeightsStandInTheOrderOfTheInstances) {
    Rewritten out = run(graphOf(projections), {mergeRule().rule}, {{"convert"}});
    NodeId split = out.graph.producer(out.graph.findValue("q"));
    const Node& node = out.graph.node(split);
    NodeId product = out.graph.producer(node.inputs[0]);
    const Tensor& weights = *out.graph.value(out.graph.node(product).inputs[1]).constant;
    size_t column = 0;
    std::map<std::string, double> first = {{"q", 1}, {"k", 1}, {"v", 7}};
    for (ValueId output : node.outputs) {
        const Value& value = out.graph.value(output);
        EXPECT_EQ(weights.at(static_cast<int64_t>(column)), first.at(value.name)) << value.name;
        column += static_cast<size_t>((*value.type.shape)[1].value());
    }
}

TEST(Many, TooFewInstancesMiss) {
    MatcherOptions options;
    options.explain = true;
    MatchResult found = matchesOf(graphOf(projections), mergeRule(4).rule, options);
    EXPECT_TRUE(found.matches.empty());
    ASSERT_FALSE(found.nearMisses.empty());
    EXPECT_EQ(found.nearMisses[0].reason.code, code::instances);
}

TEST(Many, TakesNoMoreThanItsLargestNumber) {
    MatchResult found = matchesOf(graphOf(projections), mergeRule(2, 2).rule);
    ASSERT_EQ(found.matches.size(), 1U);
    EXPECT_EQ(found.matches[0].nodes.size(), 2U);
}

TEST(Many, AllWantsEveryReaderOfTheSharedValue) {
    RuleBuilder b("Shared");
    b.define({"p"}, b.region({Op::Relu}, 1, 8));
    Many& many = b.rule.match.manys.emplace_back();
    many.least = 2;
    many.most = 4;
    many.all = true;
    TermId heavy = b.node(Op::MatMul, {b.value("p"), b.value("rest")});
    b[b[heavy].arguments[1].term].rest = true;
    b.define({"y"}, heavy, &many.block);
    many.slots = {b.slot("y"), b.slot("rest")};
    const char* head = "g (float[4,4] x, float[4,4] w) => (float[4,4] a, float[4,4] b";
    Graph closed =
        graphOf(std::string(head) + ") { p = Relu(x) a = MatMul(p, w) b = MatMul(p, w) }");
    EXPECT_EQ(matchesOf(closed, b.rule).matches.size(), 1U);
    Graph open = graphOf(std::string(head) + ", float[4,4] c) { p = Relu(x) a = MatMul(p, w) "
                                             "b = MatMul(p, w) c = Neg(p) }");
    MatcherOptions options;
    options.explain = true;
    MatchResult found = matchesOf(open, b.rule, options);
    EXPECT_TRUE(found.matches.empty());
    ASSERT_FALSE(found.nearMisses.empty());
    EXPECT_EQ(found.nearMisses[0].reason.code, code::allUsers);
}
