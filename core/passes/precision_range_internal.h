// SPDX-License-Identifier: Apache-2.0
// Which values are out of a 16-bit type's range, so that what reads them computes in float32 too (a
// Cast back would make infinities of them): those that a weight outside of the range takes out of
// it as well, and sums of integers.
#pragma once

#include "core/passes/precision_constants_internal.h"
#include "core/support/reason.h"

#include <optional>
#include <vector>

namespace fuselage {

/// An estimate, since no data is seen: ordinary activations are taken to be 64 times smaller than
/// the largest number of the type.
class RangeEstimate {
public:
    RangeEstimate(const Graph& graph, DType storage, ConstantRanges& constants)
        : m_graph(graph), m_storage(storage), m_constants(constants), m_values(graph.valueBound()) {
    }

    /// Why the node must read its operands in float32. Nodes are asked in topological order, each
    /// once.
    std::optional<Reason> refusal(const Node& node);

private:
    /// Of a value, against ordinary activations.
    struct Size {
        double times = 1;
        ValueId weight;         ///< the constant that made it large; none: ordinary
        bool onlyBelow = false; ///< the large ones are negative
    };

    bool isLarge(const Size& size) const;
    bool holdsIntegerSums(ValueId id) const;
    Size sizeOf(ValueId id);
    Size resultOf(const Node& node, const std::vector<Size>& operands);

    const Graph& m_graph;
    DType m_storage;
    ConstantRanges& m_constants;
    std::vector<Size> m_values; ///< of results
};

} // namespace fuselage
