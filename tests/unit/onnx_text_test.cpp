// SPDX-License-Identifier: Apache-2.0
// The textual form: stable, and read back to the same graph.
#include "core/graph/subgraph.h"
#include "core/graph/text.h"
#include "core/graph/verify.h"
#include "core/onnx/model_file.h"
#include "tests/unit/comma_locale.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

std::string roundTrip(const std::string& source) {
    auto graph = model_io::loadText(source);
    return graph ? text(*graph) : graph.error().text();
}

} // namespace

TEST(OnnxText, PrintsWhatItReads) {
    const char* source = "g (float[N,3] x, int64[2] s) => (float[2,`3*N`] y, z)\n"
                         "<float[2] w = {1, -2.5}>\n"
                         "{\n"
                         "   t = Add(x, w)\n"
                         "   y = Reshape(t, s)\n"
                         "   z = Clip(t, ``, w)\n"
                         "}\n";
    EXPECT_EQ(roundTrip(source), source);
}

TEST(OnnxText, NamesThatAreNoIdentifiersStandInBackticks) {
    const char* source = "`a graph` (float[1] `x:0`) => (float[1] `/out/0`)\n"
                         "{\n"
                         "   `/out/0` = Relu(`x:0`)\n"
                         "}\n";
    EXPECT_EQ(roundTrip(source), source);
}

TEST(OnnxText, ContainersAreTypes) {
    const char* source = "g (seq(float[2]) x, optional(seq(float[])) o) => (seq(float[2]) y)\n"
                         "{\n"
                         "   y = Identity(x)\n"
                         "}\n";
    EXPECT_EQ(roundTrip(source), source);
}

TEST(OnnxText, DefaultsAreLeftOutOnlyWhenAskedSo) {
    auto graph = model_io::loadText("g (float[2,3] x) => (y) { y = Softmax <axis = -1> (x) }");
    ASSERT_TRUE(graph);
    NodeId node = graph->nodes()[0];
    EXPECT_EQ(text(*graph, node), "y = Softmax(x)");
    TextOptions all;
    all.defaults = true;
    EXPECT_NE(text(*graph, all).find("Softmax <axis = -1> (x)"), std::string::npos);
}

TEST(OnnxText, LargeConstantsArePrintedAsTheirType) {
    Graph graph;
    ValueId w = graph.addConstant("w", std::make_shared<const Tensor>(DType::Float32, Extents{99}));
    NodeId relu = graph.addNode({Op::Relu, "r", {w}, {"y"}});
    graph.addOutput(graph.node(relu).outputs[0]);
    EXPECT_NE(text(graph).find("<float[99] w>"), std::string::npos);
}

TEST(OnnxText, SubgraphsKeepTheNamesOfCapturedValues) {
    const char* source = "g (bool c, float[1] x) => (y)\n"
                         "{\n"
                         "   t = Neg(x)\n"
                         "   y = If <else_branch = e () => (f)\n"
                         "      {\n"
                         "         f = Abs(t)\n"
                         "      }, then_branch = d () => (h)\n"
                         "      {\n"
                         "         h = Add(t, x)\n"
                         "      }> (c)\n"
                         "}\n";
    std::string once = roundTrip(source);
    EXPECT_NE(once.find("h = Add(t, x)"), std::string::npos) << once;
    EXPECT_EQ(roundTrip(once), once);
}

TEST(OnnxText, EqualBodiesOfFusedNodesArePrintedOnce) {
    auto graph = model_io::loadText("g (float[1] x) => (y) { a = Relu(x) b = Neg(a) c = Relu(b) "
                                    "d = Neg(c) y = Abs(d) }");
    ASSERT_TRUE(graph);
    for (auto [first, second] : {std::pair("a", "b"), std::pair("c", "d")}) {
        std::vector<NodeId> nodes{graph->producer(graph->findValue(first)),
                                  graph->producer(graph->findValue(second))};
        Cut cut = cutOut(*graph, nodes, {graph->findValue(second)});
        replaceByFused(*graph, nodes, std::move(cut), "ReluNeg", {});
    }
    ASSERT_TRUE(verify(*graph));
    std::string printed = text(*graph);
    EXPECT_EQ(printed, "g (float[1] x) => (y)\n{\n   b = ReluNeg(x)\n   d = ReluNeg(b)\n"
                       "   y = Abs(d)\n}\nReluNeg (x) => (b)\n{\n   a = Relu(x)\n"
                       "   b = Neg(a)\n}\n");
    EXPECT_EQ(roundTrip(printed), printed);
}

TEST(OnnxText, MistakesGiveAnErrorWithThePosition) {
    for (const char* bad : {"", "g (", "g (float[1] x) => (y) { y = Relu(x",
                            "g (float[1] x) => (y)", "g (float[1] x) => (y) { y = Relu(`x) }",
                            "g (float[1] x) => (y) <float w = {1e999}> { y = Relu(x) }"}) {
        auto graph = model_io::loadText(bad);
        ASSERT_FALSE(graph) << bad;
        EXPECT_TRUE(graph.error().code.starts_with("load.")) << graph.error().code;
    }
}

TEST(OnnxText, NumbersHaveAPointInEveryLocale) {
    const char* source = "g (float[1] x) => (float[1] y)\n"
                         "<float[1] w = {0.5}>\n"
                         "{\n"
                         "   e = Elu <alpha = 0.125> (x)\n"
                         "   y = Mul(e, w)\n"
                         "}\n";
    EXPECT_EQ(roundTrip(source), source);
    const LocaleWithCommas locale;
    if (!locale)
        GTEST_SKIP() << "no locale with a decimal comma is installed";
    EXPECT_EQ(roundTrip(source), source);
}
