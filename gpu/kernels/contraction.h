// SPDX-License-Identifier: Apache-2.0
// Variants for Contraction programs: tensor-core tiles, float32 tiles, few rows against a streamed
// weight, and one thread a result for everything else.
#pragma once

#include "gpu/kernels/variant_row.h"

#include <vector>

namespace fuselage::gpu {

/// Tiles of m x n results of a warpgroup whose operands TMA, the tensor memory accelerator of
/// sm_90, brings: a row each.
std::vector<VariantRow> tmaVariants();

/// Tiles of m x n results a block: by tensor cores from shared memory (wgmma), by tensor cores from
/// registers (mma), by float32 arithmetic for operands that may not be rounded. A row each, and one
/// more where k may be cut into parts that the last block adds: few results, long sums.
std::vector<VariantRow> tileVariants();

/// Up to 8 rows: the weight is streamed once, threads share k.
EmitResult emitGemvSplit(const KernelRequest& request);

EmitResult emitContractPlain(const KernelRequest& request);

} // namespace fuselage::gpu
