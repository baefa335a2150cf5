// SPDX-License-Identifier: Apache-2.0
// The cases whose memory traffic is counted: forms that real models have, at sizes that host code
// runs in a moment, with the layouts and the choices of the real sizes.
#pragma once

#include "tests/shim/suite.h"

namespace fuselage::gpu_suite {

/// `variants` name the kernels that are counted; all must accept the case.
std::vector<Case> trafficCases();

/// An H200 with fewer multiprocessors and less cache, so that small sizes are large for it.
const DeviceProfile& smallDevice();

/// prepare(), for that device.
Prepared prepareTraffic(const Case& source);

/// The kernels that are counted.
std::vector<gpu::KernelSet> trafficKernels(const Prepared& prepared);

} // namespace fuselage::gpu_suite
