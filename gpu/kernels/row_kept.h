// SPDX-License-Identifier: Apache-2.0
// What one pass over a row computes and later ones would compute again: the exponentials of a
// softmax, the sum of what a normalisation adds. Where the row stays in registers they take the
// place of its elements.
#pragma once

#include "core/kernel/program.h"

#include <optional>
#include <vector>

namespace fuselage::gpu {

/// An output of a stage's map that later tapes take as one more input, the last one.
struct KeptMap {
    size_t stage = 0, output = 0;
    std::vector<std::optional<Tape>> maps; ///< by stage, those that take it
    std::optional<Tape> element;           ///< likewise
};

/// The map that saves most: dear instructions, or several elements for one. No pass after it needs
/// what it read, so that keeping it takes no more registers than the row.
std::optional<KeptMap> keptMap(const Row& program);

} // namespace fuselage::gpu
