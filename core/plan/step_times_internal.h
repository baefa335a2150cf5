// SPDX-License-Identifier: Apache-2.0
// What a kernel would take at a place of a plan that is still being made: how far back what it
// reads was written follows from the order of the graph and the bytes that each step moves.
#pragma once

#include "core/plan/planner_internal.h"
#include "core/plan/reuse_distance.h"

#include <vector>

namespace fuselage::planner {

/// Logical bytes of the step of each node, by index; below 0 where a node is none, as views are.
std::vector<int64_t> logicalBytes(const Graph& graph, const std::vector<PlannedNode>& nodes);

class StepTimes {
public:
    /// `bytes`: as of logicalBytes(). The graph, the profile and the orders outlive this.
    StepTimes(const Graph& graph, const std::vector<int64_t>& bytes, const PlanRound& round);

    /// In the order of a run.
    size_t placeOf(NodeId node) const { return m_place[node.index()]; }

    /// At the place of that node. An operand that is no value of the graph is a constant of its
    /// own.
    TimeEstimate of(const KernelProgram& program, const std::vector<ValueId>& operands,
                    NodeId at) const;

private:
    std::vector<const Extents*> stridesOf(const std::vector<OperandType>& types,
                                          const std::vector<ValueId>& values) const;
    int64_t makerOf(ValueId value) const;
    bool isOnce(NodeId node) const;

    const Graph* m_graph;
    const DeviceProfile* m_profile;
    const ValueOrders* m_orders;
    std::vector<size_t> m_place;
    std::vector<bool> m_isView;
    std::vector<bool> m_isFixed; ///< of fixedValues()
    ReuseDistances m_reuse;
};

} // namespace fuselage::planner
