// SPDX-License-Identifier: Apache-2.0
// What every library asks of a contraction before it looks at layouts: types, numeric class, and an
// epilogue that is a chain the library has operations for.
#pragma once

#include "core/kernel/epilogue_inputs.h"
#include "gpu/emit/tactic.h"

#include <variant>

namespace fuselage::gpu {

/// The epilogue's value v ends as round(v / step) + zero, half to even, saturated to `type`.
struct StoredResult {
    DType type = DType::Int8; ///< or UInt8
    double step = 1, zero = 0;
};

struct MatchedContraction {
    const Contraction* program = nullptr;
    MatchedEpilogue epilogue;
    DType dtype = DType::Float32;       ///< of both operands
    bool sums = false;                  ///< of bytes: the sums are the result as they are
    std::optional<StoredResult> stored; ///< of bytes: what happens behind `epilogue`
};

/// Which products of signed 8-bit integers a library is asked for.
enum class ByteProducts : uint8_t {
    None,
    Sums,     ///< whose sums are the result
    Rescaled, ///< also those whose sums become floats, and may be rounded to 8 bits at the end
};

/// `abilities` of the library; its tolerance is set by the results' types. Reasons "kind", "dtype",
/// "numeric", "prologue", "epilogue", "io-count".
std::variant<MatchedContraction, Reason> matchContraction(const KernelRequest& request,
                                                          EpilogueAbilities abilities,
                                                          ByteProducts bytes = ByteProducts::None);

/// Whether weights times the scale can be stored in the weights' type: a scale that leaves the
/// range of float16, and any of integers, stays an operation of its own.
bool scaledWeightsFit(const Tensor& weights, const std::vector<double>& scale);

/// The largest power of two that divides the address of an operand's element `offset`.
int64_t alignmentAt(const OperandLayout& layout, int64_t offset);

} // namespace fuselage::gpu
