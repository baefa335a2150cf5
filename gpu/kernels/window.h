// SPDX-License-Identifier: Apache-2.0
// Pooling kernels with the work before and after the pool inside.
#pragma once

#include "gpu/emit/emit_kernel.h"

namespace fuselage::gpu {

EmitResult emitWindowRow(const KernelRequest& request);
EmitResult emitWindowPlain(const KernelRequest& request);

} // namespace fuselage::gpu
