// SPDX-License-Identifier: Apache-2.0
// Structural checks of a graph: uses and producers agree, no cycle, every input defined once,
// outputs produced, subgraph captures parallel. Arity and types belong to ops and passes.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

namespace fuselage {

/// The first violation found, with the node or value it is at ("graph.cycle", "graph.undefined").
Result<void> verify(const Graph& graph);

} // namespace fuselage
