// SPDX-License-Identifier: Apache-2.0
// The convolution that stages its picture once, made wrong in one place of its text: what the shim
// must find. Compiled with the suite.
#pragma once

#include "gpu/emit/emit.h"

#include <string>
#include <vector>

namespace fuselage::gpu_suite {

struct HaloMutant {
    const char* name; ///< of letters: a part of the kernel's name
    const char* from; ///< what stands in the text
    const char* to;
    const char* found;                        ///< words of the failure
    const char* source = "halo_weights_pass"; ///< the case whose kernel is changed
};

const std::vector<HaloMutant>& haloMutants();

/// The set with that place of its kernel changed everywhere; without kernels where the text has no
/// such place.
gpu::KernelSet mutated(const gpu::KernelSet& set, const HaloMutant& mutant);

/// Of what a request for the case is answered with; without kernels if there is none.
gpu::KernelSet haloSetOf(const gpu::KernelRequest& request);

} // namespace fuselage::gpu_suite
