// SPDX-License-Identifier: Apache-2.0
#include "core/cost/embedded_profiles.h"

namespace fuselage {

namespace {

constexpr EmbeddedProfile profiles[] = {
#include "embedded_profiles.inc"
};

} // namespace

std::span<const EmbeddedProfile> embeddedProfiles() {
    return profiles;
}

} // namespace fuselage
