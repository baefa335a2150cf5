// SPDX-License-Identifier: Apache-2.0
#include "core/graph/verify.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

class Verifier {
public:
    explicit Verifier(const Graph& graph) : m_graph(graph), m_given(graph.valueBound(), false) {
        for (ValueId id : graph.inputs())
            m_given[id.index()] = true;
        for (ValueId id : graph.captures())
            m_given[id.index()] = true;
    }

    Result<void> run() {
        for (ValueId id : m_graph.values())
            if (auto ok = checkValue(id); !ok)
                return ok;
        for (NodeId id : m_graph.nodes())
            if (auto ok = checkNode(id); !ok)
                return ok;
        for (ValueId id : m_graph.outputs())
            if (!usable(id))
                return failure("graph.undefined", "a graph output has no value");
        return checkOrder();
    }

private:
    /// Alive, and made by a node, an input, a capture or a constant.
    bool usable(ValueId id) const {
        if (!id.valid() || id.index() >= m_graph.valueBound() || !m_graph.alive(id))
            return false;
        const Value& value = m_graph.value(id);
        return value.producer.valid() || value.constant || m_given[id.index()];
    }

    Result<void> checkValue(ValueId id) const {
        const Value& value = m_graph.value(id);
        if (m_graph.findValue(value.name) != id)
            return failure("graph.name", "two values have one name", value.name);
        const auto isNegative = [](const Dim& dim) { return dim.isNumber() && dim.value() < 0; };
        if (const auto& shape = value.type.shape)
            if (std::any_of(shape->begin(), shape->end(), isNegative))
                return failure("graph.shape", "a dimension is negative: " + value.type.text(),
                               value.name, "leave out what is not known: Dim::unknown()");
        if (value.producer.valid()) {
            bool made = m_graph.alive(value.producer);
            if (made) {
                const Node& maker = m_graph.node(value.producer);
                made = value.outputSlot < maker.outputs.size() &&
                       maker.outputs[value.outputSlot] == id;
            }
            if (!made || value.constant)
                return failure("graph.producer", "the producer does not make this value",
                               value.name);
        }
        for (const Use& use : value.uses) {
            bool reads = m_graph.alive(use.node);
            if (reads) {
                const Node& reader = m_graph.node(use.node);
                reads = use.slot < reader.inputs.size() && reader.inputs[use.slot] == id;
            }
            if (!reads)
                return failure("graph.uses", "a recorded reader does not read this value",
                               value.name);
        }
        return {};
    }

    Result<void> checkNode(NodeId id) const {
        const Node& node = m_graph.node(id);
        if (node.op >= Op::Count_)
            return failure("graph.operator", "the node's operator is none", node.name);
        if (node.explicitInputs > node.inputs.size())
            return failure("graph.captures", "more explicit inputs than inputs", node.name);
        for (uint32_t slot = 0; slot < node.inputs.size(); ++slot) {
            ValueId input = node.inputs[slot];
            if (!input.valid())
                continue;
            if (!usable(input))
                return failure("graph.undefined", fmt::format("input {} is never made", slot),
                               node.name);
            // Long lists of uses belong to shared constants: looking there would be quadratic.
            const auto& uses = m_graph.value(input).uses;
            if (uses.size() <= 64 &&
                std::find(uses.begin(), uses.end(), Use{id, slot}) == uses.end())
                return failure("graph.uses", fmt::format("input {} is not recorded as a use", slot),
                               node.name);
        }
        for (ValueId output : node.outputs)
            if (output.valid() && (!m_graph.alive(output) || m_graph.value(output).producer != id))
                return failure("graph.producer", "an output belongs to another node", node.name);
        return checkSubgraphs(node);
    }

    Result<void> checkSubgraphs(const Node& node) const {
        size_t captured = 0;
        for (const auto& [name, value] : node.attributes) {
            const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&value);
            if (!subgraph)
                continue;
            if (!*subgraph)
                return failure("graph.captures", fmt::format("`{}` is empty", name), node.name);
            captured += (*subgraph)->captures().size();
            if (auto ok = Verifier(**subgraph).run(); !ok)
                return within(node, ok.error());
        }
        if (node.explicitInputs + captured != node.inputs.size())
            return failure("graph.captures",
                           fmt::format("{} captured inputs, but the subgraphs read {}",
                                       node.inputs.size() - node.explicitInputs, captured),
                           node.name);
        if ((node.op == Op::Fused) != (node.body != nullptr))
            return failure("graph.body", "only a fused node has a body, and it must have one",
                           node.name);
        if (!node.body)
            return {};
        if (node.body->inputs().size() != node.inputs.size() ||
            node.body->outputs().size() != node.outputs.size())
            return failure("graph.body", "inputs or outputs are not parallel to the body's",
                           node.name);
        if (auto ok = Verifier(*node.body).run(); !ok)
            return within(node, ok.error());
        return {};
    }

    static Failure within(const Node& node, Error error) {
        error.where = node.name + "/" + error.where;
        return failure(std::move(error));
    }

    Result<void> checkOrder() const {
        std::vector<NodeId> order = topologicalOrder(m_graph);
        if (order.size() == m_graph.nodeCount())
            return {};
        std::vector<bool> placed(m_graph.nodeBound(), false);
        for (NodeId id : order)
            placed[id.index()] = true;
        for (NodeId id : m_graph.nodes())
            if (!placed[id.index()])
                return failure("graph.cycle", "the node is on a cycle or behind one",
                               m_graph.node(id).name);
        return {};
    }

    const Graph& m_graph;
    std::vector<bool> m_given; ///< inputs and captures, by value index
};

} // namespace

Result<void> verify(const Graph& graph) {
    return Verifier(graph).run();
}

} // namespace fuselage
