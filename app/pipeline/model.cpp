// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/model.h"

#include "app/pipeline/stopwatch.h"
#include "core/graph/bodies.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/ops/op_table.h"
#include "core/passes/passes.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

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

/// The part of a LoadedModel that follows from the sizes of its inputs.
struct Settled {
    Graph graph;
    DimensionValues dims;
    std::optional<Error> open;
    std::vector<std::string> notes;
};

/// Gives the graph the sizes of the request, prepares it and finds sizes for what is left.
Result<Settled> settle(Graph graph, const ModelRequest& request, const std::vector<Tensor>& inputs,
                       Progress& progress) {
    Settled out;
    DimensionValues kept;
    Result<void> bound;
    if (!request.inputs.empty() && !request.keepSymbols) {
        bound = bindToInputs(graph, inputs, request.dims, out.notes);
    } else if (request.keepSymbols) {
        auto resolved = request.inputs.empty()
                            ? resolveDimensions(graph, request.dims, out.notes)
                            : sizesOfInputs(graph, inputs, request.dims, out.notes);
        if (!resolved)
            return failure(resolved.error());
        kept = std::move(*resolved);
    } else if (!request.dims.empty()) {
        bound = bindDimensions(graph, request.dims, out.notes);
    }
    if (!bound)
        return failure(bound.error());
    if (auto prepared = prepareGraph(graph, progress, &out.notes); !prepared)
        return failure(prepared.error());
    auto chosen = chooseDimensions(graph, kept);
    if (chosen) {
        out.dims = std::move(chosen->values);
        if (!chosen->note.empty())
            out.notes.push_back(chosen->note +
                                (request.keepSymbols ? ", to decide by: they stay open" : ""));
    } else {
        out.open = chosen.error();
        out.notes.push_back(chosen.error().message + "; " + chosen.error().fix);
    }
    out.graph = std::move(graph);
    return out;
}

/// Some axes of inputs have the same name.
bool sharesNames(const Graph& graph) {
    std::set<std::string> seen;
    for (ValueId input : graph.inputs())
        if (const Type& type = graph.value(input).type; type.shape)
            for (const Dim& dim : *type.shape)
                for (const std::string& symbol : dim.symbols())
                    if (!seen.insert(symbol).second)
                        return true;
    return false;
}

/// A graph that does not fit with one size for a name may fit when each axis has its own.
Result<Settled> settleNames(Graph graph, const ModelRequest& request,
                            const std::vector<Tensor>& inputs, Progress& progress) {
    std::optional<Graph> apart;
    if (sharesNames(graph))
        apart = graph.clone();
    auto asDeclared = settle(std::move(graph), request, inputs, progress);
    if ((asDeclared && !asDeclared->open) || progress.cancelled() || !apart)
        return asDeclared;
    std::vector<std::string> notes = separateSharedNames(*apart, request.dims);
    if (notes.empty())
        return asDeclared;
    auto separated = settle(std::move(*apart), request, inputs, progress);
    if (!separated || separated->open)
        return asDeclared;
    separated->notes.insert(separated->notes.begin(), notes.begin(), notes.end());
    return separated;
}

} // namespace

Result<LoadedModel> loadModel(const ModelRequest& request, Progress& progress) {
    LoadedModel out;
    out.path = request.path;
    out.numbers = request.numbers;
    Stopwatch watch;
    model_io::LoadOptions reading;
    reading.notes = &out.notes;
    reading.writtenOut = &out.writtenOut;
    reading.absentData = true;
    reading.whole = request.whole;
    reading.declared = request.declared;
    auto graph = model_io::load(request.path, reading, progress);
    if (!graph)
        return inFile(request.path, graph.error());
    out.fileNodes = countNodes(*graph);
    out.seconds["load"] = watch.lap();
    if (!request.inputs.empty()) {
        auto inputs = readTensors(request.inputs, *graph);
        if (!inputs)
            return failure(inputs.error());
        out.inputs = std::move(*inputs);
    }
    const std::vector<std::string> placeholders = separatePlaceholders(*graph);
    if (request.inputs.empty()) // they say all sizes
        out.notes.insert(out.notes.end(), placeholders.begin(), placeholders.end());
    ModelRequest sized = request;
    sized.dims = whereThere(*graph, request.dims, out.notes);
    auto settled = settleNames(std::move(*graph), sized, out.inputs, progress);
    if (!settled) // inputs that do not fit are not the model's fault
        return inFile(settled.error().code == "run.input" && !request.inputs.empty()
                          ? request.inputs
                          : request.path,
                      settled.error());
    out.graph = std::move(settled->graph);
    out.dims = std::move(settled->dims);
    out.open = std::move(settled->open);
    out.notes.insert(out.notes.end(), settled->notes.begin(), settled->notes.end());
    out.seconds["prepare"] = watch.lap();
    return out;
}

