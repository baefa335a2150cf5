// SPDX-License-Identifier: Apache-2.0
#include "core/plan/constant_steps.h"

#include "core/ops/op_table.h"

#include <algorithm>

namespace fuselage {

bool Plan::isOnce(const Step& step) const {
    return !step.outputs.empty() && values[step.outputs[0]].isFixed &&
           values[step.outputs[0]].residence == Residence::Arena;
}

namespace planner {

namespace {

/// What a body computes is computed where it runs.
bool makesTheSame(const Node& node) {
    return !node.inputs.empty() && !hasTrait(node.op, Trait::ControlFlow);
}

} // namespace

std::vector<bool> fixedValues(const Graph& graph, const std::function<bool(ValueId)>& isGiven) {
    std::vector<bool> out(graph.valueBound(), false);
    for (ValueId id : graph.values())
        out[id.index()] = graph.isConstant(id) || (isGiven && isGiven(id));
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        const bool isFixed =
            makesTheSame(node) &&
            std::all_of(node.inputs.begin(), node.inputs.end(),
                        [&](ValueId input) { return !input.valid() || out[input.index()]; });
        for (ValueId output : node.outputs)
            if (output.valid())
                out[output.index()] = isFixed;
    }
    return out;
}

void findFixed(Plan& plan) {
    for (PlanValue& value : plan.values)
        value.isFixed = value.residence == Residence::Constant;
    auto isFixed = [&](uint32_t value) { return plan.values[rootOf(plan, value)].isFixed; };
    for (const Step& step : plan.steps) {
        const bool isOnce =
            !step.inputs.empty() && makesTheSame(plan.graph->node(step.node)) &&
            std::all_of(step.inputs.begin(), step.inputs.end(), isFixed) &&
            std::all_of(step.outputs.begin(), step.outputs.end(), [&](uint32_t output) {
                return plan.values[output].residence == Residence::Arena;
            });
        for (uint32_t output : step.outputs)
            plan.values[output].isFixed = isOnce;
    }
    for (uint32_t value = 0; value < plan.values.size(); ++value)
        plan.values[value].isFixed = isFixed(value);
}

} // namespace planner

} // namespace fuselage
