// SPDX-License-Identifier: Apache-2.0
// The choices that the cuda backend makes while a Plan is built, for a device that is not here.
// Runs nothing.
#pragma once

#include "core/plan/backend.h"

#include <memory>

namespace fuselage::gpu {

/// prepare() fails with "device.absent".
std::unique_ptr<Backend> makePlanningBackend(const DeviceProfile& profile);

} // namespace fuselage::gpu
