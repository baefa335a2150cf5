// SPDX-License-Identifier: Apache-2.0
// Planned runs on the cpu backend against the reference interpreter: views, concats written in
// place, reuse of memory.
#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/verify.h"
#include "core/cpu/pages.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace fuselage;

namespace {

/// Compiles the text with and without strided views, runs both, compares with the interpreter.
/// `fuseAll`: the standard rules are applied first.
std::shared_ptr<const Plan> expectSame(const std::string& text, bool fuseAll = false) {
    auto graph = model_io::loadText(text);
    if (!graph) {
        ADD_FAILURE() << graph.error().text();
        return nullptr;
    }
    inferShapes(*graph);
    if (fuseAll) {
        auto library = app::loadRuleLibrary({});
        Progress fusing;
        auto rewritten = app::fuseGraph(*graph, *library, {}, fusing);
        EXPECT_TRUE(rewritten);
        *graph = std::move(rewritten->graph);
    }
    auto inputs = app::generateInputs(*graph, 3);
    EXPECT_TRUE(inputs);
    std::vector<ReferenceValue> values;
    for (const Tensor& input : *inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool threads(1);
    Progress progress;
    auto expected = interpret(*graph, values, threads, progress);
    EXPECT_TRUE(expected);
    std::shared_ptr<const Plan> plan;
    for (bool perNode : {true, false}) {
        CompileOptions options;
        options.oneKernelPerNode = perNode;
        auto compiled = CompiledGraph::compile(graph->clone(), options);
        if (!compiled) {
            ADD_FAILURE() << compiled.error().text();
            return nullptr;
        }
        // Twice: the second run meets the memory as the first one left it.
        for (int run = 0; run < 2; ++run) {
            auto outputs = compiled->run(*inputs);
            if (!outputs) {
                ADD_FAILURE() << outputs.error().text();
                return nullptr;
            }
            for (size_t i = 0; i < outputs->size(); ++i) {
                auto agreement =
                    app::compareOutput(std::to_string(i), "", (*expected)[i], (*outputs)[i]);
                EXPECT_TRUE(agreement.ok) << "output " << i << " perNode " << perNode << " run "
                                          << run << " error " << agreement.maxRelative;
            }
        }
        plan = std::make_shared<const Plan>(compiled->plan());
    }
    return plan;
}

} // namespace

TEST(PlanRun, ConcatIsWrittenByItsProducers) {
    auto plan = expectSame("g (float[1,4,6,6] x) => (float[1,8,6,6] y) {"
                           " a = Relu(x) b = Neg(x) c = Concat<axis=1>(a, b) y = Exp(c) }");
    EXPECT_EQ(plan->steps.size(), 3U);
}

TEST(PlanRun, AConcatenatedValueIsReadElsewhereToo) {
    expectSame("g (float[1,4,6,6] x) => (float[1,8,6,6] y, float[1,4,6,6] z) {"
               " a = Relu(x) z = Exp(a) b = Neg(z) c = Concat<axis=1>(a, b) y = Exp(c) }");
}

TEST(PlanRun, AViewThatTheGraphHandsOutIsWrittenByItsProducer) {
    auto plan =
        expectSame("g (float[4,6] x, float[6,12] w) => (float[4,3,4] y) {"
                   " m = MatMul(x, w) y = Reshape(m, s) s = Constant<value=int64[3]{4,3,4}>() }");
    EXPECT_EQ(plan->steps.size(), 1U);
    // Read elsewhere, and handed out in two forms: one of them is a copy.
    plan = expectSame("g (float[4,6] x) => (float[24] y, float[6,4] z, float[4,6] r) {"
                      " a = Exp(x) y = Reshape(a, s) s = Constant<value=int64[1]{24}>()"
                      " z = Reshape(a, t) t = Constant<value=int64[2]{6,4}>() r = Neg(a) }");
    EXPECT_EQ(plan->steps.size(), 3U);
}

TEST(PlanRun, ATransposeThatTheGraphHandsOutIsWrittenByWhatMakesItsOperand) {
    auto plan = expectSame("g (float[4,6] x) => (float[6,4] y) { a = Exp(x) y = Transpose(a) }");
    EXPECT_EQ(plan->steps.size(), 1U);
    plan = expectSame("g (float[2,3,4,5] x, float[3,1,1] b) => (float[4,2,5,3] y) {"
                      " a = Add(x, b) y = Transpose<perm=[2,0,3,1]>(a) }");
    EXPECT_EQ(plan->steps.size(), 1U);
    // Of a product too, and where others read the same: one step less.
    plan = expectSame("g (float[4,6] x, float[6,5] w) => (float[5,4] y) {"
                      " a = MatMul(x, w) y = Transpose(a) }");
    EXPECT_EQ(plan->steps.size(), 1U);
    plan = expectSame("g (float[4,6] x) => (float[6,4] y, float[4,6] z) {"
                      " a = Exp(x) y = Transpose(a) z = Neg(a) }");
    EXPECT_EQ(plan->steps.size(), 2U);
}

TEST(PlanRun, ConvolutionsWriteIntoAConcat) {
    expectSame("g (float[1,4,6,6] x, float[8,4,3,3] w, float[4,8,2,2] v, float[16,12,1,1] u)"
               " => (float[1,16,6,6] y) {"
               " a = Conv<pads=[1,1,1,1]>(x, w)  p = MaxPool<kernel_shape=[2,2],strides=[2,2]>(a)"
               " q = ConvTranspose<strides=[2,2]>(p, v2)  v2 = Identity(v3)"
               " v3 = Reshape(v, s) s = Constant<value=int64[4]{8,4,2,2}>()"
               " c = Concat<axis=1>(a, q)  y = Conv(c, u) }");
}

TEST(PlanRun, OneValueFillsTwoPartsOfAConcat) {
    expectSame("g (float[2,5] x) => (float[2,10] y) {"
               " a = Exp(x) c = Concat<axis=1>(a, a) y = Neg(c) }");
}

TEST(PlanRun, AResidualOfOneRowMayLiveWhereTheResultGoes) {
    // The layer of one row: its residual has the shape of a bias and dies here.
    expectSame("g (float[1,1,2] x) => (float[1,1,2] y) {"
               " w = Constant<value=float[2,2]{1,2,3,4}>() b = Constant<value=float[2]{1,2}>()"
               " r = Exp(x) s = Neg(r) m = MatMul(s, w) n = Add(m, b) t = Add(n, r) y = Abs(t) }",
               true);
}

TEST(PlanRun, SlicesTransposesAndReshapesAreViews) {
    auto plan = expectSame("g (float[5,1,24] x) => (float[4,5,2] y) {"
                           " e = Exp(x) i = Constant<value=int64[1]{8}>()"
                           " j = Constant<value=int64[1]{16}>() k = Constant<value=int64[1]{2}>()"
                           " t = Slice(e, i, j, k) s = Constant<value=int64[3]{5,4,2}>()"
                           " r = Reshape(t, s) p = Transpose<perm=[1,0,2]>(r) y = Neg(p) }");
    EXPECT_EQ(plan->steps.size(), 2U);
}

TEST(PlanRun, ElementwiseChainsReuseOneBuffer) {
    auto plan = expectSame("g (float[64,64] x) => (float[64,64] y) {"
                           " a = Exp(x) b = Neg(a) c = Abs(b) d = Sqrt(c) y = Relu(d) }");
    EXPECT_EQ(plan->arenaBytes, 64 * 64 * 4);
}

namespace {

std::string refusalOf(Graph graph, const CompileOptions& options) {
    auto compiled = CompiledGraph::compile(std::move(graph), options);
    return compiled ? "compiled" : compiled.error().code;
}

Graph pair() {
    return *model_io::loadText("g (float[N,3] x) => (float[N,3] y) { t = Neg(x)  y = Relu(t) }");
}

} // namespace

TEST(Compile, RefusesGraphsThatAreNone) {
    const auto relu = [](const Graph& graph) { return graph.value(graph.outputs()[0]).producer; };
    CompileOptions options;
    options.threads = 1;
    options.dims = {{"N", 2}};
    EXPECT_EQ(refusalOf(pair(), options), "compiled");
    Graph cyclic = pair();
    const NodeId neg = cyclic.value(cyclic.node(relu(cyclic)).inputs[0]).producer;
    cyclic.setInput(neg, 0, cyclic.outputs()[0]);
    EXPECT_EQ(refusalOf(cyclic.clone(), options), "graph.cycle");
    Graph bodiless = pair();
    bodiless.edit(relu(bodiless)).op = Op::Fused;
    EXPECT_EQ(refusalOf(bodiless.clone(), options), "graph.body");
    Progress progress;
    auto library = app::loadRuleLibrary({});
    for (const Graph* graph : {&cyclic, &bodiless})
        EXPECT_FALSE(app::fuseGraph(*graph, *library, {}, progress));
}

TEST(Compile, RefusesSizesAndThreadsThatNoMachineHas) {
    CompileOptions options;
    options.threads = 1;
    // 3 * 2^60 fits in 64 bits and its bytes do not; 3 * 2^62 does not either.
    for (int power : {38, 41, 42, 60, 62}) {
        options.dims = {{"N", int64_t(1) << power}};
        EXPECT_EQ(refusalOf(pair(), options), "resource.memory") << power;
    }
    options.dims = {{"N", 2}};
    for (int threads : {-3, 100000}) {
        options.threads = threads;
        EXPECT_EQ(refusalOf(pair(), options), "usage.threads") << threads;
    }
    auto library = app::loadRuleLibrary({});
    app::FuseOptions fuse;
    fuse.dims = {{"N", -3}};
    Progress progress;
    auto fused = app::fuseGraph(pair(), *library, fuse, progress);
    ASSERT_FALSE(fused);
    EXPECT_EQ(fused.error().code, "dim.negative");
}

TEST(Compile, StepsThatAPlanDoesNotHaveHaveNoTactic) {
    CompileOptions options;
    options.threads = 1;
    options.dims = {{"N", 2}};
    for (BackendKind kind : {BackendKind::Cpu, BackendKind::Reference}) {
        options.backend = kind;
        auto compiled = CompiledGraph::compile(pair(), options);
        ASSERT_TRUE(compiled);
        EXPECT_FALSE(compiled->executable().tactic(0).empty());
        EXPECT_EQ(compiled->executable().tactic(99), "");
    }
}

TEST(Compile, BoundWeightsAreCopies) {
    auto graph = *model_io::loadText("g (float[2,2] x, float[2,2] w) => (float[2,2] y)"
                                     " { y = MatMul(x, w) }");
    Tensor weight = Tensor::ofFloats({2, 2}, {1, 2, 3, 4});
    ASSERT_TRUE(bindInput(graph, "w", weight));
    weight.as<float>()[0] = 100;
    CompileOptions options;
    options.threads = 1;
    auto compiled = CompiledGraph::compile(std::move(graph), options);
    ASSERT_TRUE(compiled);
    auto made = compiled->run({Tensor::ofFloats({2, 2}, {1, 0, 0, 1})});
    ASSERT_TRUE(made);
    EXPECT_EQ((*made)[0].at(0), 1);
}

TEST(Compile, SeveralExecutablesOfOnePlanRunAtOnce) {
    auto graph = model_io::loadText("g (float[32,64] x, float[64,48] w, float[48] b)"
                                    " => (float[32,48] z) {"
                                    " m = MatMul(x, w)  s = Add(m, b)  y = Relu(s)"
                                    " z = Softmax(y) }");
    ASSERT_TRUE(graph) << graph.error().text();
    const auto given = *app::generateInputs(*graph, 3);
    ASSERT_TRUE(bindInput(*graph, "w", given[1]));
    ASSERT_TRUE(bindInput(*graph, "b", given[2]));
    CompileOptions options;
    options.threads = 1;
    std::vector<std::unique_ptr<Executable>> executables;
    std::vector<Tensor> inputs, expected;
    {
        auto compiled = CompiledGraph::compile(std::move(*graph), options);
        ASSERT_TRUE(compiled) << compiled.error().text();
        auto plan = compiled->sharedPlan();
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->get(), &compiled->plan());
        auto backend = makeCpuBackend({1, false, false, "", std::make_shared<cpu::SharedPages>()});
        for (int i = 0; i < 4; ++i) {
            Tensor input = given[0].clone();
            for (float& element : input.as<float>())
                element += static_cast<float>(i);
            auto alone = compiled->run({input});
            ASSERT_TRUE(alone);
            inputs.push_back(input);
            expected.push_back((*alone)[0].clone());
            Progress progress;
            auto made = backend->prepare(*plan, progress);
            ASSERT_TRUE(made) << made.error().text();
            executables.push_back(std::move(*made));
        }
    } // executables keep what they need
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < executables.size(); ++i)
        threads.emplace_back([&, i] {
            Progress progress;
            const std::vector<Tensor> mine{inputs[i]};
            for (int run = 0; run < 200; ++run) {
                auto made = executables[i]->outputs(mine, progress);
                wrong += made && identical((*made)[0], expected[i]) ? 0 : 1;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
}
