// SPDX-License-Identifier: Apache-2.0
// Nodes that take the place of one, private to core/passes: each is named after it and stands for
// it.
#pragma once

#include "core/graph/graph.h"

#include <span>
#include <string>
#include <vector>

namespace fuselage {

/// Adds the steps of one node, each with its type.
class WrittenSteps {
public:
    WrittenSteps(Graph& graph, const Node& node);

    ValueId constant(const Tensor& tensor);
    ValueId add(Op op, std::vector<ValueId> inputs, Type type, Attributes attributes = {});

    /// Values side by side along an axis that they do not have yet.
    ValueId stack(std::vector<ValueId> values, int64_t axis, Type type);

    /// These values take the place of the node's outputs, whose names they get; the node goes.
    void replace(NodeId node, std::span<const ValueId> outputs);

    const std::vector<NodeId>& nodes() const { return m_nodes; }

    const Provenance& provenance() const { return m_provenance; }

private:
    Graph& m_graph;
    std::string m_name;
    Provenance m_provenance;
    std::vector<NodeId> m_nodes;
};

} // namespace fuselage
