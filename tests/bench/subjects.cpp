// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/subjects.h"

#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/model.h"
#include "app/zoo/builder.h"
#include "app/zoo/zoo.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <chrono>
#include <cstdlib>

namespace fuselage::bench {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seven nodes.
ValueId residualBlock(zoo::Builder& b, ValueId x, int64_t channels) {
    ValueId y = b.batchNorm("bn1", b.conv("conv1", x, {channels, channels, 3, 1, 1}), channels);
    y = b.apply(Op::Relu, {y});
    y = b.batchNorm("bn2", b.conv("conv2", y, {channels, channels, 3, 1, 1}), channels, 0.1);
    return b.apply(Op::Relu, {b.apply(Op::Add, {y, x})});
}

/// Eleven nodes.
ValueId tokenBlock(zoo::Builder& b, ValueId x, int64_t width) {
    ValueId y = b.geluErf(b.linear("fc1", x, width, width));
    y = b.linear("fc2", y, width, width);
    return b.layerNorm("norm", b.apply(Op::Add, {y, x}), width, 1e-5);
}

Graph largeGraph() {
    constexpr int64_t channels = 8, width = 16, blocks = 560;
    zoo::Builder b("large", 1);
    ValueId image = b.input("image", DType::Float32, {1, channels, 8, 8});
    ValueId tokens = b.input("tokens", DType::Float32, {1, 4, width});
    for (int64_t i = 0; i < blocks; ++i) {
        zoo::Builder::Scope scope(b, "block" + std::to_string(i));
        image = residualBlock(b, image, channels);
        tokens = tokenBlock(b, tokens, width);
    }
    b.output(image, "features");
    b.output(tokens, "states");
    return b.finish();
}

} // namespace

Result<Subject> makeSubject(const std::string& name, const std::string& folder) {
    Subject out;
    out.name = name;
    const size_t colon = name.find(':');
    const std::string network = name.substr(0, colon);
    if (colon != std::string::npos)
        out.images = std::atoll(name.c_str() + colon + 1);
    if (out.images < 1)
        return failure("bench.subject", "`" + name + "` does not end in a batch size", name,
                       "e.g. " + network + ":16");
    auto graph = zoo::build(network);
    if (!graph)
        return failure(graph.error());
    out.job.model = folder + "/" + network + ".onnx";
    if (auto saved = model_io::save(*graph, out.job.model); !saved)
        return failure(saved.error());
    Progress progress;
    auto loaded = app::loadModel(out.job.model, {}, progress);
    if (!loaded)
        return failure(loaded.error());
    Graph& bound = loaded->graph;
    bindAllDimensions(bound, {{"N", out.images}});
    auto inputs = app::generateInputs(bound, 1);
    if (!inputs)
        return failure(inputs.error());
    for (size_t i = 0; i < inputs->size(); ++i)
        out.job.inputs.push_back({bound.value(bound.inputs()[i]).name, std::move((*inputs)[i])});
    for (ValueId id : bound.outputs())
        out.job.outputs.push_back(bound.value(id).name);
    return out;
}

Result<LargeGraph> measureLargeGraph(const std::string& folder) {
    LargeGraph out;
    std::string file = folder + "/large.onnx";
    if (auto saved = model_io::save(largeGraph(), file); !saved)
        return failure(saved.error());
    auto library = app::requireRuleLibrary({});
    if (!library)
        return failure(library.error());
    Progress progress;
    auto start = Clock::now();
    auto loaded = app::loadModel(file, {}, progress);
    if (!loaded)
        return failure(loaded.error());
    out.loadSeconds = since(start);
    out.nodes = loaded->fileNodes;
    start = Clock::now();
    auto rewritten = app::fuseGraph(loaded->graph, *library, {}, progress);
    if (!rewritten)
        return failure(rewritten.error());
    out.fuseSeconds = since(start);
    for (NodeId id : rewritten->graph.nodes())
        out.fusedNodes += rewritten->graph.node(id).op == Op::Fused ? 1 : 0;
    return out;
}

} // namespace fuselage::bench
