// SPDX-License-Identifier: Apache-2.0
// The order of nodes in a file means nothing: shuffled, it gives the same fused graph.
#include "app/zoo/zoo.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/counts/checks.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <random>

namespace fuselage::counts {

namespace {

std::string shuffledNodes(const std::string& bytes, uint64_t seed) {
    ::onnx::ModelProto model;
    model.ParseFromString(bytes);
    auto& nodes = *model.mutable_graph()->mutable_node();
    std::mt19937_64 random(seed);
    for (int i = nodes.size() - 1; i > 0; --i)
        nodes.SwapElements(i, static_cast<int>(random() % static_cast<uint64_t>(i + 1)));
    return model.SerializeAsString();
}

/// The fused graph as text and the counts; an error as text.
std::string fusedText(const std::string& bytes, const app::RuleLibrary& library) {
    Progress progress;
    auto graph = model_io::loadBytes(bytes, ".", {});
    if (!graph)
        return graph.error().text();
    if (auto prepared = prepareGraph(*graph, progress); !prepared)
        return prepared.error().text();
    app::FuseOptions options;
    options.profile = "h200";
    auto fused = app::fuseGraph(*graph, library, options, progress);
    if (!fused)
        return fused.error().text();
    std::string out = text(fused->graph);
    for (const RuleCount& count : fused->trace.counts)
        out +=
            fmt::format("{} {} {} {}\n", count.rule, count.matched, count.applied, count.refused);
    return out;
}

/// The first line in which two texts differ.
std::string firstDifference(const std::string& a, const std::string& b) {
    size_t at = static_cast<size_t>(
        std::mismatch(a.begin(),
                      a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                      b.begin())
            .first -
        a.begin());
    size_t line = a.rfind('\n', at) == std::string::npos ? 0 : a.rfind('\n', at) + 1;
    return fmt::format("  - {}\n  + {}\n", a.substr(line, a.find('\n', at) - line),
                       b.substr(line, b.find('\n', at) - line));
}

} // namespace

int checkShuffled() {
    app::RuleLibrary library = builtinRules();
    int wrong = 0;
    for (const char* name : {"resnet18", "gpt2_block", "mobilenet_v3_large", "unet", "lstm"}) {
        auto graph = zoo::build(name);
        auto bytes = graph ? model_io::toBytes(*graph) : failure(graph.error());
        if (!bytes) {
            fmt::print("FAILED {}: {}\n", name, bytes.error().text());
            ++wrong;
            continue;
        }
        std::string expected = fusedText(*bytes, library);
        for (uint64_t seed = 1; seed <= 3; ++seed) {
            std::string found = fusedText(shuffledNodes(*bytes, seed), library);
            bool same = found == expected;
            fmt::print("{} {} in order {}\n{}", same ? "ok    " : "FAILED", name, seed,
                       same ? "" : firstDifference(expected, found));
            wrong += same ? 0 : 1;
        }
    }
    return wrong;
}

} // namespace fuselage::counts
