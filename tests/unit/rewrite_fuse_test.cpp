// SPDX-License-Identifier: Apache-2.0
// Fusing: residual blocks with both tie orders, node order in the file, escapes, provenance.
#include "tests/unit/rewrite_builder.h"

#include <random>

using namespace fuselage;
using namespace fuselage::test;

namespace {

std::vector<Rule> convRules() {
    return {convRule("ConvBN", false, false, -5), convRule("ConvBNReLU", false, true, 0),
            convRule("ConvBNAddReLU", true, true, 10)};
}

/// A residual block whose two branches both end in a convolution.
Graph residual(bool swapAdd, const std::vector<size_t>& order) {
    struct Line {
        Op op;
        const char* name;
        std::vector<const char*> inputs;
        const char* output;
    };
    const std::vector<Line> lines = {
        {Op::Conv, "main1", {"x", "w"}, "c1"},
        {Op::Relu, "relu1", {"c1"}, "r1"},
        {Op::Conv, "main2", {"r1", "w"}, "c2"},
        {Op::BatchNormalization, "bn2", {"c2", "s", "s", "s", "s"}, "b2"},
        {Op::Conv, "down", {"x", "w"}, "d"},
        {Op::BatchNormalization, "bnd", {"d", "s", "s", "s", "s"}, "bd"},
        {Op::Add, "add", {swapAdd ? "bd" : "b2", swapAdd ? "b2" : "bd"}, "a"},
        {Op::Relu, "relu", {"a"}, "y"},
    };
    Graph graph;
    Type type = tensorType(DType::Float32, {1, 2, 4, 4});
    std::map<std::string, ValueId> values;
    values["x"] = graph.addInput("x", type);
    values["w"] = graph.addConstant(
        "w", std::make_shared<Tensor>(Tensor::ofFloats({2, 2, 1, 1}, {1, 2, 3, 4})));
    values["s"] = graph.addConstant("s", std::make_shared<Tensor>(Tensor::ofFloats({2}, {1, 2})));
    std::vector<NodeId> nodes(lines.size());
    for (size_t i : order) {
        NodeSpec spec{lines[i].op,
                      lines[i].name,
                      std::vector<ValueId>(lines[i].inputs.size()),
                      {lines[i].output}};
        nodes[i] = graph.addNode(std::move(spec));
        values[lines[i].output] = graph.node(nodes[i]).outputs[0];
        graph.setType(values[lines[i].output], type);
    }
    for (size_t i : order)
        for (uint32_t slot = 0; slot < lines[i].inputs.size(); ++slot)
            graph.setInput(nodes[i], slot, values.at(lines[i].inputs[slot]));
    graph.addOutput(values.at("y"));
    return graph;
}

std::string describe(const Graph& graph) {
    std::string out;
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        out += node.customOp + " " + node.name + " <-";
        for (ValueId input : node.inputs)
            out += " " + graph.value(input).name;
        out += " |";
        for (const std::string& source : node.provenance.sources)
            out += " " + source;
        out += "\n";
    }
    return out;
}

std::vector<size_t> fileOrder() {
    return {0, 1, 2, 3, 4, 5, 6, 7};
}

} // namespace

TEST(Fuse, AddGoesToTheLaterConvolution) {
    for (bool swapAdd : {false, true}) {
        Graph before = residual(swapAdd, fileOrder());
        std::vector<NodeId> order = topologicalOrder(before);
        auto place = [&](const char* name) {
            return std::find(order.begin(), order.end(), before.findNode(name));
        };
        std::string later = place("main2") > place("down") ? "main2" : "down";
        Rewritten out = run(before, convRules());
        auto counts = opCounts(out.graph);
        EXPECT_EQ(counts["ConvBNAddReLU"], 1);
        EXPECT_EQ(counts["ConvBNReLU"], 1);
        EXPECT_EQ(counts["ConvBN"], 1);
        EXPECT_EQ(out.graph.nodeCount(), 3U);
        NodeId fused = out.graph.producer(out.graph.findValue("y"));
        ASSERT_TRUE(fused.valid());
        const auto& sources = out.graph.node(fused).provenance.sources;
        EXPECT_NE(std::find(sources.begin(), sources.end(), later), sources.end()) << later;
    }
}

