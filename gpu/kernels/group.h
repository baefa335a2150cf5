// SPDX-License-Identifier: Apache-2.0
// Several small independent programs in one launch: each has a range of blocks.
#pragma once

#include "gpu/emit/emit_kernel.h"

namespace fuselage::gpu {

EmitResult emitGroup(const KernelRequest& request);

} // namespace fuselage::gpu
