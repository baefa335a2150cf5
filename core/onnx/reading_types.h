// SPDX-License-Identifier: Apache-2.0
// Types of the values of a graph that is still being read: what the file declares, else what the
// nodes so far say. An operator's body is chosen by them, and a body that stays one node takes
// those of its inputs. Inference proper, which also finds contradictions, is core/passes.
#pragma once

#include "core/graph/graph.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace fuselage::model_io {

class ReadingTypes {
public:
    /// `graph` must outlive it, and may grow meanwhile.
    explicit ReadingTypes(const Graph& graph, int depth = 0) : m_graph(graph), m_depth(depth) {}

    /// Looks at the nodes that came since it was asked last. A type without a shape, or of no
    /// element type, where nothing says more.
    const Type& of(ValueId id);

private:
    class Context;

    void give(ValueId id, const Type& type);
    void look(NodeId id);
    std::vector<Type> outputsOf(const Graph& body, const std::vector<Type>& inputs,
                                const std::vector<ValueId>& captured) const;
    void refresh(ValueId id);
    const Type& known(ValueId id) const;
    std::optional<Shape> contentsOf(ValueId id) const;

    const Graph& m_graph;
    int m_depth;       ///< in how many graphs it lies that were looked at
    size_t m_next = 0; ///< index of the first node that was not looked at
    std::unordered_map<ValueId, Type> m_types;
    std::unordered_map<ValueId, Shape> m_contents; ///< of small integer values
};

} // namespace fuselage::model_io
