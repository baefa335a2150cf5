// SPDX-License-Identifier: Apache-2.0
// Names and numbers for the dimensions of a graph's inputs.
#include "core/graph/captures.h"
#include "core/passes/inference.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <set>

namespace fuselage {

namespace {

std::set<std::string> inputSymbols(const Graph& graph) {
    std::set<std::string> out;
    for (ValueId input : graph.inputs())
        if (const auto& shape = graph.value(input).type.shape)
            for (const Dim& dim : *shape)
                for (std::string& name : dim.symbols())
                    out.insert(std::move(name));
    return out;
}

/// Puts numbers for symbols in every type, so that nothing declared contradicts the inputs.
void bindTypes(Graph& graph, const std::map<std::string, int64_t>& values) {
    for (ValueId id : graph.values()) {
        Type type = graph.value(id).type;
        if (!type.shape)
            continue;
        for (Dim& dim : *type.shape)
            dim = dim.bind(values);
        graph.setType(id, std::move(type));
    }
    for (NodeId id : graph.nodes()) {
        for (const SubgraphRef& ref : subgraphsOf(graph.node(id)))
            bindTypes(*ownSubgraph(graph, id, ref.attribute), values);
        if (graph.node(id).body) {
            auto body = std::make_shared<Graph>(*graph.node(id).body);
            bindTypes(*body, values);
            graph.edit(id).body = std::move(body);
        }
    }
}

std::vector<InferProblem> bindAndInfer(Graph& graph, const std::map<std::string, int64_t>& values) {
    bindTypes(graph, values);
    return inferShapes(graph);
}

} // namespace

void nameInputDimensions(Graph& graph) {
    std::set<std::string> taken = inputSymbols(graph);
    for (ValueId input : graph.inputs()) {
        Type type = graph.value(input).type;
        if (!type.shape || type.kind != TypeKind::Tensor)
            continue;
        for (size_t i = 0; i < type.shape->size(); ++i) {
            Dim& dim = (*type.shape)[i];
            if (!dim.isUnknown() && !(dim.isNumber() && dim.value() < 0))
                continue;
            std::string name = fmt::format("{}_dim{}", graph.value(input).name, i);
            while (!taken.insert(name).second)
                name += "_";
            dim = Dim::symbol(name);
        }
        graph.setType(input, std::move(type));
    }
}

Result<void> bindDimensions(Graph& graph, const std::map<std::string, int64_t>& values) {
    nameInputDimensions(graph);
    const std::set<std::string> names = inputSymbols(graph);
    for (const auto& [name, value] : values) {
        if (!names.contains(name))
            return failure("dim.unknown", fmt::format("no input has a dimension `{}`", name), {},
                           names.empty() ? "all input dimensions are numbers"
                                         : "use one of: " + joined(names));
        if (value < 0)
            return failure("dim.negative", fmt::format("dimension `{}` cannot be {}", name, value),
                           {}, "give a number of at least 0");
    }
    for (const InferProblem& problem : bindAndInfer(graph, values))
        if (!problem.warning)
            return failure("dim.contradiction", problem.message, graph.node(problem.node).name,
                           "give dimensions that fit the model");
    return {};
}

std::map<std::string, int64_t>
bindAllDimensions(Graph& graph, const std::map<std::string, int64_t>& values, int64_t fallback) {
    nameInputDimensions(graph);
    std::map<std::string, int64_t> chosen;
    for (const std::string& name : inputSymbols(graph)) {
        auto given = values.find(name);
        chosen[name] = given != values.end() ? given->second : fallback;
    }
    bindAndInfer(graph, chosen);
    return chosen;
}

} // namespace fuselage
