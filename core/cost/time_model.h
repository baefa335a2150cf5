// SPDX-License-Identifier: Apache-2.0
// The time model for callers that predict one program for many profiles: what depends on the
// program alone is counted once.
#pragma once

#include "core/cost/cost.h"
#include "core/kernel/layout_work.h"

namespace fuselage {

/// predictTime() with the program's work at hand. With tf32, float32 products run on the matrix
/// units.
TimeEstimate predictTime(const KernelProgram& program, const Work& work, const Traffic& traffic,
                         const DeviceProfile& profile, bool tf32 = false);

/// The same where it is known how operands lie.
TimeEstimate predictTime(const KernelProgram& program, const LaidWork& work, const Traffic& traffic,
                         const DeviceProfile& profile, bool tf32 = false);

} // namespace fuselage
