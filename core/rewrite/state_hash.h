// SPDX-License-Identifier: Apache-2.0
// Tells whether a graph was seen before.
#pragma once

#include "core/graph/graph.h"

#include <cstdint>

namespace fuselage {

/// A hash of the structure, attributes and constants; names and file order do not count.
uint64_t stateHash(const Graph& graph);

} // namespace fuselage
