// SPDX-License-Identifier: Apache-2.0
// Kernel programs -> CUDA text. One row a variant; the tuner measures all that accept a program, a
// machine without a GPU compiles and runs them as host code. No variant knows a rule's name.
#pragma once

#include "gpu/kernels/variant_row.h"

#include <span>
#include <vector>

namespace fuselage::gpu {

/// All variants; within one kind, the always-correct plain variant is last.
std::span<const VariantRow> kernelVariants();

/// Every variant that accepts the request, in table order, and why the others do not.
struct Candidates {
    std::vector<KernelSet> accepted;
    std::vector<Reason> refused; ///< facts name the variant
};

Candidates emitAll(const KernelRequest& request);

} // namespace fuselage::gpu
