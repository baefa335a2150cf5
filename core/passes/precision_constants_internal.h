// SPDX-License-Identifier: Apache-2.0
// What float32 constants hold, read once for all of the precision pass.
#pragma once

#include "core/graph/graph.h"

#include <limits>
#include <unordered_map>

namespace fuselage {

/// The largest finite number of a 16-bit type.
double largestOf(DType storage);

bool isFloat32(const Graph& graph, ValueId id);

/// Of the finite elements.
struct ConstantRange {
    float extreme = 0; ///< the one of largest magnitude
    double highest = -std::numeric_limits<double>::infinity();
    double leastMagnitude = std::numeric_limits<double>::infinity(); ///< zeros left out
    bool outside = false; ///< `extreme` would become infinite in the type

    /// What is outside stands for minus infinity in a mask: it is -1e8 or lower, and all that is
    /// made of it by adding, multiplying, selecting and moving is read by a Softmax. The type's
    /// lowest number says the same.
    bool isMaskFill = false;
};

class ConstantRanges {
public:
    ConstantRanges(const Graph& graph, DType storage) : m_graph(graph), m_storage(storage) {}

    /// Of a float32 constant; good while this stands.
    const ConstantRange& of(ValueId constant);

private:
    bool isMaskFill(ValueId constant) const;

    const Graph& m_graph;
    const DType m_storage;
    std::unordered_map<ValueId, ConstantRange> m_known;
};

} // namespace fuselage
