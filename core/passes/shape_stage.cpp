// SPDX-License-Identifier: Apache-2.0
#include "core/passes/shape_stage.h"

#include "core/graph/makers.h"
#include "core/graph/run_shapes.h"
#include "core/graph/subgraph.h"
#include "core/passes/inference.h"
#include "core/passes/open_shapes.h"

#include <algorithm>
#include <unordered_set>

namespace fuselage {

namespace {

/// What decides a shape: small operands of openers, else what the openers make.
struct Deciders {
    std::vector<ValueId> givers, made;
};

Deciders decidersOf(const Graph& graph) {
    Deciders out;
    for (NodeId id : firstOpeners(graph)) {
        const Node& node = graph.node(id);
        const size_t before = out.givers.size();
        for (size_t i = 0; i < node.explicitInputs; ++i) {
            const ValueId input = node.inputs[i];
            if (input.valid() && !graph.isConstant(input) && givesShape(node, i) &&
                graph.value(input).type.elementCount().value_or(maxShapeElements + 1) <=
                    maxShapeElements)
                out.givers.push_back(input);
        }
        if (out.givers.size() == before)
            for (ValueId output : node.outputs)
                if (output.valid())
                    out.made.push_back(output);
    }
    return out;
}

/// The nodes as a graph of its own, with the constants that they read.
Graph partOf(const Graph& graph, const std::vector<NodeId>& nodes) {
    Cut cut = cutOut(graph, nodes, escapingValues(graph, nodes), {.maxEmbeddedElements = 0});
    cut.body.setName(graph.name());
    for (size_t i = cut.inputs.size(); i-- > 0;)
        if (graph.isConstant(cut.inputs[i])) {
            cut.body.makeConstant(cut.body.inputs()[i], graph.value(cut.inputs[i]).constant);
            cut.body.removeInput(i);
        }
    return std::move(cut.body);
}

bool areTensors(const Graph& graph, const std::vector<ValueId>& values) {
    return std::all_of(values.begin(), values.end(), [&](ValueId id) {
        const Type& type = graph.value(id).type;
        return type.kind == TypeKind::Tensor && sizeOf(type.dtype) > 0;
    });
}

} // namespace

std::optional<ShapeStage> firstStage(const Graph& graph) {
    const Deciders deciders = decidersOf(graph);
    std::vector<ValueId> wanted = deciders.givers;
    wanted.insert(wanted.end(), deciders.made.begin(), deciders.made.end());
    if (wanted.empty())
        return std::nullopt;
    const std::unordered_set<NodeId> makers = makersOf(graph, wanted);
    std::vector<NodeId> first, rest;
    for (NodeId id : topologicalOrder(graph))
        (makers.contains(id) ? first : rest).push_back(id);
    if (!areTensors(graph, escapingValues(graph, first)))
        return std::nullopt;
    ShapeStage out{partOf(graph, first), partOf(graph, rest), {}};
    for (ValueId giver : deciders.givers)
        out.givers.push_back(graph.value(giver).name);
    return out;
}

Result<void> settleRest(Graph& rest, const std::vector<std::string>& givers,
                        const std::map<std::string, Tensor>& made, Progress& progress) {
    const std::vector<ValueId> inputs = rest.inputs();
    for (ValueId input : inputs) {
        const auto found = made.find(rest.value(input).name);
        if (found == made.end())
            continue;
        rest.setType(input, found->second.type());
        rest.setSymbolicContents(input, nullptr);
    }
    for (const std::string& giver : givers) {
        const ValueId input = rest.findValue(giver);
        const auto found = made.find(giver);
        if (!input.valid() || found == made.end())
            continue;
        Tensor seen = found->second.clone();
        seen.setAssumed();
        const ValueId constant = rest.addConstant(rest.freshName(giver + "_seen"),
                                                  std::make_shared<const Tensor>(std::move(seen)));
        const std::vector<Use> uses = rest.value(input).uses;
        for (const Use& use : uses)
            if (givesShape(rest.node(use.node), use.slot))
                rest.setInput(use.node, use.slot, constant);
    }
    inferShownShapes(rest);
    return prepareShownGraph(rest, progress);
}

} // namespace fuselage
