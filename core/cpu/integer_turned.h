// SPDX-License-Identifier: Apache-2.0
// Convolutions of 8-bit integers whose results lie in another order than channels last: bytes are
// turned faster than sums are requantised one channel after the other.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

/// The convolution into memory of its own, requantised in one pass there, and a copy to where the
/// result belongs. None where that is not possible, or where it can be had without the copy.
std::optional<KernelResult> prepareTurnedInteger(const Contraction& program,
                                                 const PrepareContext& context);

} // namespace fuselage::cpu
