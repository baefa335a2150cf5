// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3x3 by minimal filtering (Winograd): tiles of 4x4 or 2x2 results from 36 or 16
// products a channel instead of 144 or 36. Pixels are transformed, multiplied with transformed
// filters, and transformed back with the epilogue, by the loops of vector_winograd.h. Rounding
// differs from the direct sum's: errors are several times larger, still far below single
// precision's usual limits.
#pragma once

#include "core/cpu/contraction_engine.h"

namespace fuselage::cpu {

/// Whether the program has this form, in channels-last layouts, and fewer operations this way.
bool canBeWinograd(const Contraction& program, const PrepareContext& context);

/// What the times of the program depend on, as text.
std::string winogradKey(const Contraction& program, const PrepareContext& context);

/// Predicted time, that of one primitive being 1. Needs canBeWinograd().
double winogradCost(const Contraction& program, const PrepareContext& context);

/// Needs canBeWinograd(). Takes a residual sum and piecewise linear activations.
EngineResult makeWinogradEngine(const Contraction& program, const OperandLayout& x,
                                const OperandLayout& w, const StridedAccess& c,
                                const MatchedEpilogue& epilogue, const PrepareContext& context);

} // namespace fuselage::cpu
