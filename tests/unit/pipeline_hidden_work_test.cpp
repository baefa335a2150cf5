// SPDX-License-Identifier: Apache-2.0
// What a plan does not say of its steps, and reports therefore add: results of full size in the
// memory of a kernel, split sums, steps that the host computes for a device.
#include "app/pipeline/compiled.h"
#include "app/pipeline/kernel_text.h"
#include "app/pipeline/report.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

using namespace fuselage;

namespace {

Graph graphOf(const char* text) {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << graph.error().text();
    if (graph)
        inferShapes(*graph);
    return graph ? std::move(*graph) : Graph();
}

constexpr const char* convFloor =
    "g (float[1,8,16,16] x, float[8,8,3,3] w) => (float[1,8,14,14] z) {"
    " y = Conv(x, w)  z = Floor(y) }";

TEST(HiddenWork, AnEpilogueThatIsAPassOfItsOwnReadsAResultOfFullSize) {
    auto compiled = CompiledGraph::compile(fuseWhole(graphOf(convFloor), "All"), {});
    ASSERT_TRUE(compiled) << compiled.error().text();
    ASSERT_EQ(compiled->plan().steps.size(), 1U);
    const HiddenWork work = compiled->executable().hiddenWork(0);
    const int64_t result = 8 * 14 * 14 * 4;
    EXPECT_GE(work.values, 1U);
    EXPECT_GE(work.passedBytes, result);
    EXPECT_GE(work.scratchBytes, work.passedBytes);
    EXPECT_EQ(work.launches, 1U);
}

TEST(HiddenWork, AStepThatOnlyReadsAndWritesHidesNothing) {
    auto compiled =
        CompiledGraph::compile(graphOf("g (float[64] x) => (float[64] y) { y = Sin(x) }"), {});
    ASSERT_TRUE(compiled) << compiled.error().text();
    EXPECT_FALSE(compiled->executable().hiddenWork(0).any());
}

/// Minimal filtering adds up other products: the step says so, and a strict plan does without.
TEST(HiddenWork, AWayThatSumsInAnotherOrderSaysSo) {
    for (bool strict : {false, true}) {
        Graph graph = graphOf("g (float[1,64,56,56] x, float[64,64,3,3] w) => "
                              "(float[1,64,56,56] y) { r = Relu(x) "
                              "c = Conv<pads = [1, 1, 1, 1]>(r, w) y = Relu(c) }");
        ASSERT_TRUE(bindInput(graph, "w", Tensor(DType::Float32, {64, 64, 3, 3})));
        CompileOptions options;
        options.strict = strict;
        auto compiled = CompiledGraph::compile(std::move(graph), options);
        ASSERT_TRUE(compiled) << compiled.error().text();
        const Executable& steps = compiled->executable();
        size_t filtered = 0;
        for (size_t i = 0; i < compiled->plan().steps.size(); ++i) {
            const bool isFiltered = steps.tactic(i).find("winograd") != std::string::npos;
            EXPECT_EQ(steps.numeric(i),
                      isFiltered ? NumericClass::Reassociated : NumericClass::Exact)
                << steps.tactic(i);
            filtered += isFiltered ? 1 : 0;
        }
        EXPECT_EQ(filtered, strict ? 0U : 1U);
    }
}

TEST(HiddenWork, WhatReadsConstantsAloneIsComputedWhilePreparing) {
    Graph graph = graphOf("g (float[2,4] x, int8[4,3] w) => (float[2,3] y)"
                          " <float s = {0.5}, int8 z = {1}> {"
                          " f = DequantizeLinear(w, s, z)  y = MatMul(x, f) }");
    Tensor weight(DType::Int8, {4, 3});
    for (int64_t i = 0; i < 12; ++i)
        weight.setInt(i, i - 5);
    ASSERT_TRUE(bindInput(graph, "w", weight));
    auto compiled = CompiledGraph::compile(std::move(graph), {});
    ASSERT_TRUE(compiled) << compiled.error().text();
    ASSERT_EQ(compiled->plan().steps.size(), 2U);
    EXPECT_EQ(compiled->executable().hiddenWork(0).launches, 0U);
    EXPECT_NE(compiled->executable().tactic(0).find("once while preparing"), std::string::npos);
    for (int run = 0; run < 2; ++run) {
        auto out = compiled->run({Tensor::ofFloats({2, 4}, {1, 0, 0, 0, 0, 0, 0, 1})});
        ASSERT_TRUE(out) << out.error().text();
        EXPECT_FLOAT_EQ(static_cast<float>((*out)[0].at(0)), -3.0F); // (-5 - 1) / 2
        EXPECT_FLOAT_EQ(static_cast<float>((*out)[0].at(5)), 2.5F);  // (6 - 1) / 2
    }
}

/// Weights of 6 * 4 bytes through random steps and views of them, [6, 4] at the end; now and then a
/// value between them is added to x as well, so that it stays.
struct ChainOfConstants {
    std::string body = " a0 = Cast<to = 1>(w) ";
    std::string sum = "x";

