// SPDX-License-Identifier: Apache-2.0
// A device as cuDNN reads it when there is none: the properties that choose engines, as JSON.
#pragma once

#include "core/cost/cost.h"

#include <string>

namespace fuselage::gpu {

/// Of the profile where it has the figure, else what every device of the architecture has.
std::string deviceJson(const DeviceProfile& profile);

} // namespace fuselage::gpu
