// SPDX-License-Identifier: Apache-2.0
// Variants for Contraction programs: tensor-core tiles, float32 tiles, few rows against a streamed
// weight, and one thread a result for everything else.
#pragma once

#include "gpu/emit/emit.h"

namespace fuselage::gpu {

/// Tiles of m x n results of a warpgroup whose operands the copy engine of sm_90 brings.
EmitResult emitBulk192x128(const EmitRequest& request);
EmitResult emitBulk128x128(const EmitRequest& request);
EmitResult emitBulk64x256(const EmitRequest& request);
EmitResult emitBulk64x128(const EmitRequest& request);
EmitResult emitBulk128x64(const EmitRequest& request);

/// Tensor-core tiles of m x n results a block.
EmitResult emitWarpgroup128x256(const EmitRequest& request);
EmitResult emitWarpgroup128x128(const EmitRequest& request);
EmitResult emitWarpgroup128x64(const EmitRequest& request);
EmitResult emitTensor256x128(const EmitRequest& request);
EmitResult emitTensor128x128(const EmitRequest& request);
EmitResult emitTensor128x64(const EmitRequest& request);
EmitResult emitTensor64x128(const EmitRequest& request);
EmitResult emitTensor64x64(const EmitRequest& request);
EmitResult emitTensor64x32(const EmitRequest& request);
EmitResult emitTensor32x64(const EmitRequest& request);
EmitResult emitTensor16x64(const EmitRequest& request);

/// The same with k cut into parts that a second kernel adds: few results, long sums.
EmitResult emitTensor128x64Split(const EmitRequest& request);
EmitResult emitTensor64x64Split(const EmitRequest& request);
EmitResult emitTensor32x64Split(const EmitRequest& request);
EmitResult emitTensor16x64Split(const EmitRequest& request);

/// The same tiles for float32 operands that may not be rounded, without matrix units.
EmitResult emitFloat128x128(const EmitRequest& request);
EmitResult emitFloat64x64(const EmitRequest& request);
EmitResult emitFloat64x64Split(const EmitRequest& request);

/// Up to 8 rows: the weight is streamed once, threads share k.
EmitResult emitGemvSplit(const EmitRequest& request);

EmitResult emitContractPlain(const EmitRequest& request);

} // namespace fuselage::gpu
