// SPDX-License-Identifier: Apache-2.0
#include "core/passes/written_steps.h"

#include "core/graph/text.h"

namespace fuselage {

WrittenSteps::WrittenSteps(Graph& graph, const Node& node)
    : m_graph(graph), m_name(node.name), m_provenance(node.provenance) {
    if (m_provenance.sources.empty())
        m_provenance.sources = {node.name};
}

ValueId WrittenSteps::constant(const Tensor& tensor) {
    return m_graph.addConstant(m_name + "_constant", std::make_shared<const Tensor>(tensor));
}

ValueId WrittenSteps::add(Op op, std::vector<ValueId> inputs, Type type, Attributes attributes) {
    const std::string name = m_name + "_" + nameOf(op);
    const NodeId node =
        m_graph.addNode({op, name, std::move(inputs), {name}, std::move(attributes), m_provenance});
    m_nodes.push_back(node);
    const ValueId out = m_graph.node(node).outputs[0];
    m_graph.setType(out, std::move(type));
    return out;
}

ValueId WrittenSteps::stack(std::vector<ValueId> values, int64_t axis, Type type) {
    for (ValueId& value : values) {
        Type raised; // inference tells its shape
        raised.dtype = m_graph.value(value).type.dtype;
        value = add(Op::Unsqueeze, {value, constant(Tensor::ofInts({axis}))}, std::move(raised));
    }
    Attributes attributes;
    attributes.set("axis", axis);
    return add(Op::Concat, std::move(values), std::move(type), std::move(attributes));
}

void WrittenSteps::replace(NodeId id, std::span<const ValueId> outputs) {
    const std::vector<ValueId> old = m_graph.node(id).outputs;
    for (size_t i = 0; i < old.size(); ++i) {
        if (!old[i].valid())
            continue;
        m_graph.replaceUses(old[i], outputs[i]);
        m_graph.takeName(outputs[i], old[i]);
    }
    m_graph.removeNode(id);
}

} // namespace fuselage
