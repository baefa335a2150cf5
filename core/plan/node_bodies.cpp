// SPDX-License-Identifier: Apache-2.0
// What phases share that put more work into a node of the planned graph.
#include "core/graph/subgraph.h"
#include "core/plan/planner_internal.h"

#include <unordered_map>

namespace fuselage::planner {

LowerRequest requestFor(const Graph& graph, const std::vector<NodeId>& nodes,
                        const std::vector<ValueId>& outputs) {
    Cut cut = cutOut(graph, nodes, outputs);
    LowerRequest out;
    for (ValueId input : cut.inputs)
        out.constants.push_back(graph.value(input).constant);
    out.operands = std::move(cut.inputs);
    out.results = std::move(cut.outputs);
    out.body = withoutFused(std::make_shared<const Graph>(std::move(cut.body)));
    return out;
}

void becomeFused(Graph& graph, NodeId id, const LowerRequest& request) {
    const std::vector<ValueId>& operands = request.operands;
    for (uint32_t i = 0; i < operands.size(); ++i)
        if (i < graph.node(id).inputs.size())
            graph.setInput(id, i, operands[i]);
        else
            graph.appendInput(id, operands[i]);
    graph.eraseInputsFrom(id, static_cast<uint32_t>(operands.size()));
    Node& node = graph.edit(id);
    if (node.op != Op::Fused)
        node.customOp = rowOf(node.op).name;
    node.op = Op::Fused;
    node.attributes = {};
    node.explicitInputs = static_cast<uint32_t>(operands.size());
    node.body = request.body;
}

void adopt(std::shared_ptr<const Graph>& graph, std::shared_ptr<const Graph> changed,
           std::vector<PlannedNode>& nodes) {
    if (changed == graph)
        return;
    graph = std::move(changed);
    std::unordered_map<NodeId, size_t> at;
    for (size_t i = 0; i < nodes.size(); ++i)
        at[nodes[i].node] = i;
    std::vector<PlannedNode> out;
    for (NodeId node : topologicalOrder(*graph))
        out.push_back(std::move(nodes[at.at(node)]));
    nodes = std::move(out);
}

} // namespace fuselage::planner
