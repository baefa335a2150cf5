// SPDX-License-Identifier: Apache-2.0
// The text of one kernel of a plan, for people. Compiles and runs nothing.
#pragma once

#include "app/pipeline/report.h"
#include "core/cost/cost.h"
#include "core/plan/plan.h"

#include <string>
#include <vector>

namespace fuselage::app {

/// The kernel program of the step; for a GPU's profile also the CUDA text of the first variant that
/// accepts it, as --dump-kernels writes it.
std::string kernelText(const Plan& plan, size_t step, const DeviceProfile& profile);

/// Sets textHash of the kernels of this plan, one a step.
void hashKernelTexts(const Plan& plan, const DeviceProfile& profile,
                     std::vector<KernelReport>& kernels);

/// Of a plan for a device that is not here: what the generated kernels that are preferred hide from
/// the plan, and which steps none computes (tactic "host").
void addPlannedKernels(const Plan& plan, const DeviceProfile& profile, int64_t workspaceLimit,
                       std::vector<KernelReport>& kernels);

} // namespace fuselage::app
