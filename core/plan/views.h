// SPDX-License-Identifier: Apache-2.0
// Which operators need no kernel because their result is the operand's memory seen with other
// extents and strides. Pure arithmetic on strides; the planner decides when to use it.
#pragma once

#include "core/graph/graph.h"

#include <optional>

namespace fuselage {

/// A strided window on memory: elements from the start, extents and strides in elements.
struct ViewOf {
    int64_t offset = 0;
    Extents extents;
    Extents strides;
};

/// Strides for the same elements in the same order under other extents; none when the memory
/// order does not allow it (a copy is needed).
std::optional<Extents> reshapeStrides(const Extents& extents, const Extents& strides,
                                      const Extents& newExtents);

enum class ViewKinds : uint8_t {
    Contiguous, ///< Reshape and its relatives only: the unfused baseline
    Strided,    ///< Transpose, Slice, Split and Gather of one known index too
};

/// The view that computes output `slot` of a node whose first operand has this view, or none.
std::optional<ViewOf> viewOf(const Graph& graph, const Node& node, uint32_t slot,
                             const ViewOf& operand, ViewKinds kinds);

/// Strides of the operand of a node of one output for which that, the operand's elements in other
/// extents, has these strides; none where no strides do.
std::optional<Extents> stridesBefore(const Graph& graph, const Node& node, const Extents& operand,
                                     const Extents& result, const Extents& strides,
                                     ViewKinds kinds);

/// Whether both have their dimensions in the same order in memory; those of extent one do not
/// count.
bool nestAlike(const Extents& extents, const Extents& a, const Extents& b);

/// True when some output of the node could be a view at all (by operator, not by strides).
bool mayBeView(const Graph& graph, const Node& node, ViewKinds kinds);

} // namespace fuselage
