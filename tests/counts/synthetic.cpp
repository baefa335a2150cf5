// SPDX-License-Identifier: Apache-2.0
// A model of 10,000 nodes in the forms that exporters write: from bytes to the fused graph within
// the limit. Prints the figure; the limit is generous, since tests run on shared machines.
#include "app/zoo/builder.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/counts/checks.h"

#include <fmt/format.h>

#include <chrono>

namespace fuselage::counts {

namespace {

constexpr size_t wantedNodes = 10'000;
constexpr double limitSeconds = 6;

/// A transformer layer and a residual block of convolutions, again and again.
Graph syntheticGraph() {
    zoo::Builder builder("synthetic", 1);
    ValueId x = builder.input("x", DType::Float32, {Dim(1), Dim(16), Dim(32)});
    ValueId image = builder.input("image", DType::Float32, {Dim(1), Dim(8), Dim(6), Dim(6)});
    size_t layers = 0;
    for (size_t nodes = 0; nodes < wantedNodes; ++layers) {
        zoo::Builder::Scope scope(builder, fmt::format("layer{}", layers));
        ValueId h = builder.layerNorm("norm", x, 32, 1e-5);
        h = builder.geluErf(builder.linear("up", h, 32, 32));
        x = builder.apply(Op::Add, {x, builder.linear("down", h, 32, 32)});
        ValueId c = builder.batchNorm("bn1", builder.conv("conv1", image, {8, 8, 3, 1, 1}), 8);
        c = builder.apply(Op::Relu, {c});
        c = builder.batchNorm("bn2", builder.conv("conv2", c, {8, 8, 1}), 8);
        image = builder.apply(Op::Relu, {builder.apply(Op::Add, {c, image})});
        nodes += 18;
    }
    builder.output(x, "y");
    builder.output(image, "z");
    return builder.finish();
}

double since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

int checkSynthetic() {
    Graph source = syntheticGraph();
    auto bytes = model_io::toBytes(source);
    if (!bytes) {
        fmt::print("FAILED {}\n", bytes.error().text());
        return 1;
    }
    app::RuleLibrary library = builtinRules();
    Progress progress;
    auto start = std::chrono::steady_clock::now();
    auto graph = model_io::loadBytes(*bytes, ".", {});
    if (!graph || !prepareGraph(*graph, progress)) {
        fmt::print("FAILED the model does not load\n");
        return 1;
    }
    double load = since(start);
    app::FuseOptions options;
    options.profile = "h200";
    auto fused = app::fuseGraph(*graph, library, options, progress);
    double total = since(start);
    if (!fused) {
        fmt::print("FAILED {}\n", fused.error().text());
        return 1;
    }
    fmt::print("{} nodes -> {}: load {:.2f} s, match and rewrite {:.2f} s, together {:.2f} s\n",
               source.nodeCount(), fused->graph.nodeCount(), load, total - load, total);
    int wrong = source.nodeCount() >= wantedNodes ? 0 : 1;
    // A fast run that found nothing would prove nothing: most of each block fuses.
    wrong += fused->graph.nodeCount() * 3 < source.nodeCount() ? 0 : 1;
    return wrong + (total < limitSeconds ? 0 : 1);
}

} // namespace fuselage::counts
