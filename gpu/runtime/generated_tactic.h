// SPDX-License-Identifier: Apache-2.0
// Generated kernels as tactics: every variant that accepts a step's program is a candidate, built
// by NVRTC through the cache of machine code.
#pragma once

#include "gpu/emit/tactic.h"
#include "gpu/runtime/cubin_cache.h"

#include <memory>

namespace fuselage::gpu {

std::unique_ptr<TacticSource> makeGeneratedSource(std::shared_ptr<CubinCache> cache);

} // namespace fuselage::gpu
