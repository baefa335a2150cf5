// SPDX-License-Identifier: Apache-2.0
// Back from the fused graph to the graph before fusion.
#include "core/graph/subgraph.h"
#include "core/onnx/model_file.h"

namespace fuselage::model_io {

namespace {

void inlineNode(Graph& graph, NodeId id) {
    const Node node = graph.node(id);
    auto firstNew = static_cast<uint32_t>(graph.valueBound());
    std::vector<ValueId> results = inlineBody(graph, *node.body, node.inputs);
    std::vector<bool> named(results.size(), false);
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
        ValueId old = node.outputs[slot];
        if (!old.valid())
            continue;
        // A value that was there before keeps its name: outputs of the graph need one of their own.
        ValueId result = results[slot];
        bool taken = result.index() < firstNew;
        for (size_t other = 0; other < slot; ++other)
            taken = taken || (named[other] && results[other] == result);
        if (taken && graph.isGraphOutput(old)) {
            NodeId copy = graph.addNode({Op::Identity, node.name, {result}, {"copy"}});
            result = graph.node(copy).outputs[0];
            taken = false;
        }
        Type type = graph.value(old).type;
        graph.replaceUses(old, result);
        if (taken)
            continue;
        graph.takeName(result, old);
        if (type.dtype != DType::Undefined)
            graph.setType(result, std::move(type));
        named[slot] = true;
    }
    graph.removeNode(id);
}

} // namespace

Graph inlineFused(const Graph& graph) {
    Graph out = graph.clone();
    // Bodies may hold fused nodes themselves: new nodes are visited too.
    for (uint32_t index = 0; index < out.nodeBound(); ++index) {
        NodeId id(index);
        if (!out.alive(id))
            continue;
        std::vector<std::pair<std::string, std::shared_ptr<Graph>>> subgraphs;
        for (const auto& [name, value] : out.node(id).attributes)
            if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&value); inner && *inner)
                subgraphs.emplace_back(name, *inner);
        for (auto& [name, inner] : subgraphs)
            out.edit(id).attributes.set(name, std::make_shared<Graph>(inlineFused(*inner)));
        if (out.node(id).op == Op::Fused && out.node(id).body)
            inlineNode(out, id);
    }
    return out;
}

} // namespace fuselage::model_io
