// SPDX-License-Identifier: Apache-2.0
// Names and numbers for the dimensions of a graph's inputs.
#include "core/passes/dimensions.h"

#include "core/graph/captures.h"
#include "core/passes/dimensions_internal.h"
#include "core/passes/inference.h"
#include "core/support/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace fuselage {

namespace {

/// Names that exporters write where they know none.
constexpr std::array<const char*, 6> placeholders{"?", "*", "-1", "0", "None", "unknown"};

bool isPlaceholder(const std::string& name) {
    return std::find(placeholders.begin(), placeholders.end(), name) != placeholders.end();
}

/// Calls change(dim) for every dimension of every type, inner graphs included; `isInput` tells
/// those of the outermost graph's inputs.
template <typename Change> void changeTypes(Graph& graph, bool outermost, const Change& change) {
    for (ValueId id : graph.values()) {
        Type type = graph.value(id).type;
        if (!type.shape || graph.value(id).constant)
            continue;
        const bool isInput = outermost && std::find(graph.inputs().begin(), graph.inputs().end(),
                                                    id) != graph.inputs().end();
        for (Dim& dim : *type.shape)
            change(dim, isInput);
        graph.setType(id, std::move(type));
    }
    for (NodeId id : graph.nodes()) {
        for (const SubgraphRef& ref : subgraphsOf(graph.node(id)))
            changeTypes(*ownSubgraph(graph, id, ref.attribute), false, change);
        if (graph.node(id).body) {
            auto body = std::make_shared<Graph>(*graph.node(id).body);
            changeTypes(*body, false, change);
            graph.edit(id).body = std::move(body);
        }
    }
}

std::string openNote(const std::vector<std::string>& names) {
    constexpr size_t shown = 8;
    std::vector<std::string> some(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(shown, names.size())));
    std::string out = "the file leaves sizes of its inputs open; they are called " + joined(some);
    return names.size() > shown ? out + fmt::format(" and {} more", names.size() - shown) : out;
}

} // namespace

void bindTypes(Graph& graph, const DimensionValues& values) {
    changeTypes(graph, true, [&](Dim& dim, bool) { dim = dim.bind(values); });
}

void forgetInside(Graph& graph, const std::set<std::string>& names) {
    if (names.empty())
        return;
    changeTypes(graph, true, [&](Dim& dim, bool isInput) {
        const std::vector<std::string> symbols = dim.symbols();
        if (!isInput && std::any_of(symbols.begin(), symbols.end(),
                                    [&](const std::string& name) { return names.contains(name); }))
            dim = Dim();
    });
}

Error unknownDimension(const std::string& name, const Graph& graph) {
    const std::set<std::string> names = inputSymbols(graph);
    const auto unranked =
        std::find_if(graph.inputs().begin(), graph.inputs().end(), [&](ValueId id) {
            const Value& value = graph.value(id);
            return !value.type.shape && value.type.kind == TypeKind::Tensor;
        });
    const std::string fix =
        unranked != graph.inputs().end()
            ? fmt::format(
                  "the file does not say how many dimensions `{0}` has: a tensor given for it "
                  "does, --inputs with {0}.npy",
                  graph.value(*unranked).name)
            : "all input dimensions are numbers";
    return failure("dim.unknown", fmt::format("no input has a dimension `{}`", name), {},
                   names.empty() ? fix : "use one of: " + joined(names))
        .error;
}

std::vector<size_t> axesNamed(const std::vector<InputAxis>& axes, const std::string& name) {
    std::vector<size_t> dimension, axis;
    for (size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].dim == Dim::symbol(name))
            dimension.push_back(i);
        else if (axes[i].name == name)
            axis.push_back(i);
    }
    return dimension.empty() ? axis : dimension;
}

DimensionValues whereThere(const Graph& graph, const DimensionValues& given,
                           std::vector<std::string>& notes) {
    DimensionValues out;
    std::vector<std::string> absent;
    for (const auto& [name, size] : given) {
        if (!name.ends_with('?')) {
            out[name] = size;
            continue;
        }
        const std::string dimension = name.substr(0, name.size() - 1);
        if (inputSymbols(graph).contains(dimension) ||
            !axesNamed(inputAxes(graph), dimension).empty())
            out.try_emplace(dimension, size); // what is given without the mark counts
        else
            absent.push_back("`" + dimension + "`");
    }
    if (!absent.empty())
        notes.push_back(fmt::format("no input has a dimension {}: its size is passed over",
                                    fmt::join(absent, " or ")));
    return out;
}

std::set<std::string> inputSymbols(const Graph& graph) {
    std::set<std::string> out;
    for (ValueId input : graph.inputs())
        if (const auto& shape = graph.value(input).type.shape)
            for (const Dim& dim : *shape)
                for (std::string& name : dim.symbols())
                    out.insert(std::move(name));
    return out;
}

std::vector<InputAxis> inputAxes(const Graph& graph) {
    std::vector<InputAxis> out;
    for (ValueId id : graph.inputs()) {
        const Value& value = graph.value(id);
        for (size_t axis = 0; value.type.shape && axis < value.type.rank(); ++axis)
            out.push_back({id, axis, axisName(value.name, axis), (*value.type.shape)[axis]});
    }
    return out;
}

void setInputDim(Graph& graph, const InputAxis& axis, Dim dim) {
    Type type = graph.value(axis.input).type;
    (*type.shape)[axis.axis] = std::move(dim);
    graph.setType(axis.input, std::move(type));
}

std::string axisName(const std::string& input, size_t axis) {
    return fmt::format("{}.{}", input, axis);
}