TEST(Fuse, ResultIsTheSameForEveryFileOrder) {
    std::string expected = describe(run(residual(false, fileOrder()), convRules()).graph);
    std::mt19937 random(7);
    std::vector<size_t> order = fileOrder();
    for (int i = 0; i < 20; ++i) {
        std::shuffle(order.begin(), order.end(), random);
        for (auto selection : {PhaseStep::Selection::Order, PhaseStep::Selection::Gain,
                               PhaseStep::Selection::Exact}) {
            Rewritten out = run(residual(false, order), convRules(), {{"fuse", false, selection}});
            EXPECT_EQ(describe(out.graph), expected);
        }
    }
}

TEST(Fuse, FusedNodeHoldsItsBodyAndWhereItComesFrom) {
    Graph graph = graphOf("g (float[1,2,4,4] x) => (float[1,2,4,4] y)"
                          "<float[2,2,1,1] w = {1.0, 2.0, 3.0, 4.0}, float lo = {0.0},"
                          " float hi = {6.0}> { c = Conv(x, w) y = Clip(c, lo, hi) }");
    Rewritten out = run(graph, convRules());
    ASSERT_EQ(out.graph.nodeCount(), 1U);
    const Node& node = out.graph.node(out.graph.nodes()[0]);
    EXPECT_EQ(node.customOp, "ConvBNReLU");
    EXPECT_EQ(node.provenance.rule, "ConvBNReLU");
    EXPECT_EQ(node.provenance.file, "test.fuse");
    EXPECT_EQ(node.provenance.sources.size(), 2U);
    ASSERT_TRUE(node.body);
    EXPECT_EQ(node.body->nodeCount(), 2U);
    EXPECT_EQ(node.body->inputs().size(), node.inputs.size());
    EXPECT_EQ(node.inputs.size(), 2U) << "the bounds are constants of the body";
    EXPECT_EQ(out.graph.value(node.outputs[0]).name, "y");
    ASSERT_EQ(out.trace.events.size(), 1U);
    EXPECT_EQ(out.trace.events[0].labels, std::vector<std::string>{"clip"});
    EXPECT_EQ(out.trace.applied("ConvBNReLU"), 1U);
}

namespace {

const char* escaping = "g (float[1,2,4,4] x, float[1,2,4,4] r) => (float[1,2,4,4] y, "
                       "float[1,2,4,4] n) <float[2,2,1,1] w = {1.0, 2.0, 3.0, 4.0}>"
                       "{ c = Conv(x, w) s = Add(c, r) y = Relu(s) n = Neg(s) }";

} // namespace

TEST(Fuse, EscapingValueForbidsByDefault) {
    EngineOptions options;
    options.matcher.explain = true;
    Rewritten out =
        run(graphOf(escaping), {convRule("ConvBNAddReLU", true, true, 0)}, {{"fuse"}}, options);
    EXPECT_EQ(opCounts(out.graph)["ConvBNAddReLU"], 0);
    ASSERT_EQ(out.trace.events.size(), 1U);
    const Reason& reason = out.trace.events[0].reason;
    EXPECT_EQ(reason.code, code::escape);
    EXPECT_EQ(reason.facts[0].value, "s");
    EXPECT_NE(reason.facts[1].value.find("Neg"), std::string::npos) << reason.facts[1].value;
}

TEST(Fuse, ExportedValueBecomesAnOutput) {
    Rule rule = convRule("ConvBNAddReLU", true, true, 0);
    SlotIndex s = 0;
    while (rule.slots[s].name != "s")
        ++s;
    rule.escapes.push_back({{s}, EscapePolicy::Export, std::nullopt, {}});
    Rewritten out = run(graphOf(escaping), {rule});
    EXPECT_EQ(out.graph.nodeCount(), 2U);
    NodeId fused = out.graph.producer(out.graph.findValue("s"));
    ASSERT_TRUE(fused.valid());
    EXPECT_EQ(out.graph.node(fused).op, Op::Fused);
    EXPECT_EQ(out.graph.node(fused).outputs.size(), 2U);
    // The same rule has one output where nothing else reads the value.
    Rewritten plain = run(graphOf("g (float[1,2,4,4] x, float[1,2,4,4] r) => (float[1,2,4,4] y)"
                                  "<float[2,2,1,1] w = {1.0, 2.0, 3.0, 4.0}>"
                                  "{ c = Conv(x, w) s = Add(c, r) y = Relu(s) }"),
                          {rule});
    ASSERT_EQ(plain.graph.nodeCount(), 1U);
    EXPECT_EQ(plain.graph.node(plain.graph.nodes()[0]).outputs.size(), 1U);
}

