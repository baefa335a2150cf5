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
#include <span>

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

/// Says first which dimension got two sizes, where that is why nothing fits.
Error withTwoSizes(Error error, std::span<const std::string> notes) {
    if (notes.empty())
        return error;
    error.message = notes.front().substr(0, notes.front().rfind(": each axis is its own")) +
                    ", which does not fit: " + error.message;
    error.code = "run.input";
    error.fix = "give inputs that have one size for each dimension that the model names";
    return error;
}

/// Gives the graph the sizes of the request, prepares it and finds sizes for what is left.
Result<Settled> settle(Graph graph, const ModelRequest& request, const std::vector<Tensor>& inputs,
                       Progress& progress) {
    Settled out;
    DimensionValues kept;
    Result<void> bound;
    std::vector<std::string> twoSizes;
    if (!request.inputs.empty() && !request.keepSymbols) {
        bound = bindToInputs(graph, inputs, request.dims, twoSizes);
        out.notes = twoSizes;
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
        return failure(withTwoSizes(prepared.error(), twoSizes));
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

/// A node does not fit the sizes that its operands have.
bool isOfSizes(const Error& error) {
    return error.code == "infer.contradiction" ||
           (error.code == "dim.contradiction" && !error.where.empty());
}

/// "N=5, H=32".
std::string sizesText(const DimensionValues& dims) {
    return joined(dims,
                  [](const auto& dim) { return fmt::format("{}={}", dim.first, dim.second); });
}

/// What a person can do where the sizes that were asked for do not fit a graph, which is `open` as
/// the file declares it.
std::string fixOfSizes(Graph open, const ModelRequest& request) {
    for (const InferProblem& problem : inferShapes(open))
        if (!problem.warning())
            return "no sizes can mend it, since the model contradicts itself: export it again";
    const auto fitting = chooseDimensions(open, {});
    const bool byInputs = !request.inputs.empty();
    if (!fitting || fitting->values.empty())
        return byInputs ? "give inputs of other sizes" : "give dimensions that fit the model";
    return fmt::format("{} of other sizes, e.g. {}", byInputs ? "give inputs" : "give dimensions",
                       sizesText(fitting->values));
}

/// A graph that does not fit with one size for a name may fit when each axis has its own.
Result<Settled> settleNames(Graph graph, const ModelRequest& request,
                            const std::vector<Tensor>& inputs, Progress& progress) {
    std::optional<Graph> apart;
    const bool gaveSizes = !request.inputs.empty() || !request.dims.empty();
    const bool shares = sharesNames(graph);
    if (shares || gaveSizes)
        apart = graph.clone();
    auto asDeclared = settle(std::move(graph), request, inputs, progress);
    if ((asDeclared && !asDeclared->open) || progress.cancelled() || !apart)
        return asDeclared;
    if (!asDeclared && gaveSizes && isOfSizes(asDeclared.error())) {
        Error error = asDeclared.error();
        error.fix = fixOfSizes(apart->clone(), request);
        return failure(std::move(error));
    }
    if (!shares)
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

/// What decides whether a node takes its operands: inputs by their elements, where these are no
/// floats, and open dimensions.
struct Deciding {
    std::set<std::string> inputs, dims;
};

/// The graph as the file declares it: a prepared one holds as constants what sizes decided. None:
/// there is no such file any more.
std::optional<Graph> declaredGraph(const LoadedModel& model) {
    if (model.path.empty())
        return std::nullopt;
    Progress progress;
    model_io::LoadOptions reading;
    reading.absentData = true;
    auto graph = model_io::load(model.path, reading, progress);
    if (!graph)
        return std::nullopt;
    separatePlaceholders(*graph);
    return std::move(*graph);
}

/// Names of what the type leaves open.
void addSymbols(const Type& type, std::set<std::string>& names) {
    for (size_t axis = 0; type.shape && axis < type.rank(); ++axis)
        for (const std::string& symbol : (*type.shape)[axis].symbols())
            names.insert(symbol);
}

/// The node of the outermost graph that is, or whose bodies hold, the node of that path or name.
NodeId outermost(const Graph& graph, const std::string& path) {
    const std::vector<BodyPlace> bodies = bodiesOf(graph);
    const auto holding = [&](const std::string& inner) {
        for (const BodyPlace& body : bodies)
            if (body.outer == &graph && inner.starts_with(body.path))
                return body.node;
        return NodeId();
    };
    if (const NodePlace place = findByPath(graph, path); place.graph)
        return place.path.empty() ? place.node : holding(place.path);
    for (const BodyPlace& body : bodies)
        for (NodeId id : body.graph->nodes())
            if (body.graph->node(id).name == path)
                return holding(body.path);
    return {};
}

/// Those of a node of the declared graph, whose shapes are inferred; none where it has no such
/// node. A size that is computed counts as the dimensions in it. `isIndex`: the operands' own sizes
/// do not matter, what lies in them does.
std::optional<Deciding> decidingFor(const LoadedModel& model, const std::string& name,
                                    bool isIndex) {
    auto graph = declaredGraph(model);
    const NodeId node = graph ? outermost(*graph, name) : NodeId();
    if (!node.valid())
        return std::nullopt;
    inferShapes(*graph);
    std::set<std::string> open;
    const std::set<ValueId> given(graph->inputs().begin(), graph->inputs().end());
    for (ValueId id : given)
        addSymbols(graph->value(id).type, open);
    Deciding out;
    std::set<ValueId> seen;
    std::vector<ValueId> todo = graph->node(node).inputs;
    for (ValueId id : todo)
        if (id.valid() && !isIndex)
            addSymbols(graph->value(id).type, out.dims);
    while (!todo.empty()) {
        const ValueId id = todo.back();
        todo.pop_back();
        if (!id.valid() || !seen.insert(id).second)
            continue;
        const Value& value = graph->value(id);
        if (value.symbolicContents &&
            std::none_of(value.symbolicContents->begin(), value.symbolicContents->end(),
                         [](const Dim& dim) { return dim.isUnknown(); })) {
            addSymbols(tensorType(DType::Int64, *value.symbolicContents), out.dims);
        } else if (value.producer.valid()) {
            const std::vector<ValueId>& inputs = graph->node(value.producer).inputs;
            todo.insert(todo.end(), inputs.begin(), inputs.end());
        } else if (given.contains(id) && !isFloat(value.type.dtype)) {
            out.inputs.insert(value.name);
        }
    }
    std::erase_if(out.dims, [&](const std::string& dim) { return !open.contains(dim); });
    return out;
}

/// What a person can do about a node that does not take what it was given.
std::string fixOfData(const LoadedModel& model, const Deciding& deciding) {
    std::vector<std::string> from(deciding.dims.begin(), deciding.dims.end());
    for (const std::string& input : deciding.inputs)
        from.push_back("the elements of `" + input + "`");
    if (from.empty())
        return "no input can mend it, since constants of the model decide: export it again";
    if (!model.inputs.empty())
        return "what the node reads follows from " + joined(from) + ": give other inputs";
    std::string how;
    if (!deciding.dims.empty())
        how = "--dim " + *deciding.dims.begin() + "=SIZE";
    if (!deciding.inputs.empty())
        how += (how.empty() ? "" : ", ") + ("--set " + *deciding.inputs.begin() + "=NUMBER");
    return "what the node reads follows from " + joined(from) +
           ": say what the model expects with " + how + ", or give all with --inputs";
}

/// What may be smaller where memory does not suffice.
std::string fixOfMemory(const LoadedModel& model) {
    if (!model.dims.empty())
        return fmt::format("give smaller dimensions than {}: --dim {}=SIZE", sizesText(model.dims),
                           model.dims.rbegin()->first);
    std::set<std::string> open;
    if (const auto graph = declaredGraph(model))
        for (ValueId id : graph->inputs())
            addSymbols(graph->value(id).type, open);
    return open.empty() ? "the model leaves no size open that could be smaller"
                        : "give smaller sizes than now for " + joined(open);
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
    if (isOfData && error.fix.empty()) {
        const auto deciding = decidingFor(model, error.where, error.code == "run.index");
        if (deciding && (!deciding->dims.empty() || !deciding->inputs.empty()))
            error.fix = fixOfData(model, *deciding);
        else if (!readsIndices(model.graph, error.where))
            error.fix = fixOfData(model, {});
        else if (model.inputs.empty())
            error.fix = "the inputs were generated: say what the model expects with --set "
                        "NAME=NUMBER, or give all with --inputs";
        else
            error.fix = "give other inputs";
    }
    if (error.code == "resource.memory")
        error.fix = fixOfMemory(model);
    if (error.code.starts_with("reference.") && !model.path.empty())
        error.where = model.path + (error.where.empty() ? "" : ": node `" + error.where + "`");
    return error;
}

} // namespace fuselage::app
