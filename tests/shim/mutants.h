// SPDX-License-Identifier: Apache-2.0
// Kernels made wrong in one place of their text: what the shim must find. Compiled with the suite.
// Lists: products by weights of a few bits, layers behind a row that their kernel makes, the
// convolution that stages its picture once, products of 8-bit integers by warpgroups, products of
// two blocks that share operands, residuals that TMA brings, convolutions whose taps it fetches.
#pragma once

#include "gpu/emit/emit.h"

#include <string>
#include <vector>

namespace fuselage::gpu_suite {

struct Mutant {
    const char* name; ///< of letters: a part of the kernel's name
    const char* from; ///< what stands in the text
    const char* to;
    const char* found;   ///< words of the failure
    const char* source;  ///< the case whose kernel is changed
    const char* variant; ///< and which of its kernels
};

const std::vector<Mutant>& blockedMutants();
const std::vector<Mutant>& chainMutants();
const std::vector<Mutant>& haloMutants();
const std::vector<Mutant>& integerMutants();
const std::vector<Mutant>& landedMutants();
const std::vector<Mutant>& pairMutants();
const std::vector<Mutant>& pixelMutants();

/// All lists.
std::vector<Mutant> allMutants();

/// The mutant's variant for a request, with that place of its kernel changed everywhere; without
/// kernels where it refuses the request or its text has no such place.
gpu::KernelSet mutated(const gpu::KernelRequest& request, const Mutant& mutant);

} // namespace fuselage::gpu_suite
