// SPDX-License-Identifier: Apache-2.0
// Sequences of tensors whose elements are known one by one, or that a Loop appends to: what takes
// an element out or joins them needs no sequence.
#pragma once

#include "core/passes/simplify.h"
#include "core/passes/written_steps.h"

#include <unordered_map>
#include <vector>

namespace fuselage {

/// Of one graph, whose nodes are shown to it in topological order.
class KnownSequences {
public:
    KnownSequences(Graph& graph, const ConstantLookup& constantOf)
        : m_graph(graph), m_constantOf(constantOf) {}

    /// Remembers the elements of a sequence that the node makes. A Loop that appends to one, of
    /// which only its tensors are read, gets a result with them all.
    void note(NodeId node);

    /// What the node's output certainly is: an element of SequenceAt, the number of SequenceLength,
    /// the Concat that a ConcatFromSequence is. None for other nodes and unknown sequences.
    std::optional<ValueId> tensorOf(NodeId node);

    /// Null: nobody knows.
    const std::vector<ValueId>* elementsOf(ValueId sequence) const;

private:
    /// First those known one by one, then the rows of a tensor, as many as a Loop makes.
    struct Appended {
        std::vector<ValueId> first;
        ValueId rows;
        Extents row; ///< extents of one
    };

    void noteLoop(NodeId loop);
    bool areReadersOfTensors(ValueId sequence, bool isEmptyFirst) const;
    std::optional<ValueId> tensorOfAppended(NodeId node, const Appended& appended);
    ValueId joinedRows(WrittenSteps& steps, const Appended& appended, int64_t axis,
                       bool isNewAxis) const;
    std::optional<size_t> place(const Node& node, size_t operand, size_t bound, size_t count) const;
    std::optional<ValueId> joined(NodeId node, const std::vector<ValueId>& elements);

    Graph& m_graph;
    const ConstantLookup& m_constantOf;
    std::unordered_map<ValueId, std::vector<ValueId>> m_elements;
    std::unordered_map<ValueId, Appended> m_appended;
};

} // namespace fuselage
