// SPDX-License-Identifier: Apache-2.0
// Quantised operators in the words of kernel programs. A contraction of 8-bit integers is an
// ordinary Contraction with sums in int32: zero points are prologues of its operands (so padding is
// zero after them, as ONNX asks), and what QLinear forms do to the sums is an epilogue.
// QuantizeLinear and DequantizeLinear are elementwise. Reads the body only; chooses no kernel.
#pragma once

#include "core/kernel/tape_compose_internal.h"

#include <optional>

namespace fuselage {

/// Which inputs of a contraction's node are what; none where it has no such input.
struct ContractionSlots {
    size_t a = 0, b = 1;
    std::optional<size_t> aZero, bZero; ///< zero points
    std::optional<size_t> aScale, bScale, yScale, yZero;
    std::optional<size_t> bias;

    bool quantised() const { return aZero.has_value(); }
};

ContractionSlots slotsOf(const Node& node);

/// A Reason when operands, scales or zero points are not as the operator's schema has them (the
/// reference function says so when it runs), or when int32 may not hold the sums that it means.
std::optional<Reason> checkQuantised(const LowerBody& body, const Node& node,
                                     const ContractionSlots& slots);

/// Puts the subtraction of the zero point behind what was traced for operand A or B.
std::optional<Reason> subtractZeroPoint(const LowerBody& body, const Node& node, bool isA,
                                        TracedOperand& operand);

/// What a QLinear form makes of its sums at `map`: bias, scales, rounding, zero point, saturation.
Scalar requantised(Composer& composer, const Node& node, const ContractionSlots& slots, Scalar sums,
                   const IndexMap& map);

/// Whether the node is a QuantizeLinear or DequantizeLinear whose parameters are one number or one
/// an index of its axis.
bool isElementwiseQuantisation(const LowerBody& body, const Node& node);
Scalar quantisation(Composer& composer, const Node& node, const IndexMap& map);

} // namespace fuselage
