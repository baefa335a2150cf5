// SPDX-License-Identifier: Apache-2.0
// Rules derived from nodes: each must compile and fire on the sites it was derived from, and pass
// the tests that were put inside.
#include "app/pipeline/derive.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/rule_tests.h"
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

namespace {

using Sites = std::vector<std::vector<std::string>>;

/// Derives a rule from the nodes that make these values, one list a site.
Result<app::DerivedRule> shared(const Graph& graph, const Sites& values) {
    Sites sites;
    for (const auto& site : values) {
        sites.emplace_back();
        for (const std::string& value : site)
            sites.back().push_back(graph.node(graph.producer(graph.findValue(value))).name);
    }
    Progress quiet;
    return app::deriveShared(graph, sites, {}, quiet);
}

/// The line of the pattern; its tests inside must pass.
std::string patternOf(const Result<app::DerivedRule>& derived, size_t tests) {
    if (!derived)
        return derived.error().text();
    app::RuleOptions rules;
    rules.builtin = false;
    rules.texts = {{"derived.fuse", derived->text}};
    auto library = app::requireRuleLibrary(rules);
    EXPECT_TRUE(library) << derived->text;
    Progress quiet;
    auto results = app::runRuleTests(*library, {}, quiet);
    EXPECT_EQ(results->size(), tests) << derived->text;
    for (const app::RuleTestResult& result : *results)
        EXPECT_TRUE(result.passed()) << derived->text;
    size_t begin = derived->text.find("match {") + 12;
    return derived->text.substr(begin, derived->text.find("\n  }", begin) - begin);
}

constexpr const char* twoTails = "g (float[4,8] x, float[4,8] z) => (float[4,8] y, float[4,8] u)"
                                 "<float half = {0.5}, float two = {2}> {";

} // namespace

TEST(DeriveShared, AttributesThatDifferBecomeASet) {
    Graph graph =
        graphOf("g (float[4,8] x) => (float[4,8] y, float[4,8] u) {"
                "a = Relu(x) y = Softmax<axis = 0>(a) b = Relu(x) u = Softmax<axis = 1>(b) }");
    auto derived = shared(graph, {{"a", "y"}, {"b", "u"}});
    EXPECT_EQ(patternOf(derived, 2), "y = Relu(x) -> Softmax[axis in {0, 1}];");
    EXPECT_EQ(derived->sites, 2U);
    EXPECT_EQ(derived->others, 0U);
}

TEST(DeriveShared, OperatorsThatDifferBecomeAlternatives) {
    Graph graph = graphOf(std::string(twoTails) +
                          "a = Add(x, z) y = Relu(a) b = Add(x, z) u = Clip(b, half, two) }");
    EXPECT_EQ(patternOf(shared(graph, {{"a", "y"}, {"b", "u"}}), 2),
              "y = Add(x, res) -> (Relu | Clip(_, 0.5, 2));");
}

TEST(DeriveShared, ANodeThatOnlySomeHaveIsOptional) {
    Graph graph = graphOf("g (float[4,8] x, float[8,8] w) => (float[4,8] y, float[4,8] u)"
                          "<float half = {0.5}> { a = MatMul(x, w) s = Mul(a, half) y = Relu(s)"
                          "b = MatMul(x, w) u = Relu(b) }");
    EXPECT_EQ(patternOf(shared(graph, {{"a", "s", "y"}, {"b", "u"}}), 2),
              "y = MatMul(x, other) -> Mul(_, 0.5)? -> Relu;");
}

TEST(DeriveShared, WhereOnlySomeGoOnTheEndIsOptional) {
    Graph graph =
        graphOf("g (float[4,8] x, float[8,8] w, float[8] b) => (float[4,8] y, float[4,8] u)"
                "{ m = MatMul(x, w) y = Add(m, b) n = MatMul(x, w) a = Add(n, b)"
                "u = Relu(a) }");
    for (const Sites& sites : {Sites{{"m", "y"}, {"n", "a", "u"}}, {{"n", "a", "u"}, {"m", "y"}}})
        EXPECT_EQ(patternOf(shared(graph, sites), 2),
                  "y = MatMul(x, other) -> Add(_, res) -> Relu?;");
}

