// SPDX-License-Identifier: Apache-2.0
// Pipelines: rewrites and their roll-back, fixpoints, rules that undo each other, gates, reasons.
#include "core/rewrite/state_hash.h"
#include "tests/unit/rewrite_builder.h"

using namespace fuselage;
using namespace fuselage::test;

namespace {

Rule replaceOp(const std::string& name, Op from, Op to, const std::string& phase = "convert") {
    RuleBuilder b(name);
    b.rule.phase = phase;
    b.define({"y"}, b.node(from, {b.value("x")}));
    b.assign({"y"}, makeNode(to, {b.slotOf("x")}));
    return b.rule;
}

Rule removeIdentity() {
    RuleBuilder b("RemoveNeg");
    b.rule.phase = "convert";
    b.define({"y"}, b.node(Op::Neg, {b.node(Op::Neg, {b.value("x")})}));
    b.assign({"y"}, b.slotOf("x"));
    return b.rule;
}

} // namespace

TEST(Engine, RewriteKeepsTheNameOfWhatItReplaces) {
    Rewritten out = run(graphOf("g (float[4] x) => (float[4] y) { r = Relu(x) y = Exp(r) }"),
                        {replaceOp("Swap", Op::Relu, Op::Abs)}, {{"convert"}});
    auto counts = opCounts(out.graph);
    EXPECT_EQ(counts["Abs"], 1);
    EXPECT_EQ(counts["Relu"], 0);
    NodeId made = out.graph.producer(out.graph.findValue("r"));
    ASSERT_TRUE(made.valid());
    EXPECT_EQ(out.graph.node(made).op, Op::Abs);
    EXPECT_EQ(out.graph.node(made).provenance.rule, "Swap");
    EXPECT_EQ(out.graph.node(made).provenance.sources.size(), 1U);
}

TEST(Engine, RewriteToAnExistingValueForwardsReaders) {
    Rewritten out = run(graphOf("g (float[4] x) => (float[4] y)"
                                "{ a = Neg(x) b = Neg(a) c = Neg(b) d = Neg(c) y = Exp(d) }"),
                        {removeIdentity()}, {{"convert", true}});
    EXPECT_EQ(out.graph.nodeCount(), 1U);
    EXPECT_EQ(out.trace.applied("RemoveNeg"), 2U);
}

TEST(Engine, OutputOfTheGraphNeverBecomesAnInput) {
    Rewritten out = run(graphOf("g (float[4] x) => (float[4] y) { a = Neg(x) y = Neg(a) }"),
                        {removeIdentity()}, {{"convert", true}});
    EXPECT_EQ(out.graph.nodeCount(), 2U);
    ASSERT_FALSE(out.trace.events.empty());
    EXPECT_EQ(out.trace.events[0].reason.code, "graph-output");
}

TEST(Engine, OutputNameStaysWhenItsNodeGoes) {
    Rewritten out = run(graphOf("g (float[4] x) => (float[4] y)"
                                "{ e = Exp(x) a = Neg(e) y = Neg(a) }"),
                        {removeIdentity()}, {{"convert", true}});
    ASSERT_EQ(out.graph.nodeCount(), 1U);
    EXPECT_EQ(out.graph.value(out.graph.outputs()[0]).name, "y");
    EXPECT_EQ(out.graph.node(out.graph.nodes()[0]).op, Op::Exp);
}

TEST(Engine, ADisabledMatchIsRefusedAndTheOthersStay) {
    Graph graph = graphOf("g (float[4] x) => (float[4] y) { a = Relu(x) b = Exp(a) y = Relu(b) }");
    std::string last = graph.node(graph.producer(graph.findValue("y"))).name;
    EngineOptions options;
    options.disabled = {{"Swap", {last}}};
    Rewritten out =
        run(graph.clone(), {replaceOp("Swap", Op::Relu, Op::Abs)}, {{"convert", true}}, options);
    auto counts = opCounts(out.graph);
    EXPECT_EQ(counts["Abs"], 1);
    EXPECT_EQ(counts["Relu"], 1);
    EXPECT_EQ(out.graph.node(out.graph.producer(out.graph.findValue("y"))).op, Op::Relu);
    auto refused = std::count_if(
        out.trace.events.begin(), out.trace.events.end(), [](const TraceEvent& event) {
            return event.kind == TraceEvent::Kind::Refused && event.reason.code == code::disabled;
        });
    EXPECT_EQ(refused, 1) << "once, although every round finds it";
}