    explicit ChainOfConstants(uint32_t seed) {
        std::mt19937 random(seed);
        const char* shapes[] = {"flat", "cube", "matrix"};
        const size_t length = 2 + random() % 6;
        for (size_t i = 0; i < length; ++i) {
            const std::string from = fmt::format("a{}", i), to = fmt::format("a{}", i + 1);
            if (random() % 5 == 0) { // beside what varies
                body += fmt::format(" e{0} = Reshape({1}, matrix) j{0} = Concat<axis = 0>(e{0}, x)"
                                    " k{0}, r{0} = Split<axis = 0, num_outputs = 2>(j{0})"
                                    " u{0} = Sub(r{0}, k{0}) w{0} = Add({2}, u{0}) ",
                                    i, from, sum);
                sum = fmt::format("w{}", i);
            }
            switch (random() % 6) {
            case 4: // parts, which are views, in another order
                body += fmt::format(" p{0}, q{0} = Split<axis = 0, num_outputs = 2>({1})"
                                    " {2} = Concat<axis = 0>(q{0}, p{0}) ",
                                    i, from, to);
                break;
            case 5: // one part is computed with
                body += fmt::format(" p{0}, q{0} = Split<axis = 0, num_outputs = 2>({1})"
                                    " n{0} = Neg(q{0}) {2} = Concat<axis = 0>(p{0}, n{0}) ",
                                    i, from, to);
                break;
            case 3: // of [4, 6], and back to [6, 4] behind it
                body +=
                    fmt::format(" f{0} = Reshape({1}, wide) {2} = Transpose<perm = [1, 0]>(f{0}) ",
                                i, from, to);
                break;
            case 0:
                body += fmt::format(" {} = Reshape({}, {}) ", to, from, shapes[random() % 3]);
                break;
            case 1:
                body += fmt::format(" {} = Mul({}, {}) ", to, from, "two");
                break;
            default:
                body += fmt::format(" {} = Neg({}) ", to, from);
            }
            if (random() % 4 == 0) {
                body +=
                    fmt::format(" m{} = Reshape({}, matrix) s{} = Add({}, m{}) ", i, to, i, sum, i);
                sum = fmt::format("s{}", i);
            }
        }
        body += fmt::format(" last = Reshape(a{}, matrix) t = Reshape(a{}, wide)"
                            " p = Transpose<perm = [1, 0]>(t) z = Sub({}, last) y = Sub(z, p) ",
                            length, length, sum);
    }

    Graph graph() const {
        const std::string text =
            "g (float[6,4] x, int8[6,4] w) => (float[6,4] y) <float two = {2}, "
            "int64[1] flat = {24}, int64[3] cube = {2,3,4}, "
            "int64[2] matrix = {6,4}, int64[2] wide = {4,6}> {" +
            body + "}";
        Graph out = graphOf(text.c_str());
        Tensor weight(DType::Int8, {6, 4});
        for (int64_t i = 0; i < 24; ++i)
            weight.setInt(i, i % 3 - 1);
        EXPECT_TRUE(bindInput(out, "w", weight));
        return out;
    }
};

bool readsInput(const Graph& graph, NodeId node) {
    return std::any_of(
        graph.node(node).inputs.begin(), graph.node(node).inputs.end(), [&](ValueId input) {
            const NodeId maker = graph.producer(input);
            return maker.valid() ? readsInput(graph, maker) : !graph.isConstant(input);
        });
}

TEST(HiddenWork, ViewsOfSuchResultsAreConstantsToo) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
        const ChainOfConstants chain(seed);
        SCOPED_TRACE(fmt::format("seed {}: {}", seed, chain.body));
        std::vector<Tensor> results;
        for (BackendKind backend : {BackendKind::Reference, BackendKind::Cpu}) {
            CompileOptions options;
            options.backend = backend;
            auto compiled = CompiledGraph::compile(chain.graph(), options);
            ASSERT_TRUE(compiled) << compiled.error().text();
            for (int run = 0; run < 2; ++run) {
                Tensor x(DType::Float32, {6, 4});
                for (int64_t i = 0; i < 24; ++i)
                    x.set(i, 0.25 * static_cast<double>(i));
                auto out = compiled->run({x});
                ASSERT_TRUE(out) << out.error().text();
                results.push_back((*out)[0]);
            }
            const Plan& plan = compiled->plan();
            int64_t runs = 0;
            for (size_t i = 0; i < plan.steps.size() && backend == BackendKind::Cpu; ++i) {
                const std::string tactic = compiled->executable().tactic(i);
                const bool isOnce = tactic.find("once while preparing") != std::string::npos;
                EXPECT_EQ(isOnce, !readsInput(*plan.graph, plan.steps[i].node))
                    << plan.steps[i].name << ": " << tactic;
                EXPECT_EQ(isOnce, plan.isOnce(plan.steps[i])) << "what was predicted is what runs";
                EXPECT_EQ(isOnce, plan.steps[i].predicted.seconds == 0);
                EXPECT_EQ(isOnce, plan.steps[i].traffic.logical() == 0);
                runs += isOnce ? 0 : 1;
            }
            if (backend == BackendKind::Cpu) {
                EXPECT_EQ(plan.totalLaunches(), runs);
            }
        }
        for (size_t i = 1; i < results.size(); ++i)
            for (int64_t element = 0; element < 24; ++element)
                ASSERT_EQ(static_cast<float>(results[i].at(element)),
                          static_cast<float>(results[0].at(element)));
    }
}

