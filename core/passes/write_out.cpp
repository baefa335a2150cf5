// SPDX-License-Identifier: Apache-2.0
#include "core/passes/write_out.h"

#include "core/graph/subgraph.h"
#include "core/ops/gather_matmul.h"
#include "core/passes/passes.h"
#include "core/passes/written_steps.h"

#include <algorithm>

namespace fuselage {

namespace {

bool isComposite(Op op) {
    return op == Op::DynamicQuantizeLinear || op == Op::GatherMatMul;
}

const Type number{TypeKind::Tensor, DType::Float32, Shape{}};

/// In float32 unless said.
class Steps : public WrittenSteps {
public:
    using WrittenSteps::WrittenSteps;

    ValueId constant(float value) { return WrittenSteps::constant(Tensor::scalar(value)); }

    ValueId add(Op op, std::vector<ValueId> inputs, const Type& type = number,
                Attributes attributes = {}) {
        return WrittenSteps::add(op, std::move(inputs), type, std::move(attributes));
    }
};

Attributes with(const char* name, int64_t value) {
    Attributes out;
    out.set(name, value);
    return out;
}

/// Scale, zero point as a number, and that as the type of `stored`.
struct Scale {
    ValueId scale, zero;
};

Scale scaleOf(Steps& steps, ValueId x, DType stored) {
    const Type flag{TypeKind::Tensor, DType::Bool, Shape{}};
    const ValueId none = steps.constant(0), most = steps.constant(255);
    const ValueId low =
        steps.add(Op::Min, {steps.add(Op::ReduceMin, {x}, number, with("keepdims", 0)), none});
    const ValueId high =
        steps.add(Op::Max, {steps.add(Op::ReduceMax, {x}, number, with("keepdims", 0)), none});
    const ValueId range = steps.add(Op::Sub, {high, low});
    const ValueId wide = steps.add(Op::Greater, {range, none}, flag);
    const ValueId scale =
        steps.add(Op::Where, {wide, steps.add(Op::Div, {range, most}), steps.constant(1)});
    const ValueId origin =
        steps.add(Op::Round, {steps.add(Op::Div, {steps.add(Op::Neg, {low}), scale})});
    // Not a number where the range is infinite.
    const ValueId same = steps.add(Op::Equal, {origin, origin}, flag);
    const ValueId place = steps.add(Op::Where, {same, origin, none});
    const ValueId zero =
        steps.add(Op::Cast, {steps.add(Op::Clip, {place, none, most})},
                  {TypeKind::Tensor, stored, Shape{}}, with("to", onnxNumber(stored)));
    return {scale, zero};
}

/// The steps in place of the node.
Steps writeOut(Graph& graph, NodeId id) {
    const Node node = graph.node(id);
    const DType stored = graph.value(node.outputs[0]).type.dtype;
    const Type type = graph.value(node.outputs[0]).type;
    Steps steps(graph, node);
    const Scale scale = scaleOf(steps, node.inputs[0], stored);
    const ValueId y =
        steps.add(Op::QuantizeLinear, {node.inputs[0], scale.scale, scale.zero}, type);
    const ValueId made[] = {y, scale.scale, scale.zero};
    steps.replace(id, made);
    return steps;
}

std::vector<NodeId> compositesOf(const Graph& graph) {
    std::vector<NodeId> out;
    for (NodeId id : graph.nodes())
        if (isComposite(graph.node(id).op))
            out.push_back(id);
    return out;
}

/// The body of a GatherMatMul for the sizes that `graph` knows: what they decide is computed.
std::shared_ptr<const Graph> bodyOf(const Graph& graph, const Node& node) {
    auto body =
        std::make_shared<Graph>(gatherMatMulBody(graph, node, choosesFew(graph, node))->clone());
    Progress silent;
    if (!prepareGraph(*body, silent)) // then the planner says what is wrong with it
        inferShapes(*body);
    return body;
}

/// In a body of a fused node: its steps in place of the node.
void inlineComposite(Graph& graph, NodeId id) {
    const Node node = graph.node(id);
    if (node.op == Op::DynamicQuantizeLinear) {
        writeOut(graph, id);
        return;
    }
    const std::vector<ValueId> made = inlineBody(graph, *bodyOf(graph, node), node.inputs);
    graph.replaceUses(node.outputs[0], made[0]);
    graph.takeName(made[0], node.outputs[0]);
    graph.removeNode(id);
}

} // namespace

bool hasComposite(const Graph& graph) {
    const std::vector<NodeId> nodes = graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
        const Node& node = graph.node(id);
        return isComposite(node.op) || (node.op == Op::Fused && hasComposite(*node.body));
    });
}

void writeOutComposites(Graph& graph) {
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        if (node.op != Op::Fused || !hasComposite(*node.body))
            continue;
        auto body = std::make_shared<Graph>(node.body->clone());
        for (NodeId inner : compositesOf(*body))
            inlineComposite(*body, inner);
        graph.edit(id).body = std::move(body);
    }
    for (NodeId id : compositesOf(graph)) {
        const std::string name = graph.node(id).name;
        if (graph.node(id).op == Op::GatherMatMul) {
            auto body = bodyOf(graph, graph.node(id));
            Node& node = graph.edit(id);
            node.op = Op::Fused;
            node.customOp = nameOf(Op::GatherMatMul);
            node.body = std::move(body);
            continue;
        }
        const Steps steps = writeOut(graph, id);
        const std::vector<ValueId> outputs = escapingValues(graph, steps.nodes());
        replaceByFused(graph, steps.nodes(), cutOut(graph, steps.nodes(), outputs), name,
                       steps.provenance());
    }
}

} // namespace fuselage