TEST(Engine, RewriteThatChangesATypeIsRolledBack) {
    RuleBuilder b("Wrong");
    b.rule.phase = "convert";
    TermId sum = b.node(Op::ReduceSum, {b.value("x"), b.constant("axes")});
    b.define({"y"}, sum);
    b.assign({"y"}, makeNode(Op::Relu, {b.slotOf("x")}));
    Graph graph = graphOf("g (float[2,3] x) => (float[2,1] y) <int64[1] a = {1}>"
                          "{ y = ReduceSum(x, a) }");
    Rewritten out = run(graph, {b.rule}, {{"convert"}});
    EXPECT_EQ(opCounts(out.graph), opCounts(graph));
    EXPECT_EQ(stateHash(out.graph), stateHash(graph));
    ASSERT_EQ(out.trace.events.size(), 1U);
    EXPECT_EQ(out.trace.events[0].kind, TraceEvent::Kind::Refused);
    EXPECT_EQ(out.trace.events[0].reason.code, code::rewriteType);
    EXPECT_NE(out.trace.events[0].reason.message.find("float[2,3]"), std::string::npos);
}

TEST(Engine, RewriteThatReadsWhatItReplacesIsRefused) {
    RuleBuilder b("Self");
    b.rule.phase = "convert";
    b.define({"y"}, b.node(Op::Relu, {b.value("x")}));
    b.assign({"y"}, makeNode(Op::Relu, {makeNode(Op::Neg, {b.slotOf("y")})}));
    // Slot `y` is bound before it is assigned, so the expression reads the old value.
    Graph graph = graphOf("g (float[4] x) => (float[4] y) { y = Relu(x) }");
    Rewritten out = run(graph, {b.rule}, {{"convert"}});
    EXPECT_EQ(stateHash(out.graph), stateHash(graph));
    ASSERT_EQ(out.trace.events.size(), 1U);
    EXPECT_EQ(out.trace.events[0].reason.code, code::cycle);
}

TEST(Engine, RulesThatUndoEachOtherStopAndAreNamed) {
    Graph graph = graphOf("g (float[4] x) => (float[4] y) { r = Relu(x) y = Exp(r) }");
    Rule there = replaceOp("There", Op::Relu, Op::Abs);
    Rule back = replaceOp("Back", Op::Abs, Op::Relu);
    back.priority = -1;
    Rewritten out = run(graph, {there, back}, {{"convert", true}});
    const TraceEvent& last = out.trace.events.back();
    EXPECT_EQ(last.kind, TraceEvent::Kind::Stopped);
    EXPECT_EQ(last.reason.code, code::ruleCycle);
    EXPECT_NE(last.reason.message.find("`There`"), std::string::npos);
    EXPECT_NE(last.reason.message.find("`Back`"), std::string::npos);
}

TEST(Engine, OnceRulesRunInTheFirstRoundOnly) {
    Rule grow = replaceOp("Grow", Op::Relu, Op::Relu);
    grow.once = true;
    Rewritten out =
        run(graphOf("g (float[4] x) => (float[4] y) { y = Relu(x) }"), {grow}, {{"convert", true}});
    EXPECT_EQ(out.trace.applied("Grow"), 1U);
}

