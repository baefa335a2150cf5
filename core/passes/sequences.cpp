// SPDX-License-Identifier: Apache-2.0
#include "core/passes/sequences.h"

#include "core/passes/written_steps.h"

namespace fuselage {

const std::vector<ValueId>* KnownSequences::elementsOf(ValueId sequence) const {
    const auto found = m_elements.find(sequence);
    return found == m_elements.end() ? nullptr : &found->second;
}

/// A constant position below `bound`; negative ones count back from `count`. None where it is
/// outside.
std::optional<size_t> KnownSequences::place(const Node& node, size_t operand, size_t bound,
                                            size_t count) const {
    const TensorPtr given = m_constantOf(node.inputs[operand]);
    if (!given || given->elementCount() != 1 || !isInteger(given->dtype()))
        return std::nullopt;
    const int64_t at = given->intAt(0) + (given->intAt(0) < 0 ? static_cast<int64_t>(count) : 0);
    return at >= 0 && at < static_cast<int64_t>(bound) ? std::optional(static_cast<size_t>(at))
                                                       : std::nullopt;
}

void KnownSequences::note(NodeId id) {
    const Node& node = m_graph.node(id);
    if (node.outputs.empty() || !node.outputs[0].valid())
        return;
    const ValueId made = node.outputs[0];
    if (node.op == Op::SequenceEmpty) {
        m_elements[made] = {};
        return;
    }
    if (node.op == Op::SequenceConstruct) {
        m_elements[made] = node.inputs;
        return;
    }
    if (node.op != Op::SequenceInsert && node.op != Op::SequenceErase)
        return;
    const std::vector<ValueId>* known = elementsOf(node.inputs[0]);
    if (!known)
        return;
    std::vector<ValueId> elements = *known;
    const bool inserts = node.op == Op::SequenceInsert;
    const size_t operand = inserts ? 2 : 1;
    std::optional<size_t> at = inserts ? elements.size() : elements.size() - 1; // at the end
    if (operand < node.inputs.size() && node.inputs[operand].valid())
        at = place(node, operand, elements.size() + (inserts ? 1 : 0), elements.size());
    if (!at || (!inserts && *at >= elements.size()))
        return;
    const auto where = elements.begin() + static_cast<std::ptrdiff_t>(*at);
    if (inserts)
        elements.insert(where, node.inputs[1]);
    else
        elements.erase(where);
    m_elements[made] = std::move(elements);
}

std::optional<ValueId> KnownSequences::joined(NodeId id, const std::vector<ValueId>& elements) {
    const Node& node = m_graph.node(id);
    const Type type = m_graph.value(node.outputs[0]).type;
    const int64_t axis = node.attributes.integer("axis");
    const bool isNewAxis = node.attributes.integer("new_axis") != 0;
    WrittenSteps steps(m_graph, node);
    if (isNewAxis)
        return steps.stack(elements, axis, type);
    Attributes attributes;
    attributes.set("axis", axis);
    return steps.add(Op::Concat, elements, type, std::move(attributes));
}

std::optional<ValueId> KnownSequences::tensorOf(NodeId id) {
    const Node& node = m_graph.node(id);
    if ((node.op != Op::SequenceAt && node.op != Op::SequenceLength &&
         node.op != Op::ConcatFromSequence) ||
        node.inputs.empty())
        return std::nullopt;
    const std::vector<ValueId>* elements = elementsOf(node.inputs[0]);
    if (!elements)
        return std::nullopt;
    if (node.op == Op::SequenceLength) {
        Tensor length(DType::Int64, {});
        length.setInt(0, static_cast<int64_t>(elements->size()));
        return m_graph.addConstant(m_graph.freshName(node.name + "_length"),
                                   std::make_shared<Tensor>(std::move(length)));
    }
    if (node.op == Op::SequenceAt) {
        const auto at = place(node, 1, elements->size(), elements->size());
        return at ? std::optional((*elements)[*at]) : std::nullopt;
    }
    return elements->empty() ? std::nullopt : joined(id, *elements);
}

} // namespace fuselage
