// SPDX-License-Identifier: Apache-2.0
// What values are made by, all the way back.
#pragma once

#include "core/graph/graph.h"

#include <unordered_set>
#include <vector>

namespace fuselage {

/// The nodes that make the values, back to inputs, constants and what `isGiven` says of a value
/// that is there already.
template <typename IsGiven>
std::unordered_set<NodeId> makersOf(const Graph& graph, std::vector<ValueId> values,
                                    const IsGiven& isGiven) {
    std::unordered_set<NodeId> out;
    while (!values.empty()) {
        const NodeId maker = graph.producer(values.back());
        values.pop_back();
        if (maker.valid() && out.insert(maker).second)
            for (ValueId input : graph.node(maker).inputs)
                if (input.valid() && !isGiven(input))
                    values.push_back(input);
    }
    return out;
}

inline std::unordered_set<NodeId> makersOf(const Graph& graph, std::vector<ValueId> values) {
    return makersOf(graph, std::move(values), [](ValueId) { return false; });
}

} // namespace fuselage
