// SPDX-License-Identifier: Apache-2.0
// What plans for an H200 make of networks with 32 images or sentences, without a device: no copies
// between the layers, and every layer one product for the library, whatever order of rows its
// exporter chose. And that sequences of one kernel are one launch.
#include "app/pipeline/analysis.h"
#include "app/pipeline/compiled.h"
#include "app/pipeline/rules.h"
#include "app/zoo/zoo.h"
#include "core/kernel/chain.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "gpu/backend/plan_steps.h"
#include "gpu/libs/cublaslt_call.h"

#include <gtest/gtest.h>

#include <map>

using namespace fuselage;

namespace {

std::shared_ptr<const Plan> planned(Graph graph, const std::map<std::string, int64_t>& dims,
                                    Precision precision) {
    static const app::RuleLibrary rules = std::move(*app::requireRuleLibrary({}));
    static const DeviceProfile profile = *deviceProfile("h200");
    static const std::unique_ptr<Backend> backend = makePlanningBackend(BackendKind::Cuda, profile);
    Progress progress;
    app::LoadedModel loaded;
    loaded.graph = std::move(graph);
    EXPECT_TRUE(prepareGraph(loaded.graph, progress));
    app::AnalysisOptions options;
    options.profile = profile;
    options.backend = backend.get();
    options.fuse.device = profile;
    options.fuse.precision = precision;
    options.fuse.dims = dims;
    auto analysis = app::analyse(loaded, rules, options, progress);
    EXPECT_TRUE(analysis) << analysis.error().text();
    return analysis ? analysis->after.plan : nullptr;
}

struct Launches {
    size_t count = 0;
    std::string moves;    ///< Copy and Group steps behind the first layer
    std::string repeated; ///< layers that are several products for the library
    size_t layers = 0;
};

/// A product with a weight; those of attention have none.
bool isLayer(const Plan& plan, const Step& step) {
    const auto* p = std::get_if<Contraction>(&step.program.code);
    return p != nullptr && p->kind == Contraction::Kind::MatMul &&
           plan.values[step.inputs[p->b.operand]].constant != nullptr;
}

Launches launchesOf(const Plan& plan) {
    const DeviceProfile profile = *deviceProfile("h200");
    const gpu::RequestTarget target{profile, profile.arch, int64_t{256} << 20};
    Launches out;
    out.count = plan.steps.size();
    for (const Step& step : plan.steps) {
        const ProgramKind kind = kindOf(step.program);
        if (out.layers > 0 && (kind == ProgramKind::Copy || kind == ProgramKind::Group))
            out.moves += step.name + "\n";
        if (!isLayer(plan, step))
            continue;
        ++out.layers;
        const auto call = gpu::describeLt(gpu::requestOf(plan, step, target));
        if (const auto* lt = std::get_if<gpu::LtCall>(&call); lt != nullptr && lt->batch != 1)
            out.repeated += step.name + ": " + gpu::text(*lt) + "\n";
        // What the library has no epilogue for says nothing of its rows.
        if (const auto* reason = std::get_if<Reason>(&call);
            reason != nullptr && reason->code == "layout")
            out.repeated += step.name + ": " + reason->text() + "\n";
    }
    return out;
}

TEST(RowsOfNetworks, VitOf32ImagesHasNoCopiesAndOneProductALayer) {
    const auto plan = planned(*zoo::build("vit_b_16"), {{"N", 32}}, Precision::Fp16);
    ASSERT_TRUE(plan);
    const Launches launches = launchesOf(*plan);
    EXPECT_LE(launches.count, 91U);
    EXPECT_EQ(launches.moves, "");
    EXPECT_GE(launches.layers, 48U);
    EXPECT_EQ(launches.repeated, "");
}

TEST(RowsOfNetworks, BertOf32SentencesHasNoCopiesAndOneProductALayer) {
    const auto plan = planned(*zoo::build("bert_base"), {{"N", 32}}, Precision::Fp16);
    ASSERT_TRUE(plan);
    const Launches launches = launchesOf(*plan);
    EXPECT_LE(launches.count, 92U);
    EXPECT_EQ(launches.moves, "");
    EXPECT_GE(launches.layers, 48U);
    EXPECT_EQ(launches.repeated, "");
}

// Where rows are short enough for a kernel: 96 and 192 channels of the four stages. Of the first
// one the kernel also makes the rows.
TEST(RowsOfNetworks, ConvNextOf32ImagesKeepsTheHiddenRowsOfTwoStagesInKernels) {
    const auto plan = planned(*zoo::build("convnext_tiny"), {{"N", 32}}, Precision::Fp16);
    ASSERT_TRUE(plan);
    EXPECT_LE(plan->steps.size(), 76U);
    size_t chains = 0, withRows = 0;
    for (const Step& step : plan->steps)
        if (const auto* chain = std::get_if<Chain>(&step.program.code)) {
            ++chains;
            withRows += rowsOf(*chain) != nullptr ? 1 : 0;
        }
    EXPECT_EQ(chains, 6U);
    EXPECT_EQ(withRows, 3U);
}

// The depthwise row of the benchmark: channels last on both sides.
TEST(RowsOfNetworks, ADepthwiseConvolutionBetweenTransposesIsOneLaunch) {
    auto graph = model_io::loadText(
        "g (float16[32,56,56,96] x, float16[96,1,7,7] w, float16[96] b)"
        " => (float16[32,56,56,96] y) { t = Transpose<perm=[0,3,1,2]>(x)"
        " c = Conv<group=96,pads=[3,3,3,3]>(t, w, b) y = Transpose<perm=[0,2,3,1]>(c) }");
    ASSERT_TRUE(graph);
    ASSERT_TRUE(bindInput(*graph, "w", Tensor(DType::Float16, {96, 1, 7, 7})));
    ASSERT_TRUE(bindInput(*graph, "b", Tensor(DType::Float16, {96})));
    const auto plan = planned(std::move(*graph), {}, Precision::Fp32);
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->steps.size(), 1U);
    EXPECT_EQ(kindOf(plan->steps[0].program), ProgramKind::Contraction);
}

} // namespace
