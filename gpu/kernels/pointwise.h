// SPDX-License-Identifier: Apache-2.0
// Pointwise kernels: a thread owns some consecutive elements of the iteration space. The Copy
// kernels use the same loops with a tape that moves bits.
#pragma once

#include "gpu/emit/emit_kernel.h"

namespace fuselage::gpu {

/// Elementwise work over a space; tape inputs are the reads, tape outputs the writes.
struct PointwiseSpec {
    Extents space;
    std::vector<KernelOperand> reads, writes;
    Tape tape;
    TapeStyle style;
};

PointwiseSpec pointwiseSpec(const KernelRequest& request, const Pointwise& program);

/// One element a thread: every type, stride and size.
KernelPart plainPart(const PointwiseSpec& spec);

/// Several elements a thread with accesses of up to 16 bytes; refused (layout) where no operand
/// has consecutive aligned elements.
PartResult vectorPart(const PointwiseSpec& spec, const DeviceProfile* profile);

EmitResult emitPointwiseVector(const KernelRequest& request);
EmitResult emitPointwisePlain(const KernelRequest& request);

} // namespace fuselage::gpu
