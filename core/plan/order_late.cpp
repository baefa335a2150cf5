// SPDX-License-Identifier: Apache-2.0
// A node that makes more than it is the last to read runs just before its first reader: its result
// takes memory for a shorter time, and is still in a cache when it is read. Depth first from the
// outputs, nodes come early where another operand of their reader is made after them.
#include "core/plan/planner_internal.h"

#include <algorithm>

namespace fuselage::planner {

namespace {

/// Moves over more nodes are left, so that a long graph does not take their number squared.
constexpr size_t farthest = 4096;

class Order {
public:
    Order(const Graph& graph, std::vector<PlannedNode>& nodes)
        : m_graph(graph), m_nodes(nodes), m_place(graph.nodeBound(), nodes.size()) {
        number(0, nodes.size());
    }

    void improve() {
        for (size_t i = m_nodes.size(); i-- > 0;) {
            const size_t reader = firstReader(m_nodes[i].node);
            if (reader <= i + 1 || reader == m_nodes.size() || reader - i > farthest ||
                !isBetterLate(i, reader))
                continue;
            const auto at = [&](size_t place) {
                return m_nodes.begin() + static_cast<std::ptrdiff_t>(place);
            };
            std::rotate(at(i), at(i + 1), at(reader));
            number(i, reader);
        }
    }

private:
    void number(size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            m_place[m_nodes[i].node.index()] = i;
    }

    /// The number of nodes where nothing in the plan reads it.
    size_t firstReader(NodeId id) const {
        size_t out = m_nodes.size();
        for (ValueId output : m_graph.node(id).outputs)
            for (const Use& use : usesOf(output))
                out = std::min(out, m_place[use.node.index()]);
        return out;
    }

    /// What is no kernel, such as a view, goes with its reader. Else nothing that is as large and
    /// that the reader waits for as well may come to be made earlier for it.
    bool isBetterLate(size_t place, size_t reader) const {
        const NodeId id = m_nodes[place].node;
        const int64_t bytes = made(id);
        if (m_nodes[place].program && bytes <= keptUntil(reader, id))
            return false;
        for (size_t i = place + 1; i < reader && m_nodes[place].program; ++i)
            if (made(m_nodes[i].node) >= bytes && firstReader(m_nodes[i].node) >= reader)
                return false;
        return true;
    }

    int64_t made(NodeId id) const {
        int64_t out = 0;
        for (ValueId output : m_graph.node(id).outputs)
            out += bytesOf(output);
        return out;
    }

    /// Bytes of operands that nobody but the node reads from `place` on.
    int64_t keptUntil(size_t place, NodeId id) const {
        int64_t out = 0;
        std::vector<ValueId> seen;
        for (ValueId input : m_graph.node(id).inputs) {
            if (!input.valid() || !m_graph.producer(input).valid() ||
                std::find(seen.begin(), seen.end(), input) != seen.end())
                continue;
            seen.push_back(input);
            const std::vector<Use>& uses = usesOf(input);
            const bool isReadLater =
                m_graph.isGraphOutput(input) ||
                std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
                    return use.node != id && m_place[use.node.index()] >= place;
                });
            out += isReadLater ? 0 : bytesOf(input);
        }
        return out;
    }

    const std::vector<Use>& usesOf(ValueId id) const {
        static const std::vector<Use> none;
        return id.valid() ? m_graph.value(id).uses : none;
    }

    int64_t bytesOf(ValueId id) const {
        return id.valid() ? m_graph.value(id).type.byteCount().value_or(0) : 0;
    }

    const Graph& m_graph;
    std::vector<PlannedNode>& m_nodes;
    std::vector<size_t> m_place; ///< by node
};

} // namespace

void orderLate(const Graph& graph, std::vector<PlannedNode>& nodes) {
    Order(graph, nodes).improve();
}

} // namespace fuselage::planner
