// SPDX-License-Identifier: Apache-2.0
// What float32 might have computed in the place of an exact result: for asking the interpreter how
// far roundings alone can move an output, through everything that jumps on the way.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/reference_value.h"

#include <cstdint>

namespace fuselage {

/// Moves the float32 numbers that a node computed by a few roundings, up or down at random: of a
/// number's own size where the operator is elementwise, of the largest one's where it adds up.
/// Numbers that float32 holds exactly stay, so counting and positions in floats do not blur; where
/// nothing can be counted, from 2^53 on, that is an accident: there numbers of every float type
/// move by what doubles lose, since x + 3 is x.
void addRoundingNoise(const Node& node, uint64_t seed, ReferenceValue& result);

} // namespace fuselage
