// SPDX-License-Identifier: Apache-2.0
// Text of rules and text of a graph in, matches out: what the compiled form means to the engine.
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/rewrite/engine.h"
#include "dsl_support.h"

#include <gtest/gtest.h>

#include <map>

using namespace fuselage;
using fuselage::dsl::test::Loaded;

namespace {

/// How many fused nodes (or, for rewrite rules, nodes) the rules leave in the graph, by name.
std::map<std::string, int> countsAfter(const std::string& rules, const std::string& graphText) {
    Loaded loaded(rules + " pipeline p = fuse by gain;");
    EXPECT_EQ(loaded.rendered(), "");
    Result<Graph> graph = model_io::loadText(graphText);
    if (!graph) {
        ADD_FAILURE() << graph.error().text();
        return {};
    }
    Progress progress;
    inferShapes(*graph);
    if (auto folded = foldConstants(*graph, {}, progress); !folded)
        ADD_FAILURE() << folded.error().text();
    EngineOptions options;
    Result<Rewritten> done = rewrite(std::move(*graph), loaded.result.rules,
                                     loaded.result.rules.pipelines.back(), options, progress);
    if (!done) {
        ADD_FAILURE() << done.error().text();
        return {};
    }
    std::map<std::string, int> counts;
    for (NodeId id : topologicalOrder(done->graph)) {
        const Node& node = done->graph.node(id);
        ++counts[node.op == Op::Fused ? node.customOp : nameOf(node.op)];
    }
    return counts;
}

} // namespace

TEST(DslRewrite, AStepPatternThatNamesItsSourceTwiceMatchesOneValue) {
    std::string rules = "fuse 1; pattern Silu2(x) -> y { y = Mul(x, Sigmoid(x)); } "
                        "rule R { match { y = Abs(a) -> Silu2; } }";
    EXPECT_EQ(countsAfter(rules, "g (float[4] v) => (float[4] y) { a = Abs(v) s = Sigmoid(a) "
                                 "y = Mul(s, a) }")["R"],
              1);
    EXPECT_EQ(countsAfter(rules, "g (float[4] v) => (float[4] y) { a = Abs(v) b = Abs(v) "
                                 "s = Sigmoid(a) y = Mul(s, b) }")["R"],
              0);
}

TEST(DslRewrite, APatternOfSeveralStatementsInAnOptionalStep) {
    std::string rules = "fuse 1; pattern Centre(x) -> y { m = ReduceMean(x); y = Sub(x, m); } "
                        "rule R { match { y = Abs(a) -> Centre? -> Relu; } }";
    EXPECT_EQ(countsAfter(rules, "g (float[4] v) => (float[4] y) { a = Abs(v) m = ReduceMean(a) "
                                 "d = Sub(a, m) y = Relu(d) }")["R"],
              1);
    EXPECT_EQ(countsAfter(rules, "g (float[4] v) => (float[4] y) { a = Abs(v) y = Relu(a) }")["R"],
              1);
    std::map<std::string, int> other = countsAfter(
        rules, "g (float[4] v, float[4] u) => (float[4] y) { a = Abs(v) m = ReduceMean(u) "
               "d = Sub(a, m) y = Relu(d) }");
    EXPECT_EQ(other["R"], 0);
}

TEST(DslRewrite, ConditionsOfAPatternCountOnlyWhereItIsTaken) {
    std::string rules = "fuse 1; pattern Wide(x) -> y { y = Neg(x); where x.shape[0] > 4; } "
                        "rule R { match { y = Abs(a) -> Wide? -> Relu; } }";
    auto graph = [](const std::string& n, const std::string& middle) {
        return "g (float[" + n + "] v) => (float[" + n + "] y) { a = Abs(v) b = " + middle +
               "(a) y = Relu(b) }";
    };
    EXPECT_EQ(countsAfter(rules, graph("8", "Neg"))["R"], 1);
    EXPECT_EQ(countsAfter(rules, graph("4", "Neg"))["R"], 0);
    EXPECT_EQ(countsAfter(rules, "g (float[4] v) => (float[4] y) { a = Abs(v) y = Relu(a) }")["R"],
              1);
}

TEST(DslRewrite, AttributeTestsMayReadDimensionsOfOperands) {
    std::string rules = "fuse 1; rule R { match { y = AveragePool(x: [N, C, H, W])[kernel_shape == "
                        "[H, W]] -> Relu; } }";
    auto graph = [](const std::string& side, const std::string& out) {
        return "g (float[1,2," + side + "," + side + "] x) => (float[1,2," + out + "," + out +
               "] y) { p = AveragePool<kernel_shape = [3, 3]>(x) y = Relu(p) }";
    };
    EXPECT_EQ(countsAfter(rules, graph("3", "1"))["R"], 1);
    EXPECT_EQ(countsAfter(rules, graph("5", "3"))["R"], 0);
}

TEST(DslRewrite, RewriteChainsBuildTheirNodes) {
    std::map<std::string, int> counts = countsAfter(
        "fuse 1; rule R once { match { y = Neg(x: [A, B]); } "
        "rewrite { y = x -> Transpose[perm = [1, 0]] -> Neg -> Transpose[perm = [1, 0]]; } }",
        "g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }");
    EXPECT_EQ(counts["Transpose"], 2);
    EXPECT_EQ(counts["Neg"], 1);
}

TEST(DslRewrite, StandardRulesFuseAConvolutionBlock) {
    std::map<std::string, int> counts = countsAfter(
        "fuse 1; import \"std/convolution\";",
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y) { "
        "w = Constant<value = float[2,2,1,1] {1, 2, 3, 4}>() c = Conv(x, w) r = Relu(c) "
        "d = Conv(r, w) e = Add(d, x) y = Relu(e) }");
    EXPECT_EQ(counts["ConvBNReLU"], 1);
    EXPECT_EQ(counts["ConvBNAddReLU"], 1);
    EXPECT_EQ(counts.size(), 2U);
}
