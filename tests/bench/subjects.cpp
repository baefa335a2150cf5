// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/subjects.h"

#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/model.h"
#include "app/zoo/builder.h"
#include "app/zoo/zoo.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

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
    const size_t colon = name.find(':');
    const std::string network = name.substr(0, colon);
    const int64_t images = colon == std::string::npos ? 1 : std::atoll(name.c_str() + colon + 1);
    if (images < 1)
        return failure("bench.subject", "`" + name + "` does not end in a batch size", name,
                       "e.g. " + network + ":16");
    Subject out;
    out.stored = {name, folder + "/" + network + ".onnx", folder + "/" + name + "_data"};
    auto graph = zoo::written(network);
    if (!graph)
        return failure(graph.error());
    if (auto saved = model_io::save(*graph, out.stored.model); !saved)
        return failure(saved.error());
    Progress progress;
    auto loaded = app::loadModel(out.stored.model, {}, progress);
    if (!loaded)
        return failure(loaded.error());
    Graph bound = loaded->graph;
    bindAllDimensions(bound, {{"N", images}, {"P", 127}, {"H", 16}, {"W", 16}});
    auto inputs = app::generateInputs(bound, 1);
    if (!inputs)
        return failure(inputs.error());
    std::filesystem::create_directories(out.stored.data);
    for (size_t i = 0; i < inputs->size(); ++i)
        if (auto saved = model_io::saveTensor((*inputs)[i],
                                              fmt::format("{}/input_{}.pb", out.stored.data, i),
                                              bound.value(bound.inputs()[i]).name);
            !saved)
            return failure(saved.error());
    out.dims = strangers::dimensionsOf(loaded->graph, *inputs);
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
