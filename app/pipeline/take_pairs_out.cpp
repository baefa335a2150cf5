// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/take_pairs_out.h"

#include "core/ops/evaluate_stored.h"

#include <algorithm>
#include <tuple>

namespace fuselage::app {

namespace {

/// The constant that a DequantizeLinear of constants computes.
Result<TensorPtr> dequantised(const Graph& graph, const Node& node, ThreadPool& threads) {
    std::vector<StoredOperand> operands;
    for (ValueId input : node.inputs)
        operands.emplace_back(input.valid() ? graph.value(input).constant : nullptr);
    auto results = evaluateStored(node, operands, threads);
    if (!results)
        return failure(results.error());
    return results->front();
}

bool allConstant(const Graph& graph, const Node& node) {
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return !input.valid() || graph.isConstant(input); });
}

} // namespace

Result<std::vector<FoundPair>> takePairsOut(Graph& graph) {
    ThreadPool threads;
    std::vector<FoundPair> out;
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        if (node.op != Op::DequantizeLinear)
            continue;
        const ValueId stored = node.inputs[0], made = node.outputs[0];
        const NodeId maker = graph.producer(stored);
        const bool constant = allConstant(graph, node);
        const bool paired = maker.valid() && graph.node(maker).op == Op::QuantizeLinear;
        if (graph.isGraphOutput(made) || (!constant && !paired))
            continue;
        const auto scales = graph.value(node.inputs[1]).type.elementCount();
        std::optional<int64_t> axis;
        if (!scales || *scales != 1)
            axis = node.attributes.integer("axis", 1);
        for (const Use& use : graph.value(made).uses)
            out.push_back({graph.node(use.node).name, use.slot, graph.value(stored).type.dtype,
                           axis, constant});
        if (constant) {
            auto tensor = dequantised(graph, node, threads);
            if (!tensor)
                return failure(tensor.error());
            graph.makeConstant(made, *tensor);
        } else {
            graph.replaceUses(made, graph.node(maker).inputs[0]);
        }
    }
    graph.removeDead();
    std::sort(out.begin(), out.end(), [](const FoundPair& a, const FoundPair& b) {
        return std::tie(a.node, a.operand) < std::tie(b.node, b.operand);
    });
    return out;
}

} // namespace fuselage::app