TEST(HiddenWork, IsAddedToTheFiguresOfASide) {
    app::Report report;
    report.after.launches = 2;
    report.after.traffic = {100, 50, 0, 0};
    report.after.intermediateBuffers = 1;
    report.after.peakBytes = 1000;
    report.after.kernels.resize(2);
    report.after.kernels[0].hidden = {2, 64, 1, 40};
    report.after.kernels[1].hidden = {1, 96, 2, 60};
    const app::RunFigures ran = report.after.asRun();
    EXPECT_EQ(ran.launches, 3);
    EXPECT_EQ(ran.logicalBytes, 150 + 2 * 100);
    EXPECT_EQ(ran.intermediateBuffers, 4);
    EXPECT_EQ(ran.peakBytes, 1000 + 96) << "steps take their memory in turns";
    EXPECT_EQ(report.before.asRun().launches, 0);
    report.after.kernels[1].hidden = {0, 0, 0, 0};
    EXPECT_EQ(report.after.asRun().launches, 3) << "what is computed while preparing is in none";
    EXPECT_EQ(report.after.asRun().logicalBytes, 150 + 2 * 40);
}

/// Planned for an H200, with what is known of its kernels without it.
std::vector<app::KernelReport> planned(const char* text, std::shared_ptr<const Plan>& plan) {
    auto profile = deviceProfile("h200");
    auto backend = makePlanningBackend(BackendKind::Cuda, *profile);
    if (!backend)
        return {};
    PlanOptions options;
    options.profile = &*profile;
    options.backend = backend.get();
    Progress progress;
    auto made = makePlan(std::make_shared<const Graph>(graphOf(text)), options, progress);
    EXPECT_TRUE(made) << made.error().text();
    plan = *made;
    std::vector<app::KernelReport> out(plan->steps.size());
    app::addPlannedKernels(*plan, *profile, int64_t{256} << 20, out);
    return out;
}

TEST(HiddenWork, AStepOfTheHostCostsItsWayThereAndBack) {
    std::shared_ptr<const Plan> plan;
    const auto kernels = planned("g (float[4,256,256] x) => (float[4] z) {"
                                 " y = Tanh(x)  z = Det(y) }",
                                 plan);
    if (!plan)
        GTEST_SKIP() << "built without the cuda backend";
    ASSERT_EQ(kernels.size(), 2U);
    EXPECT_FALSE(kernels[0].isFallback);
    EXPECT_EQ(kernels[1].tactic, "host");
    EXPECT_TRUE(kernels[1].isFallback);
    auto profile = deviceProfile("h200");
    const TimeEstimate& host = plan->steps[1].predicted;
    const double bytes = 4 * 256 * 256 * 4;
    EXPECT_GT(host.seconds, 2 * profile->linkSeconds + bytes / profile->linkBandwidth);
    EXPECT_TRUE(host.limiter == "host" || host.limiter == "link") << host.limiter;
    EXPECT_LT(plan->steps[0].predicted.seconds, profile->linkSeconds);
}

} // namespace