TEST(Engine, ReplacedRulesAreOff) {
    Rule first = replaceOp("First", Op::Relu, Op::Abs);
    Rule second = replaceOp("Second", Op::Relu, Op::Neg);
    second.replaces = "First";
    Rewritten out = run(graphOf("g (float[4] x) => (float[4] y) { y = Relu(x) }"), {first, second},
                        {{"convert"}});
    EXPECT_EQ(opCounts(out.graph)["Neg"], 1);
    EXPECT_EQ(out.trace.applied("First"), 0U);
}

TEST(Engine, GatesDecideByGain) {
    RuleBuilder b("Pair");
    b.define({"y"}, b.pipe(b.node(Op::Relu, {b.value("x")}), b.step(Op::Neg)));
    Graph graph = graphOf("g (float[4] x) => (float[4] y) { r = Relu(x) y = Neg(r) }");
    EngineOptions options;
    options.decide = Decide::Cost;
    double us = -1;
    options.gain = [&](const Graph&, const Match&) { return Gain{us, 64, 1, 0, 0}; };
    Rewritten out = run(graph, {b.rule}, {{"fuse"}}, options);
    EXPECT_EQ(opCounts(out.graph)["Pair"], 0);
    ASSERT_EQ(out.trace.events.size(), 1U);
    EXPECT_EQ(out.trace.events[0].reason.code, code::gate);
    us = 1;
    EXPECT_EQ(opCounts(run(graph, {b.rule}, {{"fuse"}}, options).graph)["Pair"], 1);

    b.rule.gate.kind = Gate::Kind::Condition;
    Expression root;
    root.kind = Expression::Kind::Root;
    root.text = "gain";
    b.rule.gate.condition = binary(">", member(root, "bytes"), number(100));
    EXPECT_EQ(opCounts(run(graph, {b.rule}, {{"fuse"}}, options).graph)["Pair"], 0);
    options.decide = Decide::Rules;
    EXPECT_EQ(opCounts(run(graph, {b.rule}, {{"fuse"}}, options).graph)["Pair"], 0)
        << "a gate is asked whoever decides";
    us = -1;
    b.rule.gate = {};
    EXPECT_EQ(opCounts(run(graph, {b.rule}, {{"fuse"}}, options).graph)["Pair"], 1)
        << "every legal match";
}

TEST(Engine, CostWithoutAModelIsAnError) {
    EngineOptions options;
    options.decide = Decide::Cost;
    Progress quiet;
    auto out = rewrite(Graph(), {}, {"p", {{"fuse"}}}, options, quiet);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "rewrite.gain");
}

TEST(Engine, CancelledRunReturnsNothing) {
    Progress progress;
    progress.cancel();
    RuleSet set;
    set.rules = {replaceOp("Swap", Op::Relu, Op::Abs)};
    auto out = rewrite(graphOf("g (float[4] x) => (float[4] y) { y = Relu(x) }"), set,
                       {"p", {{"convert"}}}, {}, progress);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "cancelled");
}

TEST(Engine, ExplainSaysWhoTookTheNodes) {
    EngineOptions options;
    options.matcher.explain = true;
    Graph graph =
        graphOf("g (float[1,2,4,4] x) => (float[1,2,4,4] y)"
                "<float[2,2,1,1] w = {1.0, 2.0, 3.0, 4.0}> { c = Conv(x, w) y = Relu(c) }");
    Rewritten out =
        run(graph, {convRule("ConvBN", false, false, -5), convRule("ConvBNReLU", false, true, 0)},
            {{"fuse"}}, options);
    const TraceEvent* shadowed = nullptr;
    for (const TraceEvent& event : out.trace.events)
        if (event.rule == "ConvBN")
            shadowed = &event;
    ASSERT_TRUE(shadowed);
    EXPECT_EQ(shadowed->reason.code, code::shadowed);
    EXPECT_EQ(shadowed->reason.facts[0].value, "ConvBNReLU");
    options.matcher.explain = false;
    out = run(graph, {convRule("ConvBN", false, false, -5), convRule("ConvBNReLU", false, true, 0)},
              {{"fuse"}}, options);
    EXPECT_EQ(out.trace.events.size(), 1U) << "only when asked";
}
