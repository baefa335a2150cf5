// SPDX-License-Identifier: Apache-2.0
#include "core/passes/sequences.h"

#include "core/graph/captures.h"
#include "core/passes/body_results.h"
#include "core/passes/loops.h"

#include <algorithm>

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
    if (node.op == Op::Loop)
        return noteLoop(id);
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

/// Whether everything that reads the sequence can be told by rows of a tensor.
bool KnownSequences::areReadersOfTensors(ValueId sequence, bool isEmptyFirst) const {
    const auto& uses = m_graph.value(sequence).uses;
    return !uses.empty() && !m_graph.isGraphOutput(sequence) &&
           std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
               const Node& reader = m_graph.node(use.node);
               return use.slot == 0 &&
                      (reader.op == Op::ConcatFromSequence || reader.op == Op::SequenceLength ||
                       (reader.op == Op::SequenceAt && isEmptyFirst));
           });
}

void KnownSequences::noteLoop(NodeId loop) {
    for (size_t i = 0; carriedInput + i < m_graph.node(loop).explicitInputs; ++i) {
        const Node& node = m_graph.node(loop);
        if (i >= node.outputs.size() || !node.outputs[i].valid())
            continue;
        const ValueId sequence = node.outputs[i];
        const std::vector<ValueId>* first = elementsOf(node.inputs[carriedInput + i]);
        if (!first || !areReadersOfTensors(sequence, first->empty()))
            continue;
        const ValueId tensor = appendedTo(m_graph, loop, i);
        if (!tensor.valid())
            continue;
        const Extents row = *subgraphsOf(node)[0].graph->value(tensor).type.extents();
        if (std::find(row.begin(), row.end(), 0) != row.end())
            continue; // joined rows would have to be counted by a Reshape to [0,-1]
        const ValueId stacked = resultOf(m_graph, loop, "body", tensor, node.name + "_stacked");
        m_appended[sequence] = {*first, stacked, row};
    }
}

/// The rows side by side along an axis of theirs, or a new one.
ValueId KnownSequences::joinedRows(WrittenSteps& steps, const Appended& appended, int64_t axis,
                                   bool isNewAxis) const {
    const auto rank = static_cast<int64_t>(appended.row.size());
    Type type; // inference tells its shape
    type.dtype = m_graph.value(appended.rows).type.dtype;
    ValueId out = appended.rows;
    if (axis > 0) {
        std::vector<int64_t> order;
        for (int64_t i = 1; i <= rank; ++i)
            order.push_back(i);
        order.insert(order.begin() + axis, 0);
        Attributes attributes;
        attributes.set("perm", order);
        out = steps.add(Op::Transpose, {out}, type, std::move(attributes));
    }
    if (isNewAxis)
        return out;
    Extents joined = appended.row;
    joined[static_cast<size_t>(axis)] = -1;
    return steps.add(Op::Reshape, {out, steps.constant(Tensor::ofInts(joined))}, type);
}

std::optional<ValueId> KnownSequences::tensorOfAppended(NodeId id, const Appended& appended) {
    const Node& node = m_graph.node(id);
    const Type type = m_graph.value(node.outputs[0]).type;
    Type any; // inference tells its shape
    any.dtype = DType::Int64;
    WrittenSteps steps(m_graph, node);
    Attributes alongFirst;
    alongFirst.set("axis", int64_t{0});
    if (node.op == Op::SequenceAt)
        return steps.add(Op::Gather, {appended.rows, node.inputs[1]}, type, alongFirst);
    if (node.op == Op::SequenceLength) {
        Tensor zero(DType::Int64, {}), before(DType::Int64, {});
        before.setInt(0, static_cast<int64_t>(appended.first.size()));
        const ValueId shape = steps.add(Op::Shape, {appended.rows}, any);
        const ValueId rows = steps.add(Op::Gather, {shape, steps.constant(zero)}, type, alongFirst);
        return steps.add(Op::Add, {rows, steps.constant(before)}, type);
    }
    const bool isNewAxis = node.attributes.integer("new_axis") != 0;
    const auto rank = static_cast<int64_t>(appended.row.size()) + (isNewAxis ? 1 : 0);
    int64_t axis = node.attributes.integer("axis");
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return std::nullopt;
    std::vector<ValueId> parts;
    any.dtype = m_graph.value(appended.rows).type.dtype;
    for (ValueId first : appended.first)
        parts.push_back(isNewAxis ? steps.add(Op::Unsqueeze,
                                              {first, steps.constant(Tensor::ofInts({axis}))}, any)
                                  : first);
    parts.push_back(joinedRows(steps, appended, axis, isNewAxis));
    if (parts.size() == 1)
        return parts[0];
    Attributes attributes;
    attributes.set("axis", axis);
    return steps.add(Op::Concat, parts, type, std::move(attributes));
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
    if (const auto appended = m_appended.find(node.inputs[0]); appended != m_appended.end())
        return tensorOfAppended(id, appended->second);
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
