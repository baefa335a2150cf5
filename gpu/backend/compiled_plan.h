// SPDX-License-Identifier: Apache-2.0
// A plan for a device that is not here, with the preferred generated kernel of each step compiled
// for its architecture: registers, spills, shared memory, blocks on a multiprocessor. Runs nothing;
// needs NVRTC only.
#pragma once

#include "core/plan/kernel_facts.h"
#include "core/plan/plan.h"
#include "core/support/progress.h"
#include "gpu/backend/cuda_options.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::gpu {

struct CompiledStep {
    std::string tactic;               ///< "row_warp"; "host": no kernel, reasons say why
    std::optional<KernelFacts> facts; ///< choice "compiled"; none: the host computes it
    std::vector<Reason> reasons;      ///< why other kernels were not taken
};

struct CompiledPlan {
    std::vector<CompiledStep> steps;  ///< parallel to Plan::steps
    std::string compiler;             ///< "NVRTC 13.0"
    uint32_t compiled = 0, found = 0; ///< kernels, anew and from the folder of machine code
};

/// Of the options: threads, cache and tune.workspaceLimit. Errors: "library-missing" (no NVRTC),
/// "nvrtc.arch" (it does not know the device), "cancelled".
Result<CompiledPlan> compilePlan(const Plan& plan, const DeviceProfile& profile,
                                 const CudaOptions& options, Progress& progress);

} // namespace fuselage::gpu
