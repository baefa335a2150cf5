// SPDX-License-Identifier: Apache-2.0
// What a Loop carries around: values that nobody needs, and sequences that grow by one tensor in
// each iteration, which the Loop can stack itself.
#pragma once

#include "core/graph/graph.h"

namespace fuselage {

/// Of a body's inputs and outputs: what comes before the values that it carries.
inline constexpr size_t carriedInput = 2, carriedOutput = 1;

/// Takes carried values and results of a Loop away that nobody reads, in the body neither but for
/// their own next value. True when there were any: another node is in the place of `loop` then.
bool dropUnread(Graph& graph, NodeId loop);

/// The tensor that the body of a Loop appends to a carried sequence in each iteration, all of one
/// static shape without an empty dimension; invalid where it does anything else with that.
/// `carried` counts the carried values.
ValueId appendedTo(const Graph& graph, NodeId loop, size_t carried);

} // namespace fuselage
