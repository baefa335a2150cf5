// SPDX-License-Identifier: Apache-2.0
// Quantised operators in the words of kernel programs. A contraction of 8-bit integers is an
// ordinary Contraction with sums in int32: zero points are prologues of its operands (so padding is
// zero after them, as ONNX asks), and what QLinear forms do to the sums is an epilogue. So is a
// contraction of floats whose operands DequantizeLinear makes of 8-bit integers: scales, which do
// not change along what is summed, wait for the epilogue. Other QuantizeLinear and DequantizeLinear
// are elementwise. Reads the body only; chooses no kernel.
#pragma once

#include "core/kernel/tape_compose_internal.h"

#include <array>
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

/// An operand of a contraction as the integers that its sums are made of.
struct IntegerOperand {
    ValueId stored;      ///< 8-bit
    ValueId zero, scale; ///< invalid: none
    int64_t axis = 0; ///< of `stored`; its indices own scale and zero point where these are several
    NodeId dequantised; ///< the DequantizeLinear between the contraction and `stored`, if any
};

/// A and B.
using IntegerOperands = std::array<IntegerOperand, 2>;

/// Those of a node that is quantised() itself.
IntegerOperands integerOperands(const Node& node, const ContractionSlots& slots);

/// Those of a contraction of float32 between DequantizeLinear nodes, views aside: 8-bit integers,
/// of which B is constant, whose sums int32 holds, with scales that are the same along the reduced
/// dims. None: it sums floats.
std::optional<IntegerOperands> storedOperands(const LowerBody& body, const Node& node);

/// Puts the subtraction of the zero point behind what was traced for operand A or B.
std::optional<Reason> subtractZeroPoint(const LowerBody& body, const Node& node,
                                        const IntegerOperand& integers, TracedOperand& operand);

/// The scale of a stored operand, which the contraction reads at `map` over the composer's space.
Scalar scaleOf(Composer& composer, ValueId operand, const IntegerOperand& integers, IndexMap map);

/// What a QLinear form makes of its sums at `map`: bias, scales, rounding, zero point, saturation.
Scalar requantised(Composer& composer, const Node& node, const ContractionSlots& slots, Scalar sums,
                   const IndexMap& map);

/// Whether the node is a QuantizeLinear or DequantizeLinear whose parameters are one number or one
/// an index of its axis.
bool isElementwiseQuantisation(const LowerBody& body, const Node& node);
Scalar quantisation(Composer& composer, const Node& node, const IndexMap& map);

} // namespace fuselage
