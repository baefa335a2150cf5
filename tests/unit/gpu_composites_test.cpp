// SPDX-License-Identifier: Apache-2.0
// Operators that a GPU computes by several kernels: written out they give the same bits, and plans
// for a device leave none of them to the host.
#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/planned.h"
#include "core/graph/verify.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/passes/write_out.h"
#include "gpu/backend/plan_steps.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace fuselage;

namespace {

Graph graphOf(const std::string& text) {
    auto graph = model_io::loadText("<ir_version: 8, opset_import: [\"\" : 18]> " + text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    Progress progress;
    EXPECT_TRUE(prepareGraph(*graph, progress));
    return std::move(*graph);
}

Graph quantises(const Extents& extents) {
    std::string shape;
    for (int64_t extent : extents)
        shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    return graphOf(fmt::format("g (float[{0}] x) => (uint8[{0}] y, float s, uint8 z) "
                               "{{ y, s, z = DynamicQuantizeLinear(x) }}",
                               shape));
}

std::vector<Tensor> outputsOf(const Graph& graph, const std::vector<Tensor>& inputs) {
    CompileOptions options;
    options.backend = BackendKind::Cpu;
    options.threads = 1;
    options.strict = true;
    auto compiled = CompiledGraph::compile(graph.clone(), options);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().text());
    auto outputs = compiled->run(inputs);
    EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().text());
    return outputs ? std::move(*outputs) : std::vector<Tensor>();
}

void expectSameBits(const Extents& extents, const std::vector<float>& values) {
    const Graph whole = quantises(extents);
    ASSERT_TRUE(hasComposite(whole));
    Graph written = whole.clone();
    writeOutComposites(written);
    EXPECT_FALSE(hasComposite(written));
    ASSERT_TRUE(verify(written));
    const std::vector<Tensor> inputs{Tensor::ofFloats(extents, values)};
    const std::vector<Tensor> wanted = outputsOf(whole, inputs), got = outputsOf(written, inputs);
    ASSERT_EQ(wanted.size(), 3U);
    ASSERT_EQ(got.size(), 3U);
    for (size_t i = 0; i < 3; ++i)
        for (int64_t at = 0; at < wanted[i].elementCount(); ++at)
            ASSERT_EQ(got[i].at(at), wanted[i].at(at))
                << "output " << i << " at " << at << " of " << values.size();
}

/// A layer whose data are stored in 8 bits while it runs.
Graph layer() {
    Graph graph = graphOf(
        "g (float[64,128] x, int8[128,32] w, float[32] b) => (float[64,32] y) <float f = {0.01}> {"
        " q, s, z = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, z) c = Cast<to = 1>(i)"
        " t = Mul(s, f) m = Mul(c, t) a = Add(m, b) y = Relu(a) }");
    Tensor weights(DType::Int8, {128, 32});
    for (int64_t i = 0; i < weights.elementCount(); ++i)
        weights.setInt(i, i * 37 % 255 - 127);
    EXPECT_TRUE(bindInput(graph, "w", weights));
    return graph;
}

} // namespace

TEST(Composites, GiveTheBitsOfTheOperator) {
    std::mt19937 random(1);
    for (const Extents& extents : {Extents{1}, {7}, {3, 5}, {2, 3, 4}, {64, 129}})
        for (const auto& [least, most] : {std::pair(-1.0F, 1.0F),
                                          {0.5F, 2.0F},
                                          {-9.0F, -1e-3F},
                                          {-1e-30F, 1e-30F},
                                          {-3e38F, 3e38F}}) {
            std::uniform_real_distribution<float> draw(least / 2, most / 2);
            std::vector<float> values(static_cast<size_t>(*elementCount(extents)));
            for (float& value : values)
                value = 2 * draw(random);
            expectSameBits(extents, values);
        }
    constexpr float infinity = std::numeric_limits<float>::infinity();
    expectSameBits({4}, {0, 0, 0, 0});
    expectSameBits({4}, {-0.0F, 0, 2.5F, 2.5F});
    expectSameBits({3}, {1, 2, infinity});
    expectSameBits({3}, {-infinity, 2, 1});
}

TEST(Composites, StayInTheirFusedNodes) {
    Graph graph = layer();
    Graph fused = fuseWhole(graph, "all");
    ASSERT_TRUE(hasComposite(fused));
    writeOutComposites(fused);
    EXPECT_FALSE(hasComposite(fused));
    EXPECT_EQ(fused.nodeCount(), 1U);
    EXPECT_TRUE(verify(fused));
}

TEST(Composites, LeaveNoStepToTheHost) {
    const DeviceProfile profile = *deviceProfile("h200");
    const auto backend = makePlanningBackend(BackendKind::Cuda, profile);
    const auto library = app::requireRuleLibrary({});
    ASSERT_TRUE(library);
    Progress progress;
    app::FuseOptions options;
    options.device = profile;
    auto fused = app::fuseGraph(layer(), *library, options, progress);
    ASSERT_TRUE(fused) << fused.error().text();
    for (const auto& [form, graph] :
         {std::pair(app::Form::Unfused, layer()), {app::Form::Fused, fused->graph.clone()}}) {
        auto side = app::planSide(std::make_shared<const Graph>(graph.clone()), form,
                                  {&profile, backend.get()}, progress);
        ASSERT_TRUE(side) << side.error().text();
        for (const Step& step : side->plan->steps) {
            EXPECT_FALSE(gpu::onHost(*side->plan, step)) << step.name;
            EXPECT_NE(kindOf(step.program), ProgramKind::Library) << step.name;
        }
        EXPECT_LE(side->plan->steps.size(), form == app::Form::Fused ? 5U : 12U);
    }
}
