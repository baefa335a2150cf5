// SPDX-License-Identifier: Apache-2.0
#include "core/passes/shape_inputs.h"

#include "core/graph/makers.h"
#include "core/graph/run_shapes.h"
#include "core/passes/open_shapes.h"

#include <algorithm>
#include <unordered_set>

namespace fuselage {

namespace {

/// Operands whose elements say a shape that is open.
std::vector<ValueId> giversOf(const Graph& graph) {
    std::vector<ValueId> out;
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        const bool isOpen = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) {
            return v.valid() && !isStaticShape(graph.value(v).type);
        });
        for (size_t i = 0; isOpen && i < node.explicitInputs; ++i)
            if (node.inputs[i].valid() && givesShape(node, i))
                out.push_back(node.inputs[i]);
    }
    return out;
}

} // namespace

bool isFewIntegers(DType dtype, int64_t count) {
    return isInteger(dtype) && count <= maxShapeElements;
}

std::vector<size_t> shapeInputs(const Graph& graph) {
    const std::vector<ValueId> givers = giversOf(graph);
    std::unordered_set<ValueId> read(givers.begin(), givers.end());
    for (NodeId id : makersOf(graph, givers))
        read.insert(graph.node(id).inputs.begin(), graph.node(id).inputs.end());
    std::vector<size_t> out;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
        const ValueId input = graph.inputs()[i];
        const Type& type = graph.value(input).type;
        const auto count = type.elementCount();
        if (read.contains(input) && type.kind == TypeKind::Tensor && count &&
            isFewIntegers(type.dtype, *count))
            out.push_back(i);
    }
    return out;
}

void assumeInput(Graph& graph, size_t input, const Tensor& elements) {
    const ValueId given = graph.inputs()[input];
    Tensor seen = elements.clone();
    seen.setAssumed();
    const ValueId constant = graph.addConstant(graph.freshName(graph.value(given).name + "_seen"),
                                               std::make_shared<const Tensor>(std::move(seen)));
    const std::vector<Use> uses = graph.value(given).uses;
    for (const Use& use : uses)
        graph.setInput(use.node, use.slot, constant);
}

} // namespace fuselage
