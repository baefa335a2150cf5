// SPDX-License-Identifier: Apache-2.0
// What would compute a step of a plan on a device that is not here, as far as it can be told
// without a compiler: the generated kernel that is preferred, or the host. Runs nothing.
#pragma once

#include "core/plan/kernel_facts.h"
#include "core/plan/plan.h"

#include <string>
#include <vector>

namespace fuselage::gpu {

struct PlannedStep {
    std::string tactic; ///< "float_64x64_split"; "host": no kernel accepts it
    HiddenWork work;
};

PlannedStep plannedStep(const Plan& plan, const Step& step, const DeviceProfile& profile,
                        int64_t workspaceLimit);

/// No kernel of ours computes the step, but for those that a person leaves out (whyLeftOut): its
/// operands cross the link, and the captured graph breaks.
bool isForHost(const Plan& plan, const Step& step, const DeviceProfile& profile,
               const std::vector<std::string>& without = {});

} // namespace fuselage::gpu
