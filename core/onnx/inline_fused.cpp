// SPDX-License-Identifier: Apache-2.0
// Back from the fused graph to the graph before fusion.
#include "core/graph/subgraph.h"
#include "core/onnx/model_file.h"

namespace fuselage::model_io {

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
            fuselage::inlineFused(out, id);
    }
    return out;
}

} // namespace fuselage::model_io
