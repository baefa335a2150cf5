// SPDX-License-Identifier: Apache-2.0
#include "core/cost/time_model.h"
#include "core/plan/constant_steps.h"
#include "core/plan/step_times_internal.h"

#include <algorithm>

namespace fuselage::planner {

std::vector<int64_t> logicalBytes(const Graph& graph, const std::vector<PlannedNode>& nodes) {
    std::vector<int64_t> out(graph.nodeBound(), -1);
    for (const PlannedNode& node : nodes)
        if (node.program)
            out[node.node.index()] = logicalTraffic(*node.program).logical();
    return out;
}

StepTimes::StepTimes(const Graph& graph, const std::vector<int64_t>& bytes, const PlanRound& round)
    : m_graph(&graph), m_profile(round.profile), m_orders(round.orders),
      m_place(graph.nodeBound(), 0), m_isView(graph.nodeBound(), false),
      m_isFixed(fixedValues(graph, round)), m_reuse(*round.profile) {
    size_t place = 0;
    for (NodeId node : topologicalOrder(graph)) {
        const int64_t moved = isOnce(node) ? 0 : bytes[node.index()];
        m_place[node.index()] = place++;
        m_isView[node.index()] = bytes[node.index()] < 0;
        m_reuse.add(std::max<int64_t>(0, moved));
    }
}

/// A backend computes it while preparing.
bool StepTimes::isOnce(NodeId node) const {
    return areOnce(*m_graph, m_isFixed, m_graph->node(node).outputs);
}

/// The place of the step that made the value; views are where their operand is.
int64_t StepTimes::makerOf(ValueId value) const {
    if (value.valid() && m_isFixed[value.index()])
        return -1;
    NodeId maker = m_graph->producer(value);
    while (maker.valid() && m_isView[maker.index()])
        maker = m_graph->producer(m_graph->node(maker).inputs[0]);
    return maker.valid() ? static_cast<int64_t>(m_place[maker.index()]) : -1;
}

/// Null where the order is not known.
std::vector<const Extents*> StepTimes::stridesOf(const std::vector<OperandType>& types,
                                                 const std::vector<ValueId>& values) const {
    std::vector<const Extents*> out(types.size(), nullptr);
    for (size_t i = 0; i < types.size() && i < values.size(); ++i) {
        if (!values[i].valid() || m_isFixed[values[i].index()])
            continue;
        const auto known = m_orders->find(m_graph->value(values[i]).name);
        if (known != m_orders->end() && known->second.size() == types[i].extents.size())
            out[i] = &known->second;
    }
    return out;
}

TimeEstimate StepTimes::of(const KernelProgram& program, const std::vector<ValueId>& operands,
                           NodeId at) const {
    if (isOnce(at))
        return {};
    std::vector<int64_t> distances;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
        const OperandType& type = program.inputs[i];
        const int64_t maker = i < operands.size() ? makerOf(operands[i]) : -1;
        distances.push_back(m_reuse.of(m_place[at.index()], maker,
                                       elementCount(type.extents).value_or(0) *
                                           static_cast<int64_t>(sizeOf(type.dtype))));
    }
    const Traffic traffic = predictTraffic(program, *m_profile, {distances});
    if (!m_orders)
        return predictTime(program, traffic, *m_profile);
    const OperandStrides order{stridesOf(program.inputs, operands),
                               stridesOf(program.outputs, m_graph->node(at).outputs)};
    return predictTime(program, laidWorkOf(program, order), traffic, *m_profile);
}

} // namespace fuselage::planner
