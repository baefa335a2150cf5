// SPDX-License-Identifier: Apache-2.0
// How many blocks of a kernel a multiprocessor holds at a time, from what the compiler says that
// it takes. Counts as the driver's occupancy functions do, also for a device that is not here.
#pragma once

#include "core/cost/cost.h"
#include "gpu/emit/kernel_text.h"
#include "gpu/runtime/nvrtc.h"

#include <cstdint>

namespace fuselage::gpu {

/// What the blocks of one multiprocessor share.
struct SmLimits {
    uint32_t threads = 0, blocks = 0, registers = 0, sharedBytes = 0;
    uint32_t reservedShared = 0; ///< bytes of each block that the system takes
};

/// All zero where the profile does not say.
SmLimits smLimits(const DeviceProfile& profile, uint32_t capability);

struct Occupancy {
    uint32_t blocks = 0; ///< 0: not known, or the kernel cannot run there
    double share = 0;    ///< of the multiprocessor's threads
};

Occupancy occupancyOf(const KernelText& kernel, const CompiledKernel& compiled,
                      const SmLimits& limits);

} // namespace fuselage::gpu
