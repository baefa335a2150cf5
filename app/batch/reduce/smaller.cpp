// SPDX-License-Identifier: Apache-2.0
// Fewer nodes, outputs and initializers.
#include "app/batch/reduce/smaller.h"

#include "app/batch/reduce/rebuild_internal.h"
#include "core/graph/makers.h"
#include "core/graph/subgraph.h"
#include "core/graph/verify.h"
#include "core/passes/passes.h"

#include <algorithm>
#include <unordered_set>

namespace fuselage::batch {

std::optional<Graph> checked(Graph graph) {
    if (graph.outputs().empty() || !verify(graph))
        return {};
    for (ValueId input : graph.inputs())
        if (graph.value(input).type.dtype == DType::Undefined)
            return {};
    for (const InferProblem& problem : inferShapes(graph))
        if (!problem.warning())
            return {};
    return graph;
}

std::optional<Graph> rebuild(const Graph& graph, const std::vector<NodeId>& nodes,
                             const std::vector<ValueId>& outputs, const Leaf& leaf) {
    CutOptions everyConstantOutside;
    everyConstantOutside.maxEmbeddedElements = 0;
    Cut cut = cutOut(graph, nodes, outputs, everyConstantOutside);
    Graph out(graph.name());
    out.opsetImports = graph.opsetImports;
    std::vector<ValueId> inputs;
    for (ValueId input : cut.inputs)
        inputs.push_back(leaf(out, graph.value(input)));
    for (ValueId output : inlineBody(out, cut.body, inputs))
        out.addOutput(output);
    return checked(std::move(out));
}

std::vector<ValueId> producedOutputs(const Graph& graph) {
    std::vector<ValueId> out;
    for (ValueId output : graph.outputs())
        if (graph.producer(output).valid() &&
            std::find(out.begin(), out.end(), output) == out.end())
            out.push_back(output);
    return out;
}

std::optional<Graph> keepNodes(const Graph& graph, const std::vector<NodeId>& nodes) {
    const std::unordered_set<NodeId> kept(nodes.begin(), nodes.end());
    std::vector<ValueId> outputs;
    for (NodeId id : topologicalOrder(graph)) {
        if (!kept.contains(id))
            continue;
        for (ValueId value : graph.node(id).outputs) {
            if (!value.valid())
                continue;
            const std::vector<Use>& uses = graph.value(value).uses;
            const bool read = std::any_of(uses.begin(), uses.end(),
                                          [&](const Use& use) { return kept.contains(use.node); });
            if (!read || graph.isGraphOutput(value))
                outputs.push_back(value);
        }
    }
    return rebuild(graph, nodes, outputs, sameLeaf);
}

std::optional<Graph> keepOutputs(const Graph& graph, const std::vector<ValueId>& outputs) {
    const auto needed = makersOf(graph, outputs);
    return rebuild(graph, {needed.begin(), needed.end()}, outputs, sameLeaf);
}

std::vector<ValueId> weights(const Graph& graph) {
    std::vector<ValueId> out;
    for (ValueId id : graph.values())
        if (graph.isConstant(id) && isFloat(graph.value(id).constant->dtype()) &&
            graph.value(id).constant->elementCount() > 1)
            out.push_back(id);
    return out;
}

std::optional<Graph> asInputs(const Graph& graph, const std::vector<ValueId>& constants) {
    std::unordered_set<std::string> names;
    for (ValueId id : constants)
        names.insert(graph.value(id).name);
    return rebuild(graph, graph.nodes(), producedOutputs(graph),
                   [&](Graph& out, const Value& value) {
                       return value.constant && names.contains(value.name)
                                  ? out.addInput(value.name, value.constant->type())
                                  : sameLeaf(out, value);
                   });
}

std::optional<Graph> filledWithOnes(const Graph& graph, ValueId constant) {
    const std::string name = graph.value(constant).name;
    Tensor ones(graph.value(constant).constant->dtype(), graph.value(constant).constant->extents());
    for (int64_t i = 0; i < ones.elementCount(); ++i)
        ones.set(i, 1);
    if (identical(ones, *graph.value(constant).constant))
        return {};
    auto data = std::make_shared<const Tensor>(std::move(ones));
    return rebuild(
        graph, graph.nodes(), producedOutputs(graph), [&](Graph& out, const Value& value) {
            return value.name == name ? out.addConstant(name, data) : sameLeaf(out, value);
        });
}

} // namespace fuselage::batch
