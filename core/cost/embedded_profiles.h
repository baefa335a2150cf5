// SPDX-License-Identifier: Apache-2.0
// The texts of resources/devices inside the library; profile.cpp reads them.
#pragma once

#include <span>
#include <string_view>

namespace fuselage {

struct EmbeddedProfile {
    std::string_view name;
    std::string_view text;
};

/// Sorted by name.
std::span<const EmbeddedProfile> embeddedProfiles();

} // namespace fuselage
