// SPDX-License-Identifier: Apache-2.0
// Recognises a scalar function as one of the activations that libraries compute after a
// contraction.
#pragma once

#include "core/ops/tape.h"

#include <optional>

namespace fuselage {

enum class Activation : uint8_t {
    Relu, ///< alpha: slope of the negative side
    Clip, ///< to [alpha, beta]
    Elu,  ///< alpha (e^x - 1) below zero
    Tanh,
    Logistic,
    GeluErf,
    GeluTanh,
    Swish, ///< x logistic(alpha x)
    Hardswish,
    Softplus,
    Mish,
    Abs,
    Square,
    Sqrt,
    Exp,
    Linear,     ///< alpha x + beta
    ClipLinear, ///< alpha x + beta clipped to [0, 1]: hardsigmoid
};

struct MatchedActivation {
    Activation kind = Activation::Relu;
    double alpha = 0, beta = 0;
};

/// Whether whoever computes the function in float32 gets the same bits: it selects, or rounds once.
bool isExact(const MatchedActivation& activation);

/// The activation that register `result` of the tape is as a function of register `argument`
/// alone; nothing when it is none, or depends on more. Exporters write one function in many forms,
/// so the function is compared, not the form: the part of the tape between the two registers is
/// run at points that include both sides of every constant in it. `tolerance` is relative: where
/// the result is stored in 16 bits, the constants of the form were rounded to 16 bits too.
constexpr double exactActivation = 2e-6;
std::optional<MatchedActivation> matchActivation(const Tape& tape, uint16_t argument,
                                                 uint16_t result,
                                                 double tolerance = exactActivation);

} // namespace fuselage
