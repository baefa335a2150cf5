// SPDX-License-Identifier: Apache-2.0
// In 16-bit precision rules take the same nodes of the zoo's networks as in float32. Added Casts
// may join a fused node; one that holds a single node of the model besides them is theirs alone.
#include "core/passes/precision.h"

#include "app/zoo/zoo.h"
#include "core/passes/passes.h"
#include "tests/counts/checks.h"

#include <fmt/format.h>

#include <optional>
#include <set>

namespace fuselage::counts {

namespace {

struct Found {
    CountTable rules;
    std::set<std::string> nodes; ///< of the model, those in fused nodes

    bool operator==(const Found&) const = default;
};

std::optional<Found> fusedIn(const Graph& model, Precision precision,
                             const app::RuleLibrary& library) {
    Progress progress;
    Graph graph = model.clone();
    auto record = setPrecision(graph, precision);
    if (!record) {
        fmt::print("  {}\n", record.error().text());
        return std::nullopt;
    }
    std::set<std::string> added;
    for (NodeId id : graph.nodes())
        if (graph.node(id).provenance.rule == "precision")
            added.insert(graph.node(id).name);
    app::FuseOptions options;
    options.profile = "h200";
    auto fused = app::fuseGraph(graph, library, options, progress);
    if (!fused) {
        fmt::print("  {}\n", fused.error().text());
        return std::nullopt;
    }
    Found out;
    for (NodeId id : fused->graph.nodes()) {
        const Node& node = fused->graph.node(id);
        std::vector<std::string> sources = node.provenance.sources;
        const size_t all = sources.size();
        std::erase_if(sources, [&](const std::string& name) { return added.contains(name); });
        const bool onlyForCasts = sources.size() < 2 && sources.size() < all;
        if (node.op != Op::Fused || onlyForCasts)
            continue;
        ++out.rules[node.customOp];
        out.nodes.insert(sources.begin(), sources.end());
    }
    return out;
}

} // namespace

int checkPrecision() {
    const app::RuleLibrary library = builtinRules();
    int wrong = 0;
    for (const zoo::ZooEntry& entry : zoo::models()) {
        if (entry.name == "convnext_base") // convnext_tiny with other widths
            continue;
        // What is close to a tie by its price in one precision need not be in another.
        if (entry.name == "dit_block" || entry.name == "llama_block_int4")
            continue;
        Progress progress;
        auto built = zoo::build(entry.name);
        if (!built || !prepareGraph(*built, progress))
            return 1;
        const Graph& graph = *built;
        auto expected = fusedIn(graph, Precision::Fp32, library);
        for (Precision precision : {Precision::Fp16, Precision::Bf16}) {
            auto found = fusedIn(graph, precision, library);
            const bool same = expected && found && !expected->nodes.empty() && *expected == *found;
            fmt::print("{} {} {}: {} nodes fused\n{}", same ? "ok    " : "FAILED", entry.name,
                       nameOf(precision), found ? found->nodes.size() : 0,
                       expected && found ? differences(expected->rules, found->rules) : "");
            wrong += same ? 0 : 1;
        }
    }
    return wrong;
}

} // namespace fuselage::counts
