// SPDX-License-Identifier: Apache-2.0
// Runs a kernel program element by element in double precision, exactly as its accesses and tapes
// say: the oracle for lower() and the counter that logical traffic must equal. Slow and plain;
// backends do the real work.
#pragma once

#include "core/kernel/program.h"
#include "core/ops/reference_value.h"
#include "core/support/result.h"

#include <vector>

namespace fuselage {

struct Evaluation {
    std::vector<ReferenceValue> outputs;
    int64_t bytesRead = 0;    ///< distinct elements touched, once an operand
    int64_t bytesWritten = 0; ///< distinct elements written, once an operand
};

/// Inputs are parallel to program.inputs. Error "evaluate.kind" for Library programs,
/// "evaluate.inputs" when operands do not have the program's types.
Result<Evaluation> evaluate(const KernelProgram& program,
                            const std::vector<ReferenceValue>& inputs);

} // namespace fuselage
