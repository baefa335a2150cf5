// SPDX-License-Identifier: Apache-2.0
// Variants for Contraction programs: tensor-core tiles, float32 tiles, few rows against a streamed
// weight, and one thread a result for everything else.
#pragma once

#include "gpu/emit.h"

namespace fuselage::gpu {

EmitResult emitContractPlain(const EmitRequest& request);

} // namespace fuselage::gpu
