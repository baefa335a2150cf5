// SPDX-License-Identifier: Apache-2.0
// Sequences of tensors whose elements are known one by one: what takes an element out or joins them
// needs no sequence.
#pragma once

#include "core/passes/simplify.h"

#include <unordered_map>
#include <vector>

namespace fuselage {

/// Of one graph, whose nodes are shown to it in topological order.
class KnownSequences {
public:
    KnownSequences(Graph& graph, const ConstantLookup& constantOf)
        : m_graph(graph), m_constantOf(constantOf) {}

    /// Remembers the elements of a sequence that the node makes.
    void note(NodeId node);

    /// What the node's output certainly is: an element of SequenceAt, the number of SequenceLength,
    /// the Concat that a ConcatFromSequence is. None for other nodes and unknown sequences.
    std::optional<ValueId> tensorOf(NodeId node);

    /// Null: nobody knows.
    const std::vector<ValueId>* elementsOf(ValueId sequence) const;

private:
    std::optional<size_t> place(const Node& node, size_t operand, size_t bound, size_t count) const;
    std::optional<ValueId> joined(NodeId node, const std::vector<ValueId>& elements);

    Graph& m_graph;
    const ConstantLookup& m_constantOf;
    std::unordered_map<ValueId, std::vector<ValueId>> m_elements;
};

} // namespace fuselage
