// SPDX-License-Identifier: Apache-2.0
// What a match gains, from the cost model: the programs of its nodes one by one against the program
// of its body; and what rules may know of the device. The bridge between core/rewrite, which does
// not see costs, and core/cost.
#pragma once

#include "core/cost/cost.h"
#include "core/rewrite/engine.h"

#include <map>
#include <string>

namespace fuselage::app {

/// With `gain` and `device` of this profile, which must outlive them. Symbolic dimensions count as
/// `dims` says, others as 1. A body that no single program computes gains nothing; a rewrite with a
/// gate gains what the plan of its nodes costs more than the plan of what it makes.
EngineOptions engineOptions(const DeviceProfile& profile, std::map<std::string, int64_t> dims);

} // namespace fuselage::app
