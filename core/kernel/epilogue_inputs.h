// SPDX-License-Identifier: Apache-2.0
// What the reads of a contraction's epilogue are to it: constants, one value a channel, one a
// result. Looks at accesses and strides only; the cpu backend and the GPU libraries start here.
#pragma once

#include "core/kernel/epilogue_match.h"
#include "core/kernel/program.h"

#include <functional>

namespace fuselage {

/// How an operand of the program lies in memory.
struct EpilogueOperand {
    DType dtype = DType::Float32;
    Extents strides;                  ///< elements, per logical dimension
    const Tensor* constant = nullptr; ///< row-major data when it never changes
};

/// Parallel to the inputs of the epilogue's tape: the accumulator, then its reads. `operandAt`
/// describes the program's input of that number. What changes from run to run is Channel when it is
/// a dense float32 vector along the channels, else Full, broadcast or not.
std::vector<EpilogueInput>
epilogueInputs(const Contraction& program,
               const std::function<EpilogueOperand(uint32_t operand)>& operandAt);

} // namespace fuselage
