// SPDX-License-Identifier: Apache-2.0
#include "core/graph/captures.h"

namespace fuselage {

std::vector<SubgraphRef> subgraphsOf(const Node& node) {
    std::vector<SubgraphRef> out;
    uint32_t next = node.explicitInputs;
    for (const Attributes::Entry& entry : node.attributes) {
        const auto* graph = std::get_if<std::shared_ptr<Graph>>(&entry.value);
        if (!graph || !*graph)
            continue;
        out.push_back({entry.name, *graph, next});
        next += static_cast<uint32_t>((*graph)->captures().size());
    }
    return out;
}

std::shared_ptr<Graph> ownSubgraph(Graph& graph, NodeId node, const std::string& attribute) {
    std::shared_ptr<Graph> found = graph.node(node).attributes.graph(attribute);
    if (!found || found.use_count() <= 2) // the attribute's reference and ours
        return found;
    auto copy = std::make_shared<Graph>(*found);
    graph.edit(node).attributes.set(attribute, copy);
    return copy;
}

} // namespace fuselage
