// SPDX-License-Identifier: Apache-2.0
#include "core/passes/body_results.h"

#include "core/graph/captures.h"
#include "core/passes/loops.h"

#include <memory>
#include <utility>

namespace fuselage {

namespace {

/// A node may leave out the last results of its body.
void nameAllResults(Graph& graph, NodeId node, size_t results) {
    while (graph.node(node).outputs.size() < results)
        graph.appendOutput(node, graph.node(node).name + "_unread");
}

/// What is written for each result that a Scan stacks says nothing of the new one: the first axis,
/// forwards.
void stackForwards(Attributes& attributes) {
    for (const char* name : {"scan_output_axes", "scan_output_directions"})
        if (std::vector<int64_t> each = attributes.integers(name); !each.empty()) {
            each.push_back(0);
            attributes.set(name, std::move(each));
        }
}

} // namespace

bool canBeResult(const Graph& graph, NodeId node, const Graph& body, ValueId inBody) {
    const Type& type = body.value(inBody).type;
    if (!body.producer(inBody).valid() || type.kind != TypeKind::Tensor ||
        type.dtype == DType::Undefined)
        return false;
    const Op op = graph.node(node).op;
    return op == Op::If || ((op == Op::Loop || op == Op::Scan) && type.elementCount().has_value());
}

ValueId resultOf(Graph& graph, NodeId node, const std::string& attribute, ValueId inBody,
                 std::string name) {
    const std::shared_ptr<Graph> body = ownSubgraph(graph, node, attribute);
    Type type; // inference tells its shape
    type.dtype = body->value(inBody).type.dtype;
    const Op op = graph.node(node).op;
    nameAllResults(graph, node, body->outputs().size() - (op == Op::Loop ? carriedOutput : 0));
    body->addOutput(inBody);
    if (op == Op::If) {
        const std::shared_ptr<Graph> other =
            ownSubgraph(graph, node, attribute == "then_branch" ? "else_branch" : "then_branch");
        other->addOutput(
            other->addConstant(name, std::make_shared<const Tensor>(type.dtype, Extents{0})));
    }
    if (op == Op::Scan)
        stackForwards(graph.edit(node).attributes);
    const ValueId out = graph.appendOutput(node, std::move(name));
    graph.setType(out, std::move(type));
    return out;
}

} // namespace fuselage
