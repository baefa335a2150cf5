// SPDX-License-Identifier: Apache-2.0
// What fusion saves in all, and how much of it no row of the table of rules says.
#pragma once

#include "app/pipeline/report.h"

namespace fuselage::app {

struct Saved {
    int64_t launches = 0;
    int64_t bytes = 0; ///< logical
};

/// From the unfused plan to the fused one, as they run.
Saved savedInAll(const Report& report);

/// Of that, what no rule of the report has: views, layouts and work that is joined while a plan is
/// made. Negative where that costs.
Saved savedBesideRules(const Report& report);

inline constexpr const char* besideRules = "planned beside them";

} // namespace fuselage::app
