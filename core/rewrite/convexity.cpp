// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/convexity.h"

#include "core/rewrite/trace.h"

#include <algorithm>

namespace fuselage {

namespace {

constexpr int64_t spacing = 16;
constexpr size_t none = static_cast<size_t>(-1); ///< step before the first

} // namespace

Convexity::Convexity(const Graph& graph, const std::vector<NodeId>& order)
    : m_graph(graph), m_levels(graph.nodeBound(), 0), m_seen(graph.nodeBound(), 0) {
    int64_t next = 0;
    for (NodeId node : order)
        m_levels[node.index()] = next += spacing;
}

std::optional<Convexity::Back> Convexity::searchBack(const std::vector<ValueId>& from,
                                                     FunctionRef<bool(NodeId)> inside,
                                                     int64_t bound) const {
    m_seen.resize(m_graph.nodeBound(), 0);
    ++m_stamp;
    std::vector<Step>& queue = m_queue;
    queue.clear();
    auto visit = [&](NodeId node, size_t before) {
        if (m_levels[node.index()] < bound && m_seen[node.index()] != m_stamp) {
            m_seen[node.index()] = m_stamp;
            queue.push_back({node, before});
        }
    };
    for (ValueId value : from)
        for (const Use& use : m_graph.value(value).uses)
            if (!inside(use.node))
                visit(use.node, none);
    for (size_t at = 0; at < queue.size(); ++at)
        for (ValueId output : m_graph.node(queue[at].node).outputs) {
            if (!output.valid())
                continue;
            for (const Use& use : m_graph.value(output).uses) {
                if (inside(use.node))
                    return Back{at, use.node};
                visit(use.node, at);
            }
        }
    return std::nullopt;
}

std::vector<NodeId> Convexity::pathBack(const std::vector<ValueId>& from,
                                        FunctionRef<bool(NodeId)> inside, int64_t bound) const {
    const auto back = searchBack(from, inside, bound);
    if (!back)
        return {};
    std::vector<NodeId> path{back->enters};
    for (size_t step = back->last; step != none; step = m_queue[step].before)
        path.push_back(m_queue[step].node);
    std::reverse(path.begin(), path.end());
    return path;
}

std::vector<NodeId> Convexity::cycleOf(const std::vector<NodeId>& nodes,
                                       const std::vector<ValueId>& outputs) const {
    m_inside.resize(m_graph.nodeBound(), 0);
    ++m_insideStamp;
    int64_t bound = 0;
    for (NodeId node : nodes) {
        m_inside[node.index()] = m_insideStamp;
        bound = std::max(bound, level(node));
    }
    return pathBack(
        outputs, [&](NodeId node) { return m_inside[node.index()] == m_insideStamp; }, bound);
}

void Convexity::place(NodeId node) {
    int64_t above = 0;
    for (ValueId input : m_graph.node(node).inputs)
        if (NodeId maker = m_graph.producer(input); maker.valid())
            above = std::max(above, m_levels[maker.index()]);
    if (m_levels[node.index()] <= above)
        m_levels[node.index()] = above + 1;
}

void Convexity::added(const std::vector<NodeId>& nodes) {
    m_levels.resize(m_graph.nodeBound(), 0);
    m_seen.resize(m_graph.nodeBound(), 0);
    // `nodes` come in topological order, so each one's producers have their levels.
    std::vector<NodeId> work;
    for (NodeId node : nodes) {
        place(node);
        work.push_back(node);
    }
    while (!work.empty()) {
        NodeId node = work.back();
        work.pop_back();
        for (ValueId output : m_graph.node(node).outputs) {
            if (!output.valid())
                continue;
            for (const Use& use : m_graph.value(output).uses) {
                int64_t& level = m_levels[use.node.index()];
                if (level > m_levels[node.index()])
                    continue;
                level = m_levels[node.index()] + 1;
                work.push_back(use.node);
            }
        }
    }
}

Reason cycleReason(const Graph& graph, const std::vector<NodeId>& path, const std::string& what) {
    constexpr size_t mostNamed = 3;
    std::string names, outside;
    for (size_t i = 0; i < path.size(); ++i) {
        const std::string& name = graph.node(path[i]).name;
        names += (i > 0 ? " -> " : "") + name;
        if (i + 1 < path.size())
            outside += (i > 0 ? ", `" : "`") + name + "`";
    }
    bool few = !outside.empty() && path.size() <= mostNamed + 1;
    return {code::cycle,
            what + " leaves the match and comes back: " + names,
            few ? "match " + outside + " as well, or leave `" + graph.node(path.back()).name +
                      "` out"
                : "include the nodes of the path in the match",
            {{"path", names}, {"found", "the path " + names}, {"expected", "no way back"}}};
}

} // namespace fuselage
