// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/similar_places.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace fuselage::studio {

namespace {

/// How a node of the pattern is reached: as what makes an input of one that was reached before.
struct Way {
    size_t reader = 0; ///< position among the nodes reached
    uint32_t slot = 0;
    uint32_t output = 0; ///< of the maker
};

class Shape {
public:
    /// From the last node backwards, in the order of discovery.
    Shape(const Graph& graph, const std::vector<NodeId>& nodes, NodeId root)
        : m_graph(graph), m_order{root} {
        std::unordered_map<uint32_t, size_t> known{{root.index(), 0}};
        std::unordered_set<uint32_t> inside;
        for (NodeId node : nodes)
            inside.insert(node.index());
        m_ways.push_back({});
        for (size_t at = 0; at < m_order.size(); ++at) {
            const Node& reader = graph.node(m_order[at]);
            for (uint32_t slot = 0; slot < reader.inputs.size(); ++slot) {
                const NodeId maker = graph.producer(reader.inputs[slot]);
                if (!maker.valid() || !inside.contains(maker.index()))
                    continue;
                const Way way{at, slot, graph.value(reader.inputs[slot]).outputSlot};
                auto [entry, isNew] = known.try_emplace(maker.index(), m_order.size());
                if (!isNew) {
                    m_again.emplace_back(entry->second, way);
                    continue;
                }
                m_order.push_back(maker);
                m_ways.push_back(way);
            }
        }
    }

    const std::vector<NodeId>& order() const { return m_order; }

    /// The nodes that stand at `root` as ours do at our root; empty where they differ.
    std::vector<NodeId> at(NodeId root) const {
        std::vector<NodeId> out{root};
        for (size_t i = 0; i < m_order.size(); ++i) {
            if (i > 0) {
                const NodeId maker = makerOf(out[m_ways[i].reader], m_ways[i]);
                if (!maker.valid() || std::find(out.begin(), out.end(), maker) != out.end())
                    return {};
                out.push_back(maker);
            }
            const Node &mine = m_graph.node(m_order[i]), &theirs = m_graph.node(out[i]);
            if (mine.op != theirs.op || mine.customOp != theirs.customOp)
                return {};
        }
        for (const auto& [node, way] : m_again)
            if (makerOf(out[way.reader], way) != out[node])
                return {};
        return out;
    }

private:
    NodeId makerOf(NodeId reader, const Way& way) const {
        const Node& node = m_graph.node(reader);
        if (way.slot >= node.inputs.size() || !node.inputs[way.slot].valid())
            return {};
        const Value& value = m_graph.value(node.inputs[way.slot]);
        return value.outputSlot == way.output ? value.producer : NodeId();
    }

    const Graph& m_graph;
    std::vector<NodeId> m_order;
    std::vector<Way> m_ways;
    std::vector<std::pair<size_t, Way>> m_again; ///< more edges between nodes reached
};

} // namespace

std::vector<std::vector<std::string>> placesLike(const Graph& graph,
                                                 const std::vector<std::string>& nodes) {
    std::vector<NodeId> ids;
    std::unordered_set<uint32_t> wanted;
    for (const std::string& name : nodes) {
        const NodeId id = graph.findNode(name);
        if (!id.valid())
            return {};
        if (wanted.insert(id.index()).second)
            ids.push_back(id);
    }
    if (ids.empty())
        return {};
    const std::vector<NodeId> order = topologicalOrder(graph);
    NodeId root;
    for (NodeId id : order)
        if (wanted.contains(id.index()))
            root = id;
    if (!root.valid())
        return {};
    const Shape shape(graph, ids, root);
    if (shape.order().size() != ids.size())
        return {};
    std::vector<std::vector<std::string>> out;
    std::unordered_set<uint32_t> taken;
    const auto take = [&](NodeId at) {
        const std::vector<NodeId> place = shape.at(at);
        if (place.empty() || std::any_of(place.begin(), place.end(),
                                         [&](NodeId id) { return taken.contains(id.index()); }))
            return;
        std::vector<std::string>& names = out.emplace_back();
        for (NodeId id : place) {
            taken.insert(id.index());
            names.push_back(graph.node(id).name);
        }
        std::reverse(names.begin(), names.end());
    };
    take(root);
    for (NodeId id : order)
        take(id);
    return out;
}

} // namespace fuselage::studio
