// SPDX-License-Identifier: Apache-2.0
// What is amiss with the QuantizeLinear and DequantizeLinear nodes of a model that somebody else
// quantised, in the words of its own nodes, with what to change.
#pragma once

#include "core/graph/graph.h"

#include <string>
#include <vector>

namespace fuselage::quantize {

enum class PairLint : uint8_t {
    Unused,        ///< a stored value whose readers compute in float: the pair opens no kernel
    FloatResult,   ///< a product of stored values whose result goes to another one in float
    FloatResidual, ///< a sum behind such a product whose other side is float
    Asymmetric,    ///< an activation with a zero point: TensorRT takes symmetric ones only
    Twice,         ///< stored again right behind, with another scale
    Movable,       ///< a pair behind a node that only moves or picks, in front of which it could be
    PerTensor,  ///< a constant weight with one scale where each output channel could have its own
    Scale,      ///< a scale that is 0, negative, infinite or no number
    Unequal,    ///< the two nodes of a pair have different scales or zero points
    WeightZero, ///< a constant weight with zero points: TensorRT takes symmetric ones only
    Misfit, ///< scales or zero points of a length, an axis or a type that do not go with the values
    WrongAxis,        ///< a constant weight with scales along another axis than output channels
    ActivationScales, ///< an activation with several scales: TensorRT takes one for the tensor
    BeforeActivation, ///< a pair between a product and the activation that its kernel would apply
    Block, ///< 4-bit weights whose scales are of other blocks than TensorRT takes (tensorrt.h)
    Type,  ///< stored as a type that TensorRT does not take
};

/// "pair-unused": stable, for scripts.
const char* nameOf(PairLint lint);

/// What is as right as what it advises, which a rule of the library does when it fuses.
bool isAdvice(PairLint lint);

struct PairFinding {
    PairLint lint;
    std::string node;    ///< of the model, where it is seen
    std::string message; ///< one sentence
    std::string fix;     ///< what to change in the model
};

/// `model`: prepared, before any rule. `fused`: the same model after the rules, where what was
/// taken stands in fused nodes. In the order of the model's nodes; what TensorRT
/// refuses comes last, one finding for all nodes of a kind.
std::vector<PairFinding> lintPairs(const Graph& model, const Graph& fused);

} // namespace fuselage::quantize
