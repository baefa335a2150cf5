// SPDX-License-Identifier: Apache-2.0
// A weight in the form that a kernel asked for (KernelSet::packed): done once before the first run
// by whoever launches the kernel, tactics and tests alike.
#pragma once

#include "gpu/kernel_text.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fuselage::gpu {

/// Bytes of the packed form.
size_t packedBytes(const PackedOperand& packed, DType dtype);

/// `data`: the row-major elements of the operand, whose logical extents are `extents`.
std::vector<std::byte> packOperand(const PackedOperand& packed, DType dtype, const Extents& extents,
                                   std::span<const std::byte> data);

} // namespace fuselage::gpu
