// SPDX-License-Identifier: Apache-2.0
// What one pass over a row computes and the last one would compute again: the exponentials of a
// softmax. Where the row stays in registers they take the place of its elements.
#pragma once

#include "core/kernel/program.h"

#include <optional>

namespace fuselage::gpu {

/// An output of a stage's map that the element tape takes as one more input, the last one.
struct KeptMap {
    size_t stage = 0, output = 0;
    Tape element; ///< of the program, with that input instead of what it computed
};

/// The dearest map that the elements need and whose own reads no pass after it needs, so that
/// keeping it takes no registers.
std::optional<KeptMap> keptMap(const Row& program);

} // namespace fuselage::gpu
