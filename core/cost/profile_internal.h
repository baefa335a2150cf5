// SPDX-License-Identifier: Apache-2.0
// Making device profiles: from TOML text, and for the machine that this runs on.
#pragma once

#include "core/cost/cost.h"

#include <string>
#include <string_view>

namespace fuselage {

/// Errors "profile.syntax" and "profile.field" name the file and the field.
Result<DeviceProfile> parseProfile(std::string_view text, const std::string& where);

/// The calibrated profile where there is one, else a built-in one with this machine's cores and
/// caches. Read once a process.
const DeviceProfile& thisMachine();

} // namespace fuselage
