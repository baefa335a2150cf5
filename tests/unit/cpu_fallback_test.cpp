// SPDX-License-Identifier: Apache-2.0
// No plan computes an ordinary product, pool or copy by plain or reference loops, fused or one
// kernel a node: forms whose layouts once led there, and every network of the zoo for 1, 2 and 5
// images.
#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/zoo/zoo.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace fuselage;

namespace {

/// Names and tactics of the steps that have no kernel.
std::vector<std::string> fallbacksOf(CompiledGraph& compiled) {
    std::vector<std::string> out;
    for (size_t i = 0; i < compiled.plan().steps.size(); ++i)
        if (compiled.executable().isFallback(i))
            out.push_back(compiled.plan().steps[i].name + ": " + compiled.executable().tactic(i));
    return out;
}

std::vector<std::string> tacticsOf(CompiledGraph& compiled) {
    std::vector<std::string> out;
    for (size_t i = 0; i < compiled.plan().steps.size(); ++i)
        out.push_back(compiled.executable().tactic(i));
    return out;
}

Result<CompiledGraph> compiledFrom(Graph graph, bool perNode) {
    CompileOptions options;
    options.oneKernelPerNode = perNode;
    options.threads = 1;
    return CompiledGraph::compile(std::move(graph), options);
}

Graph graphOf(const std::string& text) {
    auto graph = model_io::loadText("g " + text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    return std::move(*graph);
}

void expectKernels(const std::string& text) {
    SCOPED_TRACE(text);
    for (bool perNode : {true, false}) {
        auto compiled = compiledFrom(graphOf(text), perNode);
        ASSERT_TRUE(compiled) << compiled.error().text();
        EXPECT_EQ(fallbacksOf(*compiled), std::vector<std::string>{});
        auto inputs = app::generateInputs(*compiled->plan().graph, 3);
        ASSERT_TRUE(inputs);
        auto outputs = compiled->run(*inputs);
        ASSERT_TRUE(outputs) << outputs.error().text();
        CompileOptions judge;
        judge.backend = BackendKind::Reference;
        auto reference = CompiledGraph::compile(graphOf(text), judge);
        ASSERT_TRUE(reference);
        auto wanted = reference->run(*inputs);
        ASSERT_TRUE(wanted);
        const Tensor &got = (*outputs)[0], &exact = (*wanted)[0];
        double largest = 1;
        for (int64_t i = 0; i < exact.elementCount(); ++i)
            largest = std::max(largest, std::abs(exact.at(i)));
        for (int64_t i = 0; i < got.elementCount(); ++i)
            ASSERT_NEAR(got.at(i), exact.at(i), 1e-4 * largest);
    }
}

std::vector<std::string> zooNames() {
    std::vector<std::string> out;
    for (const zoo::ZooEntry& entry : zoo::models())
        out.push_back(entry.name);
    return out;
}

class ZooKernels : public testing::TestWithParam<std::string> {};

} // namespace

TEST(Fallbacks, ABlockOfConvNeXtWithTransposes) {
    const std::string text =
        "(float[1,96,14,14] x, float[96,1,7,7] c, float[96,384] w) => (float[1,384,14,14] y) "
        "{ a = Conv<group=96,pads=[3,3,3,3]>(x, c)  t = Transpose<perm=[0,2,3,1]>(a) "
        "m = MatMul(t, w)  e = Erf(m)  y = Transpose<perm=[0,3,1,2]>(e) }";
    expectKernels(text);
    auto compiled = compiledFrom(graphOf(text), true);
    ASSERT_TRUE(compiled);
    const std::vector<std::string> tactics = tacticsOf(*compiled);
    EXPECT_TRUE(std::any_of(tactics.begin(), tactics.end(), [](const std::string& tactic) {
        return tactic.find("brg") != std::string::npos || tactic.find("gemm") != std::string::npos;
    }));
}

TEST(Fallbacks, ProductsOfWhatAConvolutionMakes) {
    expectKernels("(float[2,16,8,8] x, float[16,16,1,1] w, float[2,16,8,24] b) => "
                  "(float[2,16,8,24] y) { a = Conv(x, w)  t = Tanh(a)  y = MatMul(t, b) }");
    expectKernels("(float[2,16,8,8] x, float[16,16,3,3] w) => (float[2,16,8,8] y) "
                  "{ a = Conv<pads=[1,1,1,1]>(x, w)  b = Conv<pads=[1,1,1,1]>(a, w) "
                  "y = MatMul(a, b) }");
    expectKernels(
        "(float[2,16,8,8] x, float[16,16,3,3] w) => (float[2,16,8,8] y) "
        "{ a = Conv<pads=[1,1,1,1]>(x, w)  t = Transpose<perm=[0,3,2,1]>(a) "
        "u = Transpose<perm=[0,3,1,2]>(t)  v = MatMul(u, a)  y = Conv<pads=[1,1,1,1]>(v, w) }");
}

TEST(Fallbacks, ConvolutionsOfReversedChannels) {
    const std::string reversed =
        "s = Constant<value_ints=[-1]>()  e = Constant<value_ints=[-99]>() "
        "a = Constant<value_ints=[1]>()  r = Slice(x, s, e, a, s) ";
    expectKernels("(float[1,32,20] x, float[16,16,1] w, float[16] b) => (float[1,16,20] y) { " +
                  reversed +
                  "z = Constant<value_ints=[0]>()  h = Constant<value_ints=[16]>() "
                  "f = Slice(r, z, h, a)  y = Conv(f, w, b) }");
    expectKernels("(float[1,16,9,9] x, float[16,8,3,3] w) => (float[1,8,11,11] y) { " + reversed +
                  "y = ConvTranspose(r, w) }");
}

TEST(Fallbacks, PoolsInEveryPlace) {
    for (const char* pool : {"MaxPool<kernel_shape=[5,5],pads=[2,2,2,2]>",
                             "AveragePool<kernel_shape=[3,3],pads=[1,1,1,1]>",
                             "MaxPool<kernel_shape=[3,3],pads=[2,2,2,2],dilations=[2,2]>"}) {
        const std::string p = pool;
        expectKernels("(float[2,8,9,9] x) => (float[2,8,9,9] y) { y = " + p + "(x) }");
        expectKernels("(float[2,8,9,9] x) => (float[2,8,9,9] y) { a = Sigmoid(x)  b = Mul(x, a) "
                      "y = " +
                      p + "(b) }");
        expectKernels("(float[2,8,9,9] x, float[8,8,1,1] w) => (float[2,16,9,9] y) "
                      "{ a = Conv(x, w)  r = Relu(a)  b = " +
                      p + "(r)  y = Concat<axis=1>(r, b) }");
    }
}

TEST_P(ZooKernels, EveryStepHasOne) {
    auto built = zoo::build(GetParam());
    ASSERT_TRUE(built);
    Progress progress;
    auto library = app::loadRuleLibrary({});
    ASSERT_TRUE(library);
    for (int64_t images : {1, 2, 5}) {
        Graph graph = built->clone();
        bindAllDimensions(graph, {}, images);
        ASSERT_TRUE(prepareGraph(graph, progress));
        auto fused = app::fuseGraph(graph, *library, {}, progress);
        ASSERT_TRUE(fused) << fused.error().text();
        for (bool perNode : {true, false}) {
            auto compiled = compiledFrom(perNode ? graph.clone() : fused->graph.clone(), perNode);
            ASSERT_TRUE(compiled) << compiled.error().text();
            EXPECT_EQ(fallbacksOf(*compiled), std::vector<std::string>{})
                << images << " images, " << (perNode ? "one kernel a node" : "fused");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooKernels, testing::ValuesIn(zooNames()),
                         [](const auto& info) { return info.param; });
