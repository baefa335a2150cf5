// SPDX-License-Identifier: Apache-2.0
// Rules derived from nodes: each must compile and fire on the site it was derived from.
#include "app/pipeline/derive.h"
#include "app/pipeline/fuse.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

Graph graphOf(const std::string& text) {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    inferShapes(*graph);
    return std::move(*graph);
}

/// Derives a rule from all nodes that make these values and returns how often it fires.
struct Derived {
    std::string text;
    size_t fired = 0, covered = 0;
};

Derived derive(const Graph& graph, const std::vector<std::string>& values) {
    std::vector<std::string> nodes;
    for (const std::string& value : values)
        nodes.push_back(graph.node(graph.producer(graph.findValue(value))).name);
    auto text = app::deriveRule(graph, nodes);
    if (!text) {
        ADD_FAILURE() << text.error().text();
        return {};
    }
    app::RuleOptions rules;
    rules.builtin = false;
    rules.texts = {{"derived.fuse", *text}};
    auto library = app::requireRuleLibrary(rules);
    if (!library) {
        ADD_FAILURE() << *text << library.error().text();
        return {*text};
    }
    Progress quiet;
    auto out = app::fuseGraph(graph, *library, {}, quiet);
    Derived derived{*text};
    for (NodeId id : out->graph.nodes())
        if (out->graph.node(id).op == Op::Fused) {
            ++derived.fired;
            derived.covered = out->graph.node(id).provenance.sources.size();
        }
    return derived;
}

} // namespace

TEST(Derive, AChainBecomesAChain) {
    Graph graph = graphOf("g (float[1,1,8,8] x) => (float[1,1,10,10] y)"
                          "<float[1,1,1,1] w = {2}, float[1] b = {1}>"
                          "{ c = Conv <pads = [1,1,1,1]> (x, w, b) r = Relu(c) y = Exp(r) }");
    Derived derived = derive(graph, {"c", "r"});
    EXPECT_EQ(derived.fired, 1U) << derived.text;
    EXPECT_EQ(derived.covered, 2U);
    EXPECT_NE(derived.text.find("-> Relu"), std::string::npos) << derived.text;
    EXPECT_NE(derived.text.find("pads == [1, 1, 1, 1]"), std::string::npos) << derived.text;
}

TEST(Derive, ASharedValueAndANumberAreWrittenDown) {
    Graph graph = graphOf("g (float[4] x) => (float[4] y) <float half = {0.5}>"
                          "{ s = Sigmoid(x) m = Mul(x, s) y = Mul(m, half) }");
    Derived derived = derive(graph, {"s", "m", "y"});
    EXPECT_EQ(derived.fired, 1U) << derived.text;
    EXPECT_EQ(derived.covered, 3U);
    EXPECT_NE(derived.text.find("0.5"), std::string::npos) << derived.text;
}

TEST(Derive, AnInnerValueThatIsReadOutsideIsExported) {
    Graph graph = graphOf("g (float[4] x) => (float[4] y, float[4] z)"
                          "{ a = Neg(x) b = Exp(a) y = Abs(b) z = Relu(a) }");
    Derived derived = derive(graph, {"a", "b"});
    EXPECT_EQ(derived.fired, 1U) << derived.text;
    EXPECT_NE(derived.text.find("escape"), std::string::npos) << derived.text;
}

TEST(Derive, OmittedOperandsAreSkippedByName) {
    Graph graph = graphOf("g (float[4] x) => (float[4] y) <float six = {6}>"
                          "{ c = Clip(x, , six) y = Exp(c) }");
    Derived derived = derive(graph, {"c", "y"});
    EXPECT_EQ(derived.fired, 1U) << derived.text;
}

TEST(Derive, UnknownNodesAndNothingAreRefused) {
    Graph graph = graphOf("g (float[4] x) => (float[4] y) { y = Exp(x) }");
    EXPECT_EQ(app::deriveRule(graph, {}).error().code, "derive.nodes");
    EXPECT_EQ(app::deriveRule(graph, {"nobody"}).error().code, "derive.nodes");
}
