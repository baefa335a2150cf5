// SPDX-License-Identifier: Apache-2.0
// The texts of resources inside the library; profile.cpp and tactic_efficiency.cpp read them.
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

/// resources/tactics/efficiency.toml
std::string_view embeddedTacticEfficiencies();

} // namespace fuselage
