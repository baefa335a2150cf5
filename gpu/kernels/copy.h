// SPDX-License-Identifier: Apache-2.0
// Copy kernels: each piece is a part of one launch. Elements move as bits, whatever their type.
#pragma once

#include "gpu/emit/emit_kernel.h"

namespace fuselage::gpu {

/// The pieces with vector accesses where possible; `any` tells whether one was.
std::vector<KernelPart> copyParts(const KernelRequest& request, const Copy& program, bool& any);

/// The same operand as unsigned integers.
KernelOperand asBits(KernelOperand operand, bool written);

EmitResult emitCopyVector(const KernelRequest& request);
EmitResult emitCopyTranspose(const KernelRequest& request);
EmitResult emitCopyPlain(const KernelRequest& request);

} // namespace fuselage::gpu
