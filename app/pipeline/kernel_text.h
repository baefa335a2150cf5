// SPDX-License-Identifier: Apache-2.0
// The text of one kernel of a plan, for people. Compiles and runs nothing.
#pragma once

#include "core/cost/cost.h"
#include "core/plan/plan.h"

#include <string>

namespace fuselage::app {

/// The kernel program of the step; for a GPU's profile also the CUDA text of the first variant that
/// accepts it, as --dump-kernels writes it.
std::string kernelText(const Plan& plan, size_t step, const DeviceProfile& profile);

} // namespace fuselage::app
