// SPDX-License-Identifier: Apache-2.0
// The choices that the cuda backend makes while a Plan is built, for a device that is not here.
// Runs nothing.
#pragma once

#include "core/plan/backend.h"

#include <memory>
#include <string>
#include <vector>

namespace fuselage::gpu {

/// prepare() fails with "device.absent". `without`: as TuneOptions has it; steps that nothing else
/// computes are the host's, and two layers that only such a kernel computes as one stay two.
std::unique_ptr<Backend> makePlanningBackend(const DeviceProfile& profile,
                                             std::vector<std::string> without = {});

} // namespace fuselage::gpu
