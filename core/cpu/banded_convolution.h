// SPDX-License-Identifier: Apache-2.0
// Pointwise convolutions with a residual sum, band by band: each worker computes some rows of the
// result into memory that stays in its cache, then adds the residual and does the rest of the
// epilogue from there. oneDNN's own sum reads the residual in pieces that miss the cache.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

/// Whether the program has this form, in channels-last layouts, and is large enough to care.
bool canBeBanded(const Contraction& program, const PrepareContext& context);

/// What the times of the program depend on, as text.
std::string bandedKey(const Contraction& program, const PrepareContext& context);

/// Predicted time, that of one primitive being 1: close, so that only measuring prefers it.
double bandedCost();

/// Needs canBeBanded().
KernelResult prepareBanded(const Contraction& program, const PrepareContext& context);

} // namespace fuselage::cpu
