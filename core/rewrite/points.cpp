// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/points.h"

#include "core/graph/text.h"
#include "core/rewrite/evaluate.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace fuselage {

namespace {

/// Deals the reads of each value to the points that name it.
class Points {
public:
    Points(const Graph& graph, const Match& match) : m_graph(graph), m_match(match) {
        for (size_t i = 0; i < match.nodes.size(); ++i)
            m_position.emplace(match.nodes[i], i);
    }

    std::vector<TracePoint> run() {
        for (const QdqPoint& point : m_match.rule->qdq)
            add(point);
        for (auto& [value, points] : m_byValue)
            deal(value, points);
        return std::move(m_out);
    }

private:
    void add(const QdqPoint& point) {
        std::vector<ValueId> values;
        m_match.slots[point.slot].collect(values);
        for (ValueId value : values) {
            m_byValue[value].push_back(m_out.size());
            m_out.push_back(
                {point.name, m_graph.value(value).name, point.axis, point.line, {}, {}});
            m_out.back().leftOut = whyLeftOut(point);
        }
    }

    std::string whyLeftOut(const QdqPoint& point) const {
        if (!point.condition)
            return {};
        const EvaluateContext context{m_graph, *m_match.rule, m_match.slots, m_match.dims,
                                      &m_match.regions};
        const Quantity holds = evaluate(context, *point.condition);
        const Truth truth = holds.truth();
        if (truth == Truth::True)
            return {};
        return truth == Truth::False ? "its condition is false"
                                     : "its condition is not known: " + holds.text();
    }

    bool inside(NodeId node) const { return m_position.contains(node); }

    /// In topological order of the match where the match reads.
    std::vector<Use> readsOf(ValueId value) const {
        std::vector<Use> within, behind;
        for (const Use& use : m_graph.value(value).uses)
            (inside(use.node) ? within : behind).push_back(use);
        std::sort(within.begin(), within.end(), [&](const Use& a, const Use& b) {
            return std::pair(m_position.at(a.node), a.slot) <
                   std::pair(m_position.at(b.node), b.slot);
        });
        const bool made = inside(m_graph.producer(value));
        return made && !behind.empty() ? behind : within;
    }

    void deal(ValueId value, const std::vector<size_t>& points) {
        const std::vector<Use> reads = readsOf(value);
        for (size_t i = 0; i < reads.size(); ++i) {
            const Use& use = reads[i];
            TracePoint& point = m_out[points[std::min(i, points.size() - 1)]];
            point.reads.push_back(
                {m_graph.node(use.node).name, use.slot, sourcesOf(m_graph, {use.node})});
        }
    }

    const Graph& m_graph;
    const Match& m_match;
    std::unordered_map<NodeId, size_t> m_position;
    std::map<ValueId, std::vector<size_t>> m_byValue;
    std::vector<TracePoint> m_out;
};

} // namespace

std::vector<TracePoint> pointsOf(const Graph& graph, const Match& match) {
    if (match.rule->qdq.empty())
        return {};
    return Points(graph, match).run();
}

} // namespace fuselage
