// SPDX-License-Identifier: Apache-2.0
#include "core/passes/open_shapes.h"

#include "core/ops/op_table.h"

#include <algorithm>
#include <array>

namespace fuselage {

namespace {

/// Inputs that say how large a result is, by what operator schemas call them: lengths, places, and
/// which branch makes it.
bool namesShape(std::string_view schemaName) {
    constexpr std::array<std::string_view, 18> names{
        "K",       "axes",   "cond",  "delta", "depth", "ends",  "k",     "limit",  "pads",
        "repeats", "scales", "shape", "size",  "sizes", "split", "start", "starts", "steps"};
    return std::find(names.begin(), names.end(), schemaName) != names.end();
}

} // namespace

bool isStaticShape(const Type& type) {
    return type.kind != TypeKind::Tensor || type.elementCount().has_value();
}

bool givesShape(const Node& node, size_t input) {
    if (node.op == Op::Fused && node.body && input < node.body->inputs().size()) {
        const auto& uses = node.body->value(node.body->inputs()[input]).uses;
        return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
            return givesShape(node.body->node(use.node), use.slot);
        });
    }
    const auto& names = inputNamesOf(node.op);
    return input < node.explicitInputs && input < names.size() && namesShape(names[input]);
}

bool opensShape(const Graph& graph, const Node& node) {
    const auto isKnown = [&](ValueId id) {
        return !id.valid() || isStaticShape(graph.value(id).type);
    };
    return std::all_of(node.inputs.begin(), node.inputs.end(), isKnown) &&
           !std::all_of(node.outputs.begin(), node.outputs.end(), isKnown);
}

std::vector<NodeId> firstOpeners(const Graph& graph) {
    std::vector<NodeId> out;
    std::vector<bool> isBehind(graph.valueBound(), false); // what an opener makes, or leads to
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        const bool behind = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
            return input.valid() && isBehind[input.index()];
        });
        const bool opens = !behind && opensShape(graph, node);
        if (opens)
            out.push_back(id);
        for (ValueId output : node.outputs)
            if (output.valid())
                isBehind[output.index()] = behind || opens;
    }
    return out;
}

} // namespace fuselage
