// SPDX-License-Identifier: Apache-2.0
#include "core/cost/embedded_profiles.h"

namespace fuselage {

namespace {

/// One row: the table of all tactics.
constexpr EmbeddedProfile tactics[] = {
#include "embedded_tactics.inc"
};

} // namespace

std::string_view embeddedTacticEfficiencies() {
    return tactics[0].text;
}

} // namespace fuselage
