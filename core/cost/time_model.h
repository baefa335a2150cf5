// SPDX-License-Identifier: Apache-2.0
// The time model for callers that predict one program for many profiles: what depends on the
// program alone is counted once.
#pragma once

#include "core/cost/cost.h"

namespace fuselage {

/// predictTime() with the program's work at hand.
TimeEstimate predictTime(const KernelProgram& program, const Work& work, const Traffic& traffic,
                         const DeviceProfile& profile);

} // namespace fuselage
