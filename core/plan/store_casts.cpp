// SPDX-License-Identifier: Apache-2.0
// Phase 1a of planning: the Casts at the boundary of 16-bit storage, and others like them. What one
// step makes and only a Cast reads, that step may store in the Cast's type.
#include "core/cost/decision.h"
#include "core/plan/step_times_internal.h"

#include <algorithm>

namespace fuselage::planner {

namespace {

class CastStorer {
public:
    CastStorer(std::shared_ptr<const Graph> graph, std::vector<PlannedNode>& nodes,
               const PlanRound& options, LowerCache& cache)
        : m_graph(std::move(graph)), m_nodes(nodes), m_options(options), m_cache(cache),
          m_at(m_graph->nodeBound(), none),
          m_times(*m_graph, logicalBytes(*m_graph, nodes), options) {
        for (uint32_t i = 0; i < nodes.size(); ++i)
            m_at[nodes[i].node.index()] = i;
    }

    void offer(NodeId cast);

    std::shared_ptr<const Graph> graph() const { return m_graph; }

private:
    static constexpr uint32_t none = 0xffffffff;

    NodeId makerFor(NodeId cast) const;
    bool isFaster(NodeId maker, NodeId cast, const LowerRequest& request,
                  const KernelProgram& program) const;
    void take(NodeId maker, NodeId cast, LowerRequest request, KernelProgram program);

    std::shared_ptr<const Graph> m_graph;
    std::shared_ptr<Graph> m_changed; ///< the same, once it is a copy
    std::vector<PlannedNode>& m_nodes;
    const PlanRound& m_options;
    LowerCache& m_cache;
    std::vector<uint32_t> m_at; ///< in m_nodes, by node
    StepTimes m_times;
};

/// Of the Cast's operand, where nobody else wants that; invalid: none.
NodeId CastStorer::makerFor(NodeId cast) const {
    const ValueId operand = m_graph->node(cast).inputs[0];
    const NodeId maker = m_graph->producer(operand);
    if (!maker.valid() || m_graph->isGraphOutput(operand) ||
        m_graph->value(operand).uses.size() != 1)
        return {};
    const auto& program = m_nodes[m_at[maker.index()]].program;
    const std::vector<ValueId>& outputs = m_graph->node(maker).outputs;
    const bool computes =
        program && !std::holds_alternative<Copy>(program->code) &&
        !std::holds_alternative<Library>(program->code) &&
        std::all_of(outputs.begin(), outputs.end(), [](ValueId id) { return id.valid(); });
    return computes ? maker : NodeId();
}

bool CastStorer::isFaster(NodeId maker, NodeId cast, const LowerRequest& request,
                          const KernelProgram& program) const {
    std::vector<TimeEstimate> apart;
    for (NodeId node : {maker, cast}) {
        const PlannedNode& is = m_nodes[m_at[node.index()]];
        apart.push_back(m_times.of(*is.program, is.request.operands, node));
    }
    const Decision decision = decideFusion(m_times.of(program, request.operands, maker), apart);
    return preferred({decision.unfusedSeconds, decision.fusedSeconds}, least_share::any);
}

void CastStorer::offer(NodeId cast) {
    const Node& node = m_graph->node(cast);
    if (node.op != Op::Cast || !m_nodes[m_at[cast.index()]].program)
        return;
    const NodeId maker = makerFor(cast);
    if (!maker.valid())
        return;
    std::vector<ValueId> outputs = m_graph->node(maker).outputs;
    std::replace(outputs.begin(), outputs.end(), node.inputs[0], node.outputs[0]);
    LowerRequest request = requestFor(*m_graph, {maker, cast}, outputs);
    LowerResult lowered =
        m_cache.lowerWithin(request, std::min(allowedClass(m_graph->node(maker), m_options),
                                              allowedClass(node, m_options)));
    auto* program = std::get_if<KernelProgram>(&lowered);
    const KernelProgram& apart = *m_nodes[m_at[maker.index()]].program;
    if (!program || kindOf(*program) != kindOf(apart) ||
        (m_options.backend && m_options.backend->supports(*program)) ||
        !isFaster(maker, cast, request, *program))
        return;
    take(maker, cast, std::move(request), std::move(*program));
}

void CastStorer::take(NodeId maker, NodeId cast, LowerRequest request, KernelProgram program) {
    if (!m_changed) {
        m_changed = std::make_shared<Graph>(m_graph->clone());
        m_graph = m_changed;
    }
    Graph& graph = *m_changed;
    const ValueId operand = graph.node(cast).inputs[0], stored = graph.node(cast).outputs[0];
    const uint32_t slot = graph.value(operand).outputSlot;
    const std::vector<std::string> casts = graph.node(cast).provenance.sources;
    std::vector<std::string>& sources = graph.edit(maker).provenance.sources;
    if (sources.empty())
        sources.push_back(graph.node(maker).name);
    if (casts.empty())
        sources.push_back(graph.node(cast).name);
    sources.insert(sources.end(), casts.begin(), casts.end());
    graph.eraseInputsFrom(cast, 0);
    graph.moveOutput(stored, maker, slot);
    graph.removeNode(cast);
    becomeFused(graph, maker, request);
    m_at[cast.index()] = none;
    PlannedNode& is = m_nodes[m_at[maker.index()]];
    is.request = std::move(request);
    is.program = std::move(program);
}

} // namespace

Result<void> storeCasts(std::shared_ptr<const Graph>& graph, std::vector<PlannedNode>& nodes,
                        const PlanRound& options, LowerCache& cache, Progress& progress) {
    if (std::none_of(nodes.begin(), nodes.end(), [&](const PlannedNode& node) {
            return graph->node(node.node).op == Op::Cast;
        }))
        return {};
    CastStorer storer(graph, nodes, options, cache);
    std::vector<NodeId> order;
    for (const PlannedNode& node : nodes)
        order.push_back(node.node);
    for (NodeId node : order) {
        if (progress.cancelled())
            return cancelledFailure("planning");
        storer.offer(node);
    }
    adopt(graph, storer.graph(), nodes);
    return {};
}

} // namespace fuselage::planner