void nameInputDimensions(Graph& graph) {
    std::set<std::string> taken = inputSymbols(graph);
    for (const InputAxis& axis : inputAxes(graph)) {
        const bool open = axis.dim.isUnknown() || (axis.dim.isNumber() && axis.dim.value() < 0);
        if (!open || graph.value(axis.input).type.kind != TypeKind::Tensor)
            continue;
        std::string name = axis.name;
        while (!taken.insert(name).second)
            name += "_";
        setInputDim(graph, axis, Dim::symbol(name));
    }
}

std::vector<std::string> separatePlaceholders(Graph& graph) {
    changeTypes(graph, true, [](Dim& dim, bool) {
        const std::vector<std::string> symbols = dim.symbols();
        if ((dim.isNumber() && dim.value() <= 0) ||
            std::any_of(symbols.begin(), symbols.end(), isPlaceholder))
            dim = Dim();
    });
    const std::set<std::string> before = inputSymbols(graph);
    nameInputDimensions(graph);
    std::vector<std::string> named;
    for (const InputAxis& axis : inputAxes(graph))
        for (const std::string& name : axis.dim.symbols())
            if (!before.contains(name))
                named.push_back(name);
    if (named.empty())
        return {};
    return {openNote(named)};
}

std::vector<std::string> separateSharedNames(Graph& graph, const DimensionValues& given) {
    std::vector<std::string> notes;
    std::set<std::string> separated;
    for (const std::string& name : inputSymbols(graph)) {
        const std::vector<InputAxis> axes = inputAxes(graph);
        const std::vector<size_t> shared = axesNamed(axes, name);
        if (shared.size() < 2 || given.contains(name))
            continue;
        for (size_t i : shared)
            setInputDim(graph, axes[i], Dim());
        separated.insert(name);
        notes.push_back(fmt::format("the graph does not fit one size for `{}`: each axis that is "
                                    "called so is its own, {}",
                                    name, joined(shared, [&](size_t i) { return axes[i].name; })));
    }
    forgetInside(graph, separated);
    nameInputDimensions(graph);
    return notes;
}

Result<DimensionValues> resolveDimensions(Graph& graph, const DimensionValues& given,
                                          std::vector<std::string>& notes) {
    nameInputDimensions(graph);
    const std::set<std::string> names = inputSymbols(graph);
    DimensionValues out;
    // Names of dimensions first: an axis that says another size leaves its name.
    for (const auto& [name, size] : given) {
        if (size < 0)
            return failure("dim.negative", fmt::format("dimension `{}` cannot be {}", name, size),
                           {}, "give a number of at least 0");
        if (names.contains(name))
            out[name] = size;
    }
    std::set<std::string> ambiguous;
    for (const auto& [name, size] : given) {
        if (names.contains(name))
            continue;
        const std::vector<InputAxis> axes = inputAxes(graph);
        const std::vector<size_t> meant = axesNamed(axes, name);
        if (meant.empty())
            return failure(unknownDimension(name, graph));
        const InputAxis& axis = axes[meant.front()];
        if (axis.dim.isNumber() && axis.dim.value() != size)
            return failure(
                "dim.contradiction",
                fmt::format("`{}` is {} in the file, not {}", name, axis.dim.value(), size), {},
                "leave it out, or export the model with this dimension open");
        if (axis.dim.isNumber())
            continue;
        const std::string shared = axis.dim.text();
        auto [known, isNew] = out.try_emplace(shared, size);
        if (known->second == size)
            continue;
        notes.push_back(fmt::format("`{}` = {}, though other axes called `{}` are {}", name, size,
                                    shared, known->second));
        ambiguous.insert(shared);
        // A dimension of its own: only whoever binds sizes makes them the graph's.
        setInputDim(graph, axis, Dim());
        nameInputDimensions(graph);
        out[(*graph.value(axis.input).type.shape)[axis.axis].text()] = size;
    }
    forgetInside(graph, ambiguous);
    return out;
}

Result<void> bindDimensions(Graph& graph, const DimensionValues& values) {
    std::vector<std::string> notes;
    return bindDimensions(graph, values, notes);
}

Result<void> bindDimensions(Graph& graph, const DimensionValues& values,
                            std::vector<std::string>& notes) {
    auto resolved = resolveDimensions(graph, values, notes);
    if (!resolved)
        return failure(resolved.error());
    bindTypes(graph, *resolved);
    for (const InferProblem& problem : inferShapes(graph))
        if (!problem.warning())
            return failure("dim.contradiction", problem.message, graph.node(problem.node).name,
                           "give dimensions that fit the model");
    return {};
}

bool forgetShape(Graph& graph, const std::string& value) {
    std::vector<ValueId> todo{graph.findValue(value)};
    if (!todo.front().valid() || !graph.value(todo.front()).producer.valid())
        return false;
    std::vector<bool> seen(graph.valueBound(), false);
    while (!todo.empty()) {
        const ValueId id = todo.back();
        todo.pop_back();
        if (!id.valid() || seen[id.index()])
            continue;
        seen[id.index()] = true;
        Type type = graph.value(id).type;
        type.shape.reset();
        graph.setType(id, std::move(type));
        for (const Use& use : graph.value(id).uses)
            for (ValueId output : graph.node(use.node).outputs)
                todo.push_back(output);
    }
    inferShapes(graph);
    return true;
}

DimensionValues bindAllDimensions(Graph& graph, const DimensionValues& values, int64_t fallback) {
    nameInputDimensions(graph);
    DimensionValues chosen;
    for (const std::string& name : inputSymbols(graph)) {
        auto given = values.find(name);
        chosen[name] = given != values.end() ? given->second : fallback;
    }
    bindTypes(graph, chosen);
    inferShapes(graph);
    return chosen;
}

} // namespace fuselage
