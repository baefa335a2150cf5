// SPDX-License-Identifier: Apache-2.0
// Copy kernels: each piece is a part of one launch. Elements move as bits, whatever their type.
#pragma once

#include "gpu/emit/emit_kernel.h"

namespace fuselage::gpu {

/// The pieces with vector accesses where possible; `any` tells whether one was.
std::vector<KernelPart> copyParts(const EmitRequest& request, const Copy& program, bool& any);

/// The same operand as unsigned integers.
KernelOperand asBits(KernelOperand operand, bool written);

EmitResult emitCopyVector(const EmitRequest& request);
EmitResult emitCopyTranspose(const EmitRequest& request);
EmitResult emitCopyPlain(const EmitRequest& request);

} // namespace fuselage::gpu
