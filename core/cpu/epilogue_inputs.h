// SPDX-License-Identifier: Apache-2.0
// What the reads of a contraction's epilogue are to it: constants, one value a channel, one a
// result. Looks at accesses and layouts only.
#pragma once

#include "core/cpu/epilogue_match.h"
#include "core/cpu/kernel.h"

namespace fuselage::cpu {

/// Parallel to the inputs of the epilogue's tape: the accumulator, then its reads. `inputs` are
/// parallel to the program's.
std::vector<EpilogueInput> epilogueInputs(const Contraction& program,
                                          const std::vector<OperandLayout>& inputs);

} // namespace fuselage::cpu
