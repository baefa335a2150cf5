// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/model.h"

#include "app/pipeline/stopwatch.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/ops/op_table.h"
#include "core/passes/passes.h"

namespace fuselage::app {

namespace {

bool canRun(const Node& node) {
    if (node.op == Op::Fused)
        return true;
    const OpRow& row = rowOf(node.op);
    return row.reference != nullptr || row.tape != nullptr;
}

/// Nodes by operator and by why they are not computed.
using MissingNodes = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

void collectMissing(const Graph& graph, MissingNodes& missing) {
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        if (!canRun(node))
            missing[{opText(node), node.notComputed}].push_back(node.name);
        for (const Attributes::Entry& entry : node.attributes)
            if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&entry.value))
                collectMissing(**inner, missing);
        if (node.body)
            collectMissing(*node.body, missing);
    }
}

/// The file first, then the place in it.
Failure inFile(const std::string& path, Error error) {
    if (error.where.empty())
        error.where = path;
    else if (error.where.rfind(path, 0) != 0)
        error.where = path + ": " + error.where;
    return failure(std::move(error));
}

} // namespace

Result<LoadedModel> loadModel(const std::string& path, const std::map<std::string, int64_t>& dims,
                              Progress& progress) {
    LoadedModel out;
    out.path = path;
    Stopwatch watch;
    model_io::LoadOptions reading;
    reading.notes = &out.notes;
    auto graph = model_io::load(path, reading, progress);
    if (!graph)
        return inFile(path, graph.error());
    out.graph = std::move(*graph);
    out.fileNodes = out.graph.nodeCount();
    out.seconds["load"] = watch.lap();
    if (!dims.empty())
        if (auto bound = bindDimensions(out.graph, dims); !bound)
            return inFile(path, bound.error());
    if (auto prepared = prepareGraph(out.graph, progress); !prepared)
        return inFile(path, prepared.error());
    out.seconds["prepare"] = watch.lap();
    return out;
}

Result<void> requireDimensions(const Graph& graph, const std::map<std::string, int64_t>& dims) {
    if (dims.empty())
        return {};
    Graph bound = graph.clone();
    return bindDimensions(bound, dims);
}

std::vector<MissingOperator> missingOperators(const Graph& graph) {
    MissingNodes missing;
    collectMissing(graph, missing);
    std::vector<MissingOperator> out;
    for (auto& [key, nodes] : missing)
        out.push_back({key.first, key.second, std::move(nodes)});
    return out;
}

Result<void> requireOperators(const Graph& graph) {
    constexpr size_t shown = 5;
    std::string list;
    for (const MissingOperator& missing : missingOperators(graph)) {
        list += (list.empty() ? "`" : "; `") + missing.op + "` (";
        for (size_t i = 0; i < missing.nodes.size() && i < shown; ++i)
            list += (i ? ", " : "") + missing.nodes[i];
        if (missing.nodes.size() > shown)
            list += ", and " + std::to_string(missing.nodes.size() - shown) + " more";
        list += missing.why.empty() ? ")" : ": " + missing.why + ")";
    }
    if (list.empty())
        return {};
    return failure("load.missing", "operators that cannot be run: " + list, "",
                   "`fuselage fuse` still rewrites the model; these nodes are kept as they are");
}

} // namespace fuselage::app
