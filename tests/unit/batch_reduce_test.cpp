// SPDX-License-Identifier: Apache-2.0
// Reduction without a command: what minimize() keeps, and that smaller graphs are whole.
#include "app/batch/reduce/minimize.h"
#include "app/batch/reduce/smaller.h"
#include "core/graph/verify.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace fuselage;
using namespace fuselage::batch;

namespace {

Graph graphOf(const char* text) {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << graph.error().text();
    inferShapes(*graph);
    return std::move(*graph);
}

constexpr const char* chain =
    "g (float[2,8] x) => (float[2,4] y, float[2,8] z) <float[8,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,"
    "13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32}> "
    "{ a = Relu(x) b = Neg(a) m = MatMul(b, w) y = Sigmoid(m) z = Abs(a) }";

NodeId node(const Graph& graph, Op op) {
    for (NodeId id : graph.nodes())
        if (graph.node(id).op == op)
            return id;
    return {};
}

void expectWhole(const std::optional<Graph>& graph) {
    ASSERT_TRUE(graph);
    EXPECT_TRUE(verify(*graph));
    auto bytes = model_io::toBytes(*graph);
    ASSERT_TRUE(bytes);
    EXPECT_TRUE(model_io::loadBytes(*bytes, "", {}));
}

} // namespace

TEST(Minimize, KeepsExactlyWhatIsNeeded) {
    for (size_t count : {1U, 2U, 7U, 100U}) {
        const Kept needed = count > 50 ? Kept{3, 41, 97} : Kept{count - 1};
        size_t asked = 0;
        const Kept kept = minimize(count, [&](const Kept& part) {
            ++asked;
            return std::includes(part.begin(), part.end(), needed.begin(), needed.end());
        });
        EXPECT_EQ(kept, needed) << count;
        EXPECT_LT(asked, 100U) << count;
    }
}

TEST(Minimize, KeepsEverythingWhenNothingMayGo) {
    EXPECT_EQ(minimize(5, [](const Kept&) { return false; }).size(), 5U);
    EXPECT_TRUE(minimize(5, [](const Kept&) { return true; }).empty());
}

TEST(Smaller, NodesThatStayReadInputsForThoseThatWent) {
    const Graph graph = graphOf(chain);
    const auto cut = keepNodes(graph, {node(graph, Op::MatMul)});
    expectWhole(cut);
    EXPECT_EQ(cut->nodeCount(), 1U);
    ASSERT_EQ(cut->inputs().size(), 1U);
    EXPECT_EQ(cut->value(cut->inputs()[0]).name, "b");
    EXPECT_EQ(cut->value(cut->inputs()[0]).type.text(), "float[2,8]");
    EXPECT_EQ(weights(*cut).size(), 1U);
}

TEST(Smaller, AnOutputKeepsWhatItNeeds) {
    const Graph graph = graphOf(chain);
    const auto cut = keepOutputs(graph, {graph.findValue("z")});
    expectWhole(cut);
    EXPECT_EQ(cut->nodeCount(), 2U);
}

TEST(Smaller, AnExtentShrinksEverywhereOrNowhere) {
    const Graph graph = graphOf(chain);
    EXPECT_EQ(extents(graph), (std::vector<int64_t>{8, 4, 2}));
    const auto shrunk = withExtent(graph, 8, 3);
    expectWhole(shrunk);
    EXPECT_EQ(shrunk->value(shrunk->inputs()[0]).type.text(), "float[2,3]");
    const TensorPtr w = shrunk->value(shrunk->findValue("w")).constant;
    EXPECT_EQ(w->extents(), (Extents{3, 4}));
    EXPECT_EQ(w->at(11), 12);
    // A fixed target of Reshape follows; one that contradicts does not make a model.
    const Graph flat = graphOf("g (float[2,6] x) => (float[3,4] y) <int64[2] s = {3, 4}> "
                               "{ y = Reshape(x, s) }");
    EXPECT_FALSE(withExtent(flat, 6, 5));
}

TEST(Smaller, WeightsBecomeInputsOrOnes) {
    const Graph graph = graphOf(chain);
    const auto given = asInputs(graph, weights(graph));
    expectWhole(given);
    EXPECT_EQ(given->inputs().size(), 2U);
    const auto ones = filledWithOnes(graph, weights(graph)[0]);
    expectWhole(ones);
    EXPECT_EQ(ones->value(weights(*ones)[0]).constant->at(5), 1);
    EXPECT_FALSE(filledWithOnes(*ones, weights(*ones)[0]));
}

TEST(Smaller, SymbolsBecomeNumbers) {
    const Graph graph = graphOf("g (float[N,8] x) => (float[N,8] y) { y = Relu(x) }");
    const auto bound = withSymbols(graph, 1);
    expectWhole(bound);
    EXPECT_EQ(bound->value(bound->outputs()[0]).type.text(), "float[1,8]");
    EXPECT_FALSE(withSymbols(*bound, 1));
}
