// SPDX-License-Identifier: Apache-2.0
// A model of 10,000 nodes in the forms that exporters write: from bytes to the fused graph within
// the limit. Prints the figure; the limit is generous, since tests run on shared machines.
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/counts/checks.h"
#include "tests/support/layered_graph.h"

#include <fmt/format.h>

#include <chrono>

namespace fuselage::counts {

namespace {

constexpr size_t wantedNodes = 10'000;
constexpr double limitSeconds = 6;

double since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

int checkSynthetic() {
    Graph source = testing_support::layeredGraph(wantedNodes, {16, 32, 8, 6});
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
