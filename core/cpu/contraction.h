// SPDX-License-Identifier: Apache-2.0
// Contraction programs: staging of operands, the sums of products, epilogue, pooling.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

KernelResult prepareContraction(const Contraction& program, const PrepareContext& context);

/// One primitive around which all else is put, loops of our own where there is none; `winograd`:
/// minimal filtering in its place, which needs canBeWinograd().
KernelResult prepareWhole(const Contraction& program, const PrepareContext& context, bool winograd);

struct StoredWeights;

/// A product with a B that lies in the operands only as `weights` store it.
KernelResult prepareStored(const Contraction& program, const PrepareContext& context,
                           const StoredWeights& weights);

/// By minimal filtering whether or not it is faster: needs canBeWinograd().
KernelResult prepareWinograd(const Contraction& program, const PrepareContext& context);

} // namespace fuselage::cpu