/// Operands of integers are made as such, in the tests too.
TEST(DeriveShared, TestsOfIntegerConvolutionsPass) {
    Graph graph = graphOf(
        "g (uint8[1,2,6,6] x, uint8[3,2,3,3] w, uint8 zx, uint8 zw, float s) => (float[1,3,4,4] y)"
        "{ c = ConvInteger(x, w, zx, zw) f = Cast<to = 1>(c) y = Mul(f, s) }");
    auto derived = shared(graph, {{"c", "f", "y"}});
    ASSERT_TRUE(derived) << derived.error().text();
    EXPECT_GE(derived->tests, 1U) << derived->text;
    patternOf(derived, derived->tests);
}

TEST(DeriveShared, NumbersThatDifferBecomeConstants) {
    Graph graph = graphOf(std::string(twoTails) +
                          "a = Relu(x) y = Mul(a, half) b = Relu(z) u = Mul(b, two) }");
    EXPECT_EQ(patternOf(shared(graph, {{"a", "y"}, {"b", "u"}}), 2),
              "y = Relu(x) -> Mul(_, scale: const);");
}

TEST(DeriveShared, OperandsOfCommutativeOperatorsAreBroughtSideBySide) {
    Graph graph =
        graphOf(std::string(twoTails) + "a = Relu(x) y = Add(a, z) b = Relu(z) u = Add(x, b) }");
    EXPECT_EQ(patternOf(shared(graph, {{"a", "y"}, {"b", "u"}}), 2), "y = Relu(x) -> Add(_, res);");
}

TEST(DeriveShared, OtherPlacesWhereItFiresAreCounted) {
    Graph graph =
        graphOf(std::string(twoTails) + "a = Relu(x) y = Exp(a) b = Relu(z) u = Exp(b) }");
    auto derived = shared(graph, {{"a", "y"}});
    ASSERT_TRUE(derived) << derived.error().text();
    EXPECT_EQ(derived->sites, 1U);
    EXPECT_EQ(derived->others, 1U);
}

TEST(DeriveShared, SitesOfTwoFormsAreRefused) {
    Graph graph = graphOf("g (float[4] x) => (float[4] y, float[4] u, float[4] v) {"
                          "a = Relu(x) y = Exp(a) u = Abs(x) v = Neg(x) }");
    auto derived = shared(graph, {{"a", "y"}, {"u", "v"}});
    ASSERT_FALSE(derived);
    EXPECT_EQ(derived.error().code, "derive.differ");
}

TEST(DeriveShared, ANodeBetweenTheNodesIsNamed) {
    Graph graph = graphOf("g (float[4] x) => (float[4] y) { a = Neg(x) b = Exp(a) y = Abs(b) }");
    auto derived = shared(graph, {{"a", "y"}});
    ASSERT_FALSE(derived);
    EXPECT_EQ(derived.error().code, "derive.convex");
    EXPECT_NE(derived.error().fix.find("add `Exp`"), std::string::npos) << derived.error().text();
}

TEST(DeriveShared, OneSiteWhereNothingIsGainedIsNotToldToBeFewer) {
    Graph graph = graphOf("g (float[64,64] x, float[64,64] w) => (float[64,64] y) {"
                          "a = MatMul(x, w) y = Softmax(a) }");
    auto derived = shared(graph, {{"a", "y"}});
    ASSERT_FALSE(derived);
    EXPECT_EQ(derived.error().code, "derive.verify");
    EXPECT_EQ(derived.error().fix, "derive from fewer nodes") << derived.error().text();
    Graph one = graphOf("g (float[99999] x) => (float[99999,1] z) <int64[1] k = {1}> {"
                        "a = Neg(x) y = Unsqueeze(a, k) z = Abs(y) }");
    derived = shared(one, {{"y"}});
    ASSERT_FALSE(derived);
    EXPECT_EQ(derived.error().fix, "derive from it and a node before or behind it")
        << derived.error().text();
}

TEST(DeriveShared, ANodeInTwoSitesIsRefused) {
    Graph graph = graphOf("g (float[4] x) => (float[4] y) { a = Neg(x) y = Abs(a) }");
    EXPECT_EQ(shared(graph, {{"a", "y"}, {"y"}}).error().code, "derive.nodes");
}

TEST(DeriveShared, AnUnknownNameBringsTheNearestNames) {
    Graph graph = graphOf("g (float[4] x) => (float[4] y) { a = Neg(x) y = Abs(a) }");
    Progress quiet;
    auto derived = app::deriveShared(graph, {{"Absx"}}, {}, quiet);
    ASSERT_FALSE(derived);
    EXPECT_EQ(derived.error().fix, "nearest: `Abs`");
}
