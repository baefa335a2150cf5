// SPDX-License-Identifier: Apache-2.0
// Contractions of 8-bit integers with sums in int32, in strips of rows: a strip's rows of A, its
// sums and its part of the epilogue stay in the cache of one worker. Exact to the last bit.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

/// Why the loops of plain_contraction.h compute it instead.
std::optional<Reason> unsupportedInteger(const Contraction& program, const PrepareContext& context);

/// Needs a program without unsupportedInteger().
KernelResult prepareInteger(const Contraction& program, const PrepareContext& context);

} // namespace fuselage::cpu