TEST(Fuse, DuplicatedValueKeepsItsProducers) {
    Rule rule = convRule("ConvBNAddReLU", true, true, 0);
    SlotIndex s = 0;
    while (rule.slots[s].name != "s")
        ++s;
    rule.escapes.push_back({{s}, EscapePolicy::Duplicate, std::nullopt, {}});
    Rewritten out = run(graphOf(escaping), {rule});
    auto counts = opCounts(out.graph);
    EXPECT_EQ(counts["ConvBNAddReLU"], 1);
    EXPECT_EQ(counts["Conv"], 1);
    EXPECT_EQ(counts["Add"], 1);
    EXPECT_EQ(counts["Neg"], 1);
    EXPECT_EQ(out.graph.node(out.graph.producer(out.graph.findValue("y"))).outputs.size(), 1U);
}

TEST(Fuse, GraphOutputsAreOutsideReaders) {
    EngineOptions options;
    Rewritten out =
        run(graphOf("g (float[4] x) => (float[4] a, float[4] y)"
                    "{ a = Relu(x) y = Neg(a) }"),
            [] {
                RuleBuilder b("Pair");
                b.define({"y"}, b.pipe(b.node(Op::Relu, {b.value("x")}), b.step(Op::Neg)));
                return std::vector<Rule>{b.rule};
            }());
    EXPECT_EQ(opCounts(out.graph)["Pair"], 0);
    ASSERT_EQ(out.trace.events.size(), 1U);
    EXPECT_EQ(out.trace.events[0].reason.code, code::escape);
}

TEST(Fuse, PathThatComesBackIsRefusedWithIt) {
    RuleBuilder b("Around");
    TermId a = b.capture(b.node(Op::Relu, {b.value("x")}), "a");
    b.define({"y"}, b.node(Op::Add, {a, b.value("z")}));
    b.escape("a", EscapePolicy::Export);
    Rewritten out = run(graphOf("g (float[4] x) => (float[4] y)"
                                "{ a = Relu(x) n = Neg(a) e = Exp(n) y = Add(a, e) }"),
                        {b.rule});
    EXPECT_EQ(opCounts(out.graph)["Around"], 0);
    ASSERT_EQ(out.trace.events.size(), 1U);
    EXPECT_EQ(out.trace.events[0].reason.code, code::cycle);
    const std::string& path = out.trace.events[0].reason.facts[0].value;
    EXPECT_NE(path.find("Neg"), std::string::npos) << path;
    EXPECT_NE(path.find("Exp"), std::string::npos) << path;
}

TEST(Fuse, TwoConvexFusionsThatCloseACycleTogetherAreNotBothMade) {
    // Each pair is convex alone; contracted both, they would read each other.
    Graph graph = graphOf("g (float[4] x, float[4] z) => (float[4] p, float[4] q)"
                          "{ a = Relu(x) b = Neg(z) p = Exp(b) q = Abs(a) }");
    RuleBuilder first("First");
    first.define({"a"}, first.node(Op::Relu, {first.value("x")}));
    first.define({"p"}, first.node(Op::Exp, {first.value("v")}));
    RuleBuilder second("Second");
    second.define({"b"}, second.node(Op::Neg, {second.value("z")}));
    second.define({"q"}, second.node(Op::Abs, {second.value("v")}));
    Rewritten out = run(graph, {first.rule, second.rule});
    EXPECT_EQ(topologicalOrder(out.graph).size(), out.graph.nodeCount()) << "no cycle";
    EXPECT_EQ(opCounts(out.graph)["First"] + opCounts(out.graph)["Second"], 1);
}
