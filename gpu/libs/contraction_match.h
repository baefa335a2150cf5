// SPDX-License-Identifier: Apache-2.0
// What every library asks of a contraction before it looks at layouts: types, numeric class, and an
// epilogue that is a chain the library has operations for.
#pragma once

#include "core/kernel/epilogue_inputs.h"
#include "gpu/emit/tactic.h"

#include <variant>

namespace fuselage::gpu {

struct MatchedContraction {
    const Contraction* program = nullptr;
    MatchedEpilogue epilogue;
    DType dtype = DType::Float32; ///< of both operands
};

/// `abilities` of the library; its tolerance is set by the results' types. Reasons "kind", "dtype",
/// "numeric", "prologue", "epilogue", "io-count".
std::variant<MatchedContraction, Reason> matchContraction(const KernelRequest& request,
                                                          EpilogueAbilities abilities);

/// Whether weights times the scale can be stored in the weights' type: a scale that leaves the
/// range of float16 stays an operation of its own.
bool scaledWeightsFit(const Tensor& weights, const std::vector<double>& scale);

/// The largest power of two that divides the address of an operand's element `offset`.
int64_t alignmentAt(const OperandLayout& layout, int64_t offset);

} // namespace fuselage::gpu