Result<LoadedModel> loadModel(const std::string& path, const DimensionValues& dims,
                              Progress& progress) {
    return loadModel(ModelRequest{path, dims}, progress);
}

Result<std::vector<Tensor>> inputsOf(const LoadedModel& model, const Graph& graph, uint64_t seed) {
    auto inputs = model.inputs.empty() ? generateInputs(graph, seed)
                                       : Result<std::vector<Tensor>>(model.inputs);
    if (!inputs)
        return failure(inputs.error());
    if (auto set = setInputs(graph, model.numbers, *inputs); !set)
        return failure(set.error());
    return inputs;
}

bool forgetDeclaration(LoadedModel& model, const Error& error) {
    if (error.code != "run.shape" || !forgetShape(model.graph, error.where))
        return false;
    model.notes.push_back(error.message + ": the declaration is ignored");
    return true;
}

Result<void> requireSizes(const LoadedModel& model) {
    if (model.open)
        return inFile(model.path, *model.open);
    return {};
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
    bool lacksData = false;
    for (const MissingOperator& missing : missingOperators(graph)) {
        lacksData = lacksData || missing.op.ends_with(".AbsentData");
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
                   lacksData ? "put the data file beside the model"
                             : "`fuselage fuse` still rewrites the model; these nodes are kept as "
                               "they are");
}

namespace {

/// "B=1, H=224": what the model leaves open, and was taken.
std::string sizesTaken(const DimensionValues& dims) {
    return joined(dims,
                  [](const auto& dim) { return fmt::format("{}={}", dim.first, dim.second); });
}

/// Whether other inputs may do better: the node is in a body that they may not enter, or reads
/// something besides floats that is no constant.
bool readsIndices(const Graph& graph, const std::string& node) {
    const NodePlace place = findByPath(graph, node);
    if (!place.graph || !place.path.empty())
        return true;
    const std::vector<ValueId>& inputs = place.graph->node(place.node).inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) {
        return id.valid() && !place.graph->value(id).constant &&
               !isFloat(place.graph->value(id).type.dtype);
    });
}

} // namespace

Error inFile(Error error, const LoadedModel& model) {
    const bool isOfData = error.code == "reference.input" || error.code == "run.index";
    if (isOfData && error.fix.empty() && model.dims.empty() &&
        !readsIndices(model.graph, error.where))
        error.fix = "no input can mend it, since constants of the model decide: export it again";
    else if (isOfData && error.fix.empty() && model.inputs.empty())
        error.fix =
            std::string(
                "the inputs were generated: say what the model expects with --set NAME=NUMBER, "
                "or give all with --inputs") +
            (model.dims.empty()
                 ? ""
                 : fmt::format("; of the sizes taken ({}) --dim {}=SIZE takes another",
                               sizesTaken(model.dims), model.dims.begin()->first));
    if (error.code == "resource.memory" && model.dims.empty())
        error.fix = "the model leaves no size open that could be smaller";
    else if (error.code == "resource.memory")
        error.fix = fmt::format("give smaller dimensions than {}: --dim {}=SIZE",
                                sizesTaken(model.dims), model.dims.rbegin()->first);
    if (error.code.starts_with("reference.") && !model.path.empty())
        error.where = model.path + (error.where.empty() ? "" : ": node `" + error.where + "`");
    return error;
}

} // namespace fuselage::app
