// SPDX-License-Identifier: Apache-2.0
// Loops that compute nothing but constants, as exporters write indices and sizes.
#pragma once

#include "core/passes/sequences.h"

namespace fuselage {

/// Puts one copy of the body for each iteration in the place of a Loop, when their number is a
/// small constant, the body never ends it early, and all that it is given is constant. Folding
/// makes constants of the copies. True when it did.
bool unrollConstantLoop(Graph& graph, NodeId node, const ConstantLookup& constantOf,
                        const KnownSequences& sequences);

} // namespace fuselage
