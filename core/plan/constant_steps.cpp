// SPDX-License-Identifier: Apache-2.0
#include "core/plan/constant_steps.h"

#include "core/ops/op_table.h"
#include "core/plan/backend.h"
#include "core/plan/planner_internal.h"

#include <algorithm>

namespace fuselage {

bool Plan::isOnce(const Step& step) const {
    return !step.outputs.empty() && values[step.outputs[0]].isFixed &&
           values[step.outputs[0]].residence == Residence::Arena;
}

namespace planner {

namespace {

/// Whether the node makes the same of operands that are. What a body computes is computed where it
/// runs.
template <typename IsFixed> bool makesTheSame(const Node& node, IsFixed isFixed) {
    return !node.inputs.empty() && !hasTrait(node.op, Trait::ControlFlow) &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return !input.valid() || isFixed(input); });
}

bool arePrepared(const PlanOptions& options) {
    return !options.backend || options.backend->preparesConstants();
}

bool isConstantInAllRuns(const Graph& graph, ValueId value) {
    return graph.isConstant(value) && !graph.value(value).constant->isAssumed();
}

bool isFixedWithin(const Graph& graph, ValueId value, int& looks) {
    if (graph.isConstant(value))
        return isConstantInAllRuns(graph, value);
    const NodeId maker = graph.producer(value);
    return maker.valid() && looks-- > 0 && makesTheSame(graph.node(maker), [&](ValueId input) {
               return isFixedWithin(graph, input, looks);
           });
}

/// What a backend finds computed where it asks for the value.
bool isFound(const Plan& plan, uint32_t value) {
    const PlanValue& asked = plan.values[value];
    const PlanValue& root = plan.values[rootOf(plan, value)];
    const bool isAssumed = root.constant && root.constant->isAssumed();
    return root.isFixed && !isAssumed && asked.dtype == root.dtype &&
           (asked.residence != Residence::Alias ||
            (!root.constant && elementCount(asked.extents) <= elementCount(root.extents)));
}

} // namespace

bool isFixedNearby(const Graph& graph, ValueId value) {
    int looks = 32;
    return isFixedWithin(graph, value, looks);
}

std::vector<bool> fixedValues(const Graph& graph, const std::function<bool(ValueId)>& isGiven) {
    std::vector<bool> out(graph.valueBound(), false);
    for (ValueId id : graph.values())
        out[id.index()] = isConstantInAllRuns(graph, id) || isGiven(id);
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        const bool isFixed =
            makesTheSame(node, [&](ValueId input) -> bool { return out[input.index()]; });
        for (ValueId output : node.outputs)
            if (output.valid())
                out[output.index()] = isFixed;
    }
    return out;
}

std::vector<bool> fixedValues(const Graph& graph, const PlanOptions& options) {
    if (arePrepared(options))
        return fixedValues(graph, [&](ValueId value) {
            return options.fixedInputs.contains(graph.value(value).name) &&
                   !graph.producer(value).valid();
        });
    std::vector<bool> constants(graph.valueBound(), false);
    for (ValueId id : graph.values())
        constants[id.index()] = graph.isConstant(id);
    return constants;
}

bool areOnce(const Graph& graph, const std::vector<bool>& fixed,
             const std::vector<ValueId>& results) {
    return std::all_of(results.begin(), results.end(), [&](ValueId result) {
        return !result.valid() || (fixed[result.index()] && !graph.isGraphOutput(result));
    });
}

void orderFixedFirst(const Graph& graph, std::vector<PlannedNode>& nodes,
                     const PlanOptions& options) {
    const std::vector<bool> fixed = fixedValues(graph, options);
    std::stable_partition(nodes.begin(), nodes.end(), [&](const PlannedNode& planned) {
        const std::vector<ValueId>& outputs = graph.node(planned.node).outputs;
        return std::all_of(outputs.begin(), outputs.end(), [&](ValueId output) {
            return !output.valid() || fixed[output.index()];
        });
    });
}

void findFixed(Plan& plan, const PlanOptions& options) {
    const bool isPrepared = arePrepared(options);
    for (PlanValue& value : plan.values)
        value.isFixed =
            value.residence == Residence::Constant ||
            (value.residence == Residence::Input && options.fixedInputs.contains(value.name));
    for (const Step& step : plan.steps) {
        const bool isOnce =
            isPrepared && !step.inputs.empty() &&
            !hasTrait(plan.graph->node(step.node).op, Trait::ControlFlow) &&
            std::all_of(step.inputs.begin(), step.inputs.end(),
                        [&](uint32_t input) { return isFound(plan, input); }) &&
            std::all_of(step.outputs.begin(), step.outputs.end(), [&](uint32_t output) {
                return plan.values[output].residence == Residence::Arena;
            });
        for (uint32_t output : step.outputs)
            plan.values[output].isFixed = isOnce;
    }
    for (uint32_t value = 0; value < plan.values.size(); ++value)
        if (plan.values[value].residence == Residence::Alias)
            plan.values[value].isFixed = isFound(plan, value);
}

} // namespace planner

} // namespace fuselage
